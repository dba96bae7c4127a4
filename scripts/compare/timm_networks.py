"""Octavo against ONNX Runtime on networks of timm: does it import, how near is fp32 (dB), how fast are fp32 and int8, in turns. One JSON line per network, with commit
and machine, and a Markdown table, the networks that gain least first, with geometric means of those with attention and those without. Weights are seeded and calibration is
random: good for speed only.

    python scripts/compare/timm_networks.py --octavo build/bin/octavo --work /tmp/timm [--threads 2] [--turns 2] [--seconds 0.4] [--smoke] [--prepare] [NAME...]

The networks are those of timm_networks.txt beside this file; --smoke: every twelfth part of them, twelve in all. An interrupted run goes on where it was.
With --prepare everything but timing is done and kept in the work folder, by commit, so that timing by itself, in a quiet hour, takes seconds per network.
"""

import argparse
import contextlib
import io
import json
import math
import pathlib
import shutil
import subprocess
import warnings

import numpy as np
import timm
import torch

import speed

EQUAL = 200.0  # decibels, of answers that are the same


def listed():
    """name -> (pixels, whether it has attention)"""
    rows = [line.split() for line in pathlib.Path(__file__).with_name("timm_networks.txt").read_text().splitlines() if not line.startswith("#")]
    return {row[0]: (int(row[1]), len(row) > 2) for row in rows}


def export(name, pixels, path):
    torch.manual_seed(1)
    network = timm.create_model(name, pretrained=False, exportable=True).eval()
    image = torch.randn(1, 3, pixels, pixels)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):  # where it fails it prints the graph
        warnings.simplefilter("ignore")
        torch.onnx.export(network, (image,), str(path), dynamo=False, opset_version=17, input_names=["input"], output_names=["output"])


def decibels(arguments, model, folder):
    """Of the signal over the difference between ONNX Runtime's answer and Octavo's in fp32."""
    session = speed.ort_session(str(model), arguments.threads)
    image = np.random.default_rng(0).standard_normal(session.get_inputs()[0].shape, dtype=np.float32)
    expected = session.run(None, {"input": image})[0].astype(np.float64)
    np.save(folder / "input.npy", image)
    command = [arguments.octavo, "run", str(model), "--precision", "fp32", "--input", str(folder / "input.npy"), "--output-dir", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    error = ((np.load(folder / "output.npy") - expected) ** 2).sum()
    return EQUAL if error == 0 else min(EQUAL, 10 * math.log10(max((expected**2).sum() / error, 1e-30)))


def prepare(arguments, name, pixels, folder):
    """What is known before timing: decibels and the compiled files, or why there are none. Kept in the folder."""
    known = folder / "prepared.json"
    if known.exists():
        return json.loads(known.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / "model.onnx"
    try:
        if not model.exists():
            export(name, pixels, folder / "half.onnx")
            (folder / "half.onnx").rename(model)
    except Exception as error:  # of torch's exporter, of any kind
        found = {"not_exported": f"{type(error).__name__}: {error}"[:300]}
    else:
        try:
            found = {"decibels": decibels(arguments, model, folder)}
            found["paths"] = {key: str(path) for key, path in speed.compile_all(arguments, str(model), folder).items()}
        except SystemExit as error:
            found = {"refused": str(error)[:2000]}
    known.write_text(json.dumps(found))
    return found


def measure(arguments, name, pixels, folder):
    found = prepare(arguments, name, pixels, folder)
    paths = found.pop("paths", None)
    if paths:
        times = speed.time_all(arguments, str(folder / "model.onnx"), paths)
        found["ms"] = {key: low for key, (low, _, _) in times.items()}
        found["medians"] = {key: median for key, (_, median, _) in times.items()}
    return found


def gain(row, variant="octavo int8"):
    return row["ms"]["ort fp32"] / row["ms"][variant]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def print_table(rows, attention):
    measured = sorted((row for row in rows if "ms" in row), key=gain)
    print("\n| network | attention | ORT fp32 | fp32 | int8 | int8 to ORT fp32 | fp32 to ORT fp32 | fp32, dB |\n" + "| --- " * 8 + "|")
    for row in measured:
        times = " | ".join(f"{row['ms'][key]:.2f}" for key in ["ort fp32", "octavo fp32", "octavo int8"])
        mark = "yes" if attention[row["name"]] else ""
        print(f"| {row['name']} | {mark} | {times} | {gain(row):.2f}x | {gain(row, 'octavo fp32'):.2f}x | {row['decibels']:.0f} |")
    for has in (True, False):
        some = [row for row in measured if attention[row["name"]] == has]
        slower = [row["name"] for row in some if gain(row) < 1 / 1.03]
        print(f"\n{'with' if has else 'without'} attention: {len(some)} networks, int8 {geometric_mean([gain(row) for row in some]):.2f}x of ONNX Runtime's fp32,", end=" ")
        print(f"fp32 {geometric_mean([gain(row, 'octavo fp32') for row in some]):.2f}x; int8 slower: {', '.join(slower) or 'none'}")
    for kind in ("refused", "not_exported"):
        for row in rows:
            if kind in row:
                print(f"\n{kind.replace('_', ' ')}: {row['name']}: {row[kind].strip().splitlines()[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("names", nargs="*", help="default: all that have no result")
    arguments = parser.parse_args()
    arguments.batch, arguments.fp32 = 1, None
    arguments.work.mkdir(parents=True, exist_ok=True)
    networks = listed()
    results = arguments.work / "results.jsonl"
    rows = {row["name"]: row for row in map(json.loads, results.read_text().splitlines())} if results.exists() else {}
    asked = arguments.names or [name for name in list(networks)[:: 12 if arguments.smoke else 1] if name not in rows][: 12 if arguments.smoke else None]
    kept = arguments.work / speed.provenance()["commit"]
    for name in asked:
        if arguments.prepare:
            print(f"{name}: {prepare(arguments, name, networks[name][0], kept / name)}", flush=True)
            continue
        measured = measure(arguments, name, networks[name][0], kept / name)
        shutil.rmtree(kept / name)
        rows[name] = {"name": name, **speed.provenance(), **measured}
        with results.open("a") as file:
            file.write(json.dumps(rows[name]) + "\n")
        print(f"{name}: {gain(rows[name]):.2f}x" if "ms" in rows[name] else f"{name}: {rows[name]}", flush=True)
    if not arguments.prepare:
        print_table(rows.values(), {name: has for name, (_, has) in networks.items()})


if __name__ == "__main__":
    main()
