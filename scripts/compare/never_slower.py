"""Octavo int8 and auto against Octavo fp32 and ONNX Runtime fp32 on torchvision's networks, in turns: is int8 ever slower, is auto? One JSON line
per network, and a Markdown table each of int8 and auto, sorted by the ratio to the faster fp32, with the geometric means, the shares of the
multiply-accumulates and bytes in integers, and the layers that auto leaves in fp32 with both times. Weights are seeded and calibration is random:
good for speed only.

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

VARIANTS = ["int8", "auto"]
REFERENCES = ["octavo fp32", "ort fp32"]

def explained(octavo, path, threads):
    """What a compiled model computes in integers, and what --precision auto says of it."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [octavo, "explain", str(path), "--threads", str(threads), "--seconds", "0.1", "--json", file.name]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        found = json.load(open(file.name))
    notes = [note.removeprefix("auto: ") for note in found["notes"] if note.startswith("auto: ")]
    return {"macs": found["integer_share_of_macs"], "bytes": found["integer_share_of_bytes"], "notes": notes}


def measure(arguments, name, work):
    model = work / f"{name}.onnx"
    if not model.exists():
        network = networks.untrained(name, seed=1)
        networks.export_model(network, networks.synthetic_images(1), str(model))
    with tempfile.TemporaryDirectory() as folder:
        found = speed.measure(arguments, str(model), pathlib.Path(folder), VARIANTS)
        integers = {key: explained(arguments.octavo, f"{folder}/{name}-{key}-1.octv", arguments.threads) for key in VARIANTS}
    model.unlink()
    ms = {key: low for key, (low, _, _) in found.items()}
    return {"name": name, **speed.provenance(), "ms": ms, "noise": {key: noise for key, (_, _, noise) in found.items()}, "integers": integers}


def ratio(row, variant, reference):
    return row["ms"][reference] / row["ms"][f"octavo {variant}"]


def worst(row, variant):
    return min(ratio(row, variant, reference) for reference in REFERENCES)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def print_table(rows, variant):
    """The networks that gain least first."""
    rows = sorted(rows, key=lambda row: worst(row, variant))
    print(f"\n| network | ORT fp32 | fp32 | {variant} | to own fp32 | to ORT fp32 | MACs in integers | bytes in integers |")
    print("| --- " * 8 + "|")
    for row in rows:
        times = " | ".join(f"{row['ms'][key]:.2f}" for key in ["ort fp32", "octavo fp32", f"octavo {variant}"])
        ratios = " | ".join(f"{ratio(row, variant, reference):.2f}x" for reference in REFERENCES)
        shares = " | ".join(f"{100 * row['integers'][variant][key]:.1f} %" for key in ["macs", "bytes"])
        print(f"| {row['name']} | {times} | {ratios} | {shares} |")
    means = " and ".join(f"{geometric_mean([ratio(row, variant, reference) for row in rows]):.2f}x" for reference in REFERENCES)
    slower = [row["name"] for row in rows if worst(row, variant) < 1]
    few = [row["name"] for row in rows if row["integers"][variant]["macs"] < 0.95]
    print(f"\n{variant}: {len(rows)} networks, geometric means {means}; slower than fp32: {', '.join(slower) or 'none'}")
    print(f"less than 95 % of the MACs in integers: {', '.join(few) or 'none'}")


def print_float_groups(rows):
    """What auto leaves in fp32, with the times that it measured."""
    found = {row["name"]: row["integers"]["auto"]["notes"] for row in rows}
    mixed = {name: notes for name, notes in sorted(found.items()) if not notes[0].startswith("all in int8")}
    print(f"\nLayers that auto leaves in fp32: {'' if mixed else 'none'}\n")
    for name, (summary, *groups) in mixed.items():
        print(f"- {name}: {summary}" + "".join(f"\n  - {group}" for group in groups))


def print_noise(rows):
    for key in next(iter(rows))["noise"]:
        noise = sorted(100 * row["noise"][key] for row in rows)
        print(f"{key}: the minima of the turns differ by {noise[len(noise) // 2]:.1f} % (median of the networks), at most {noise[-1]:.1f} %")


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
        found = ", ".join(f"{variant} " + " ".join(f"{ratio(rows[name], variant, reference):.2f}x" for reference in REFERENCES) for variant in VARIANTS)
        print(f"{name}: {found}", flush=True)
        with results.open("a") as file:
            file.write(json.dumps(rows[name]) + "\n")
    for variant in VARIANTS:
        print_table(rows.values(), variant)
    print_float_groups(rows.values())
    print_noise(rows.values())


if __name__ == "__main__":
    main()
