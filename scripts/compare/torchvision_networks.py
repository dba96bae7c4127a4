"""Octavo against ONNX Runtime on torchvision's networks: fp32, and the four dialects of quantize_static. See README.md beside this file."""

import argparse
import copy
import importlib
import json
import logging
import pathlib
import subprocess
import tempfile
import time
import traceback

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, base_quantizer, quant_pre_process, quantize_static

import cut
import networks

DIALECTS = {
    "qdq_u8": (QuantFormat.QDQ, QuantType.QUInt8),
    "qdq_s8": (QuantFormat.QDQ, QuantType.QInt8),
    "qop_u8": (QuantFormat.QOperator, QuantType.QUInt8),
    "qop_s8": (QuantFormat.QOperator, QuantType.QInt8),
}
CALIBRATION_IMAGES = 2  # the scales need not be good here
WHOLE_IMAGES = 4  # of the whole-network comparison: one image's ratio hangs on which few values happen to lie at a tie


class Samples(CalibrationDataReader):
    def __init__(self, images, name="input"):
        self.rest = [{name: image[None]} for image in images]

    def get_next(self):
        return self.rest.pop() if self.rest else None


class Octavo:
    def __init__(self, program, target):
        self.program, self.target = program, target

    def __call__(self, model, feeds, precision="int8"):
        return self.compile_and_run(model, feeds, precision)[0]

    def compile_and_run(self, model, feeds, precision="int8"):
        """Outputs by name, and the compiler's report of the plan."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            source, compiled, report = folder / "model.onnx", folder / "model.octv", folder / "report.json"
            onnx.save(model, source)
            shapes = [f"--shape={name}={'x'.join(map(str, value.shape))}" for name, value in feeds.items()]
            self.call("compile", source, "-o", compiled, "--report", report, "--precision", precision, "--target", self.target, *shapes)
            inputs = []
            for i, (name, value) in enumerate(feeds.items()):
                np.save(folder / f"{i}.npy", value)
                inputs += ["--input", f"{name}={folder / f'{i}.npy'}"]
            self.call("run", compiled, "--threads", 1, "--output-dir", folder / "out", *inputs)
            plan = json.loads(report.read_text())["plans"][0]
            return {o.name: np.load(folder / "out" / file_name(o.name)) for o in model.graph.output}, plan

    def call(self, verb, *words):
        done = subprocess.run([self.program, verb, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"octavo {verb} exit {done.returncode}: {done.stderr[-1000:]}")


def file_name(output):
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in output) + ".npy"


def sqnr(reference, value):
    error = ((reference.astype(np.float64) - value) ** 2).sum()
    return float("inf") if error == 0 else 10 * float(np.log10((reference.astype(np.float64) ** 2).sum() / error))


def compare_fp32(model, feeds, octavo):
    expected = cut.run(model, feeds)["output"]
    found = octavo(model, feeds, "fp32")["output"]
    return {"relative_error": float(np.abs(expected - found).max() / np.abs(expected).max())}


def compare_dialect(model, images, octavo):
    """What is recorded, then ONNX Runtime's and Octavo's answers."""
    several, one = {"input": images[:WHOLE_IMAGES]}, {"input": images[:1]}
    default = cut.run(model, several)["output"]
    plain = cut.run(model, several, optimized=False)["output"]
    found, plan = octavo.compile_and_run(model, several)
    values = cut.run(cut.with_outputs(model, cut.eight_bit_tensors(model)), one)
    result = {
        "sqnr_octavo": sqnr(default, found["output"]),
        "sqnr_ort_unoptimized": sqnr(default, plain),
        "reference_kernels": [name for name in plan["kernels"] if "reference" in name],
        "islands": plan["islands"],
        "operators": cut.differences(model, one, values, octavo),
    }
    return result, default, found["output"]


def share_between_dialects():
    """The same weights are quantized for every dialect: most of quantize_static's time. Remembers the latest network's."""
    quantization = importlib.import_module("onnxruntime.quantization.quantize")
    make_data, load = base_quantizer.quantize_data, quantization.load_model_with_shape_infer
    remembered = {"path": None, "model": None, "data": {}}

    def load_once(path):
        if remembered["path"] != path:
            remembered.update(path=path, model=load(path), data={})
        return copy.deepcopy(remembered["model"])

    def make_data_once(data, *options, **more):
        key = (data.tobytes(), options, tuple(more.items()))
        if key not in remembered["data"]:
            remembered["data"][key] = make_data(data, *options, **more)
        return remembered["data"][key]

    base_quantizer.quantize_data, quantization.load_model_with_shape_infer = make_data_once, load_once


def quantize(prepared, path, dialect, images, cache):
    kind, activations = DIALECTS[dialect]
    quantize_static(
        prepared,
        path,
        Samples(images[:CALIBRATION_IMAGES]),
        quant_format=kind,
        per_channel=True,
        activation_type=activations,
        weight_type=QuantType.QInt8,
        calibration_cache_path=cache,  # made by the first dialect
    )


def compare_network(name, photographs, work, octavo, dialects):
    start = time.time()
    source, prepared, cache = work / f"{name}.onnx", work / f"{name}.prepared.onnx", work / f"{name}.ranges.json"
    images, facts = networks.export(name, photographs, source)
    row = {"name": name, **facts}
    row["fp32"] = compare_fp32(onnx.load(source), {"input": images[:1]}, octavo)
    quant_pre_process(source, prepared, skip_symbolic_shape=True)
    defaults, answers = {}, {}
    for dialect in dialects:
        path = work / f"{name}.{dialect}.onnx"
        quantize(prepared, path, dialect, images, cache)
        row[dialect], defaults[dialect], answers[dialect] = compare_dialect(onnx.load(path), images, octavo)
    if {"qdq_s8", "qop_s8"} <= set(dialects):  # ONNX Runtime computes the former in f32, the latter in integers
        row["qdq_s8"]["sqnr_octavo_to_ort_qop_s8"] = sqnr(defaults["qop_s8"], answers["qdq_s8"])
    row["seconds"] = round(time.time() - start)
    return row


def describe(row):
    parts = [f"fp32 {row['fp32']['relative_error']:.1e}"]
    for dialect in (d for d in DIALECTS if d in row):
        result = row[dialect]
        differing, total = (sum(c[key] for c in result["operators"].values()) for key in ("differing", "elements"))
        parts.append(f"{dialect} {result['sqnr_octavo']:.1f} dB (ort {result['sqnr_ort_unoptimized']:.1f}) {differing}/{total}")
    return f"{row['name']}: " + "; ".join(parts) + f" [{row['seconds']} s]"


def rows_of(results):
    """The latest row of each network."""
    rows = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    return {row["name"]: row for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--images", required=True, help="folder of jpegs")
    parser.add_argument("--work", required=True, help="folder for models and results; networks in its results.jsonl are not run again")
    parser.add_argument("--target", default="host")
    parser.add_argument("--dialects", default=",".join(DIALECTS))
    parser.add_argument("--keep", action="store_true", help="keep the exported models")
    parser.add_argument("names", nargs="*", help="run these, also again; default: all of networks.NAMES that have no result")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    work = pathlib.Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    results = work / "results.jsonl"
    photographs = networks.load_images(arguments.images, 16)
    octavo = Octavo(arguments.octavo, arguments.target)
    share_between_dialects()
    for name in arguments.names or [n for n in networks.NAMES if n not in rows_of(results)]:
        try:
            row = compare_network(name, photographs, work, octavo, arguments.dialects.split(","))
        except Exception:  # the other networks are worth having
            print(f"{name}: FAILED {traceback.format_exc()}", flush=True)
            continue
        print(describe(row), flush=True)
        with results.open("a") as file:
            file.write(json.dumps(row) + "\n")
        if not arguments.keep:
            for path in work.glob(f"{name}.*"):
                path.unlink()


if __name__ == "__main__":
    main()
