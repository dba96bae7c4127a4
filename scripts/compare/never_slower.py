"""Octavo int8 against Octavo fp32 and ONNX Runtime fp32 on torchvision's networks, in turns: is int8 ever slower? One JSON line per network, and a
Markdown table sorted by the ratio, with the geometric mean. Weights are seeded and calibration is random: good for speed only.

    python scripts/compare/never_slower.py --octavo build/bin/octavo --work /tmp/sweep [--threads 2] [--turns 2] [--seconds 0.4] [NAME...]

An interrupted run goes on where it was.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import networks
import speed


def integer_share(octavo, model):
    """Of the multiply-accumulates."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [octavo, "explain", model, "--calibrate", "random", "--json", file.name]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        return json.load(open(file.name))["integer_share_of_macs"]


def measure(arguments, name, work):
    model = work / f"{name}.onnx"
    if not model.exists():
        network = networks.untrained(name, seed=1)
        networks.export_model(network, networks.synthetic_images(1), str(model))
    with tempfile.TemporaryDirectory() as folder:
        found = speed.measure(arguments, str(model), pathlib.Path(folder))
    share = integer_share(arguments.octavo, str(model))
    model.unlink()
    return {"name": name, "ms": {key: low for key, (low, _) in found.items()}, "integer_share_of_macs": share}


def ratios_of(row):
    ms = row["ms"]
    return ms["octavo fp32"] / ms["octavo int8"], ms["ort fp32"] / ms["octavo int8"]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def print_table(rows):
    rows = sorted(rows, key=lambda row: min(ratios_of(row)))
    print("| network | ORT fp32 | fp32 | int8 | to own fp32 | to ORT fp32 | MACs in integers |\n| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        ms, (own, ort) = row["ms"], ratios_of(row)
        print(f"| {row['name']} | {ms['ort fp32']:.2f} | {ms['octavo fp32']:.2f} | {ms['octavo int8']:.2f} | {own:.2f}x | {ort:.2f}x | {100 * row['integer_share_of_macs']:.1f} % |")
    means = [geometric_mean(values) for values in zip(*map(ratios_of, rows))]
    print(f"\n{len(rows)} networks, geometric means {means[0]:.2f}x and {means[1]:.2f}x; slower than fp32: {sum(min(ratios_of(row)) < 1 for row in rows)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("names", nargs="*", help="default: all of networks.NAMES that have no result")
    arguments = parser.parse_args()
    arguments.batch, arguments.fp32 = 1, None
    arguments.work.mkdir(parents=True, exist_ok=True)
    results = arguments.work / "results.jsonl"
    rows = {row["name"]: row for row in map(json.loads, results.read_text().splitlines())} if results.exists() else {}
    for name in arguments.names or [name for name in networks.NAMES if name not in rows]:
        rows[name] = measure(arguments, name, arguments.work)
        own, ort = ratios_of(rows[name])
        print(f"{name}: {own:.2f}x {ort:.2f}x", flush=True)
        with results.open("a") as file:
            file.write(json.dumps(rows[name]) + "\n")
    print_table(rows.values())


if __name__ == "__main__":
    main()
