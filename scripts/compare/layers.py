"""The kernels of compiled models by `octavo explain`: ms and share of the machine's peak, equal ones in one row; then the ten that lose most against
what the machine allows, with the reason. Markdown, as in docs/layers.md.

    python scripts/compare/layers.py --octavo build/bin/octavo [--threads 2] MODEL.octv...
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

WORST = 10


def explained(octavo, model, threads):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run([octavo, "explain", model, "--threads", str(threads), "--json", file.name], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        return json.load(open(file.name))


def key_of(step):
    return step["op"], step["kernel"], step["inputs"][0]["type"], step["outputs"][0]["type"], step["macs"]


def groups_of(steps):
    """Equal steps in the order of the first of each."""
    groups = {}
    for step in steps:
        groups.setdefault(key_of(step), []).append(step)
    return list(groups.values())


def row(group):
    total = sum(step["ms"]["min"] for step in group)
    share = sum(step["share_of_peak"] * step["ms"]["min"] for step in group) / total
    first = group[0]
    place = f"{100 * share:.0f} %" if first["macs"] else ""
    return f"| {len(group)} | {first['inputs'][0]['type']} | {first['outputs'][0]['type']} | {first['kernel']} | {total / len(group):.4f} | {total:.3f} | {place} | {first['bound_by']} |"


def lost(group):
    return sum(max(0.0, step["ms"]["min"] - step["ms"]["bound"]) for step in group)


def print_model(found, model):
    groups = groups_of(found["steps"])
    print(f"## {pathlib.Path(model).stem.split('.')[0]}\n")
    print(f"{found['run_ms']:.2f} ms a run (median), {len(found['steps'])} kernels.\n")
    print("| times | x | result | kernel | ms each | ms | share of peak | bound by |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for group in groups:
        print(row(group))
    print(f"\nThe ten that lose most against their bound (arithmetic at the measured peak, or their bytes at the measured rate of memory):\n")
    print("| ms lost | of ms | times | kernel | result | bound by |\n| --- | --- | --- | --- | --- | --- |")
    for group in sorted(groups, key=lost, reverse=True)[:WORST]:
        total = sum(step["ms"]["min"] for step in group)
        print(f"| {lost(group):.3f} | {total:.3f} | {len(group)} | {group[0]['kernel']} | {group[0]['outputs'][0]['type']} | {group[0]['bound_by']} |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("models", nargs="+")
    arguments = parser.parse_args()
    for model in arguments.models:
        print_model(explained(arguments.octavo, model, arguments.threads), model)


if __name__ == "__main__":
    main()
