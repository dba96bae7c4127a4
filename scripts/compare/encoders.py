"""Octavo on encoders of transformers as each exporter spells them: does the file import, how near is fp32 to ONNX Runtime (of a .pt2: to PyTorch) in dB, how many layers
are attention, does int8 compile (calibrated, and per token without samples) and give the same bytes as scalar code. One JSON line per file, with commit and machine, and a table.

    python scripts/compare/encoders.py --octavo build/bin/octavo --work /tmp/encoders [--only SPELLING,...] [NAME...]

Networks and spellings are those of encoder_networks.py; an interrupted run goes on where it was, and a network that is named is measured again.
Needs torch, transformers, timm, onnxscript, onnxruntime.
"""

import argparse
import contextlib
import json
import math
import pathlib
import subprocess
import tempfile

import numpy as np
import onnxruntime
import torch

import encoder_networks
import speed

EQUAL = 200.0  # decibels, of answers that are the same
ATTENTION = ("attention", "quantized_attention")


class Refused(Exception):
    pass


def call(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise Refused(done.stderr.strip()[:2000] or f"ended with {done.returncode}")


def decibels(expected, found):
    """Of the signal over the difference."""
    expected = expected.astype(np.float64)
    error = ((found - expected) ** 2).sum()
    return EQUAL if error == 0 else min(EQUAL, 10 * math.log10(max((expected**2).sum() / error, 1e-30)))


class File:
    """A model file, and what Octavo makes of it."""

    def __init__(self, octavo, model, feeds, folder):
        self.octavo, self.model, self.folder, self.feeds = octavo, model, folder, feeds
        self.shapes, self.inputs = [], []
        for name, value in feeds.items():
            np.save(folder / f"{name}.npy", value)
            self.shapes += ["--shape", f"{name}={'x'.join(map(str, value.shape))}"]
            self.inputs += ["--input", f"{name}={folder / name}.npy"]

    def compile(self, name, *options):
        shapes = self.shapes if self.model.suffix == ".pt2" else []  # whose dynamic sizes have to be given
        call(self.octavo, "compile", self.model, "-o", self.folder / f"{name}.octv", *shapes, *options)

    def answer(self, name):
        call(self.octavo, "run", self.folder / f"{name}.octv", *self.inputs, "--output-dir", self.folder / "out")
        [path] = (self.folder / "out").glob("*.npy")
        found = np.load(path)
        path.unlink()
        return found

    def attention(self, name):
        call(self.octavo, "explain", self.folder / f"{name}.octv", *self.shapes, "--seconds", 0.01, "--json", self.folder / "explain.json")
        steps = json.load(open(self.folder / "explain.json"))["steps"]
        return sum(step["op"] in ATTENTION for step in steps)

    def integers(self, name, expected, *options):
        """How near to `expected`, how many layers, and whether scalar code gives the same bytes."""
        try:
            self.compile(name, "--precision", "int8", *options)
            self.compile(name + "-scalar", "--precision", "int8", "--target", "scalar", *options)
            found = self.answer(name)
            return {"decibels": decibels(expected, found), "attention": self.attention(name), "same_bytes": np.array_equal(found, self.answer(name + "-scalar"))}
        except Refused as refusal:
            return {"refused": str(refusal)}


def reference(name, attention, spelling, model, feeds):
    """Of ONNX Runtime for its files, since exporters do not always keep to the network; of the framework for its programs and for files that ONNX Runtime refuses."""
    if spelling != "pt2":
        with contextlib.suppress(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument):
            return speed.ort_session(str(model), 1).run(None, feeds)[0]
    network, _ = encoder_networks.make(name, attention)
    with torch.no_grad():
        return network(*map(torch.from_numpy, feeds.values())).numpy()


def measure(octavo, name, attention, spelling, folder):
    model = folder / ("model.pt2" if spelling == "pt2" else "model.onnx")
    try:
        with encoder_networks.silence():
            encoder_networks.export(name, attention, spelling, model)
            feeds = encoder_networks.feeds(name)
            expected = reference(name, attention, spelling, model, feeds)
    except Exception as error:  # of exporters, of any kind
        return {"not_exported": f"{type(error).__name__}: {error}"[:300]}
    samples = encoder_networks.feeds(name, seed=1)
    if spelling == "pt2":  # samples are single, and so is the batch that its file is compiled for
        feeds = {f"inputs_{i}": value[1:] for i, value in enumerate(feeds.values())}
        expected = expected[1:]
    file = File(octavo, model, feeds, folder)
    is_quantized = spelling.endswith(("dynamic", "qdq"))
    row = {"layers": encoder_networks.make(name, attention)[1]}
    file.compile("fp32", *([] if is_quantized else ["--precision", "fp32"]))
    row |= {"decibels": decibels(expected, file.answer("fp32")), "attention": file.attention("fp32")}
    if is_quantized:
        return row
    np.savez(folder / "samples.npz", **dict(zip(feeds, samples.values())))
    row["calibrated"] = file.integers("calibrated", expected, "--calibrate", folder / "samples.npz")
    if "input_ids" in samples:
        row["per_token"] = file.integers("per_token", expected, "--activations", "per-token")
    return row


def integer_cell(row, kind):
    found = row.get(kind)
    if found is None:
        return ""
    if "refused" in found:
        return "refused"
    return f"{found['decibels']:.0f} dB, {found['attention']}" + ("" if found["same_bytes"] else ", other bytes")


def print_table(rows):
    print("\n| network | attention | file | fp32, dB | attention of layers | calibrated | per token |\n" + "| --- " * 7 + "|")
    for row in rows:
        if "decibels" in row:
            cells = f"{row['decibels']:.0f} | {row['attention']} of {row['layers']} | {integer_cell(row, 'calibrated')} | {integer_cell(row, 'per_token')}"
        else:
            kind = "refused" if "refused" in row else "not_exported"
            cells = f"{kind.replace('_', ' ')}: {row[kind].splitlines()[0][:160]} | | |"
        print(f"| {row['name']} | {row['kind']} | {row['spelling']} | {cells} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--only", help="spellings, with commas", default=",".join(encoder_networks.SPELLINGS))
    parser.add_argument("names", nargs="*", help="default: all that have no result")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    results = arguments.work / "results.jsonl"
    lines = map(json.loads, results.read_text().splitlines()) if results.exists() else []
    rows = {(row["name"], row["kind"], row["spelling"]): row for row in lines}
    cases = [(name, kind, spelling) for name in encoder_networks.NAMES for kind in encoder_networks.ATTENTIONS for spelling in arguments.only.split(",")]
    for case in cases:
        if case[0] not in arguments.names if arguments.names else case in rows:
            continue
        with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
            try:
                found = measure(arguments.octavo, *case, pathlib.Path(folder))
            except Refused as refusal:
                found = {"refused": str(refusal)}
        name, kind, spelling = case
        rows[case] = {"name": name, "kind": kind, "spelling": spelling, **speed.provenance(), **found}
        with results.open("a") as file:
            file.write(json.dumps(rows[case]) + "\n")
        print(*case, {key: value for key, value in found.items() if key != "refused"}, found.get("refused", "")[:200], flush=True)
    print_table(rows.values())


if __name__ == "__main__":
    main()
