"""Octavo against ONNX Runtime on torchvision's networks: fp32, and the four dialects of quantize_static. See README.md beside this file."""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time
import traceback

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quant_pre_process, quantize_static

import cut
import networks

DIALECTS = {
    "qdq_u8": (QuantFormat.QDQ, QuantType.QUInt8),
    "qdq_s8": (QuantFormat.QDQ, QuantType.QInt8),
    "qop_u8": (QuantFormat.QOperator, QuantType.QUInt8),
    "qop_s8": (QuantFormat.QOperator, QuantType.QInt8),
}


class Samples(CalibrationDataReader):
    def __init__(self, images, name="input"):
        self.rest = [{name: image[None]} for image in images]

    def get_next(self):
        return self.rest.pop() if self.rest else None


class Octavo:
    def __init__(self, program, target):
        self.program, self.target = program, target

    def __call__(self, model, feeds, precision="int8"):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            onnx.save(model, folder / "model.onnx")
            names = {}
            command = [self.program, "run", str(folder / "model.onnx"), "--precision", precision, "--target", self.target, "--output-dir", str(folder / "out")]
            for i, (name, value) in enumerate(feeds.items()):
                np.save(folder / f"{i}.npy", value)
                command += ["--input", f"{name}={folder / f'{i}.npy'}", "--shape", f"{name}={'x'.join(map(str, value.shape))}"]
            for output in model.graph.output:
                names[output.name] = "".join(c if c.isalnum() or c in "._-" else "_" for c in output.name)
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"octavo exit {done.returncode}: {done.stderr[-2000:]}")
            return {name: np.load(folder / "out" / f"{file}.npy") for name, file in names.items()}


def sqnr(reference, value):
    error = ((reference - value) ** 2).sum()
    return float("inf") if error == 0 else 10 * float(np.log10((reference.astype(np.float64) ** 2).sum() / error))


def compare_fp32(model, feeds, octavo):
    expected = cut.run(model, feeds)["output"]
    found = octavo(model, feeds, "fp32")["output"]
    return {"relative_error": float(np.abs(expected - found).max() / np.abs(expected).max())}


def compare_dialect(model, feeds, octavo):
    default = cut.run(model, feeds)["output"]
    plain = cut.run(model, feeds, optimized=False)["output"]
    found = octavo(model, feeds)["output"]
    return {
        "sqnr_octavo": sqnr(default, found),
        "sqnr_ort_unoptimized": sqnr(default, plain),
        "operators": cut.differences(model, feeds, octavo),
    }


def compare_network(name, images, work, octavo, dialects):
    row = {"name": name}
    source = work / f"{name}.onnx"
    if not source.exists():
        networks.export(name, images, source)
    model = onnx.load(source)
    feeds = {"input": images[:1]}
    row["fp32"] = compare_fp32(model, feeds, octavo)
    prepared = work / f"{name}.prepared.onnx"
    if not prepared.exists():
        quant_pre_process(source, prepared, skip_symbolic_shape=True)
    for dialect in dialects:
        kind, activations = DIALECTS[dialect]
        path = work / f"{name}.{dialect}.onnx"
        if not path.exists():
            quantize_static(prepared, path, Samples(images[:8]), quant_format=kind, per_channel=True, activation_type=activations, weight_type=QuantType.QInt8)
        row[dialect] = compare_dialect(onnx.load(path), feeds, octavo)
    return row


def describe(row):
    parts = [f"fp32 {row['fp32']['relative_error']:.1e}"]
    for dialect in DIALECTS:
        if dialect not in row:
            continue
        result = row[dialect]
        differing = sum(c[2] for c in result["operators"].values())
        total = sum(c[1] for c in result["operators"].values())
        parts.append(f"{dialect} {result['sqnr_octavo']:.1f} dB (ort {result['sqnr_ort_unoptimized']:.1f}) {differing}/{total}")
    return f"{row['name']}: " + "; ".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--images", required=True, help="folder of jpegs")
    parser.add_argument("--work", required=True, help="folder for models and results")
    parser.add_argument("--target", default="host")
    parser.add_argument("--dialects", default=",".join(DIALECTS))
    parser.add_argument("--keep", action="store_true", help="keep the exported models")
    parser.add_argument("names", nargs="*", default=networks.NAMES)
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    images = networks.load_images(arguments.images, 16)
    octavo = Octavo(arguments.octavo, arguments.target)
    results = work / "results.jsonl"
    for name in arguments.names or networks.NAMES:
        start = time.time()
        try:
            row = compare_network(name, images, work, octavo, arguments.dialects.split(","))
            print(describe(row), f"[{time.time() - start:.0f} s]", flush=True)
        except Exception as error:
            row = {"name": name, "error": str(error)}
            print(f"{name}: FAILED {type(error).__name__}: {str(error)[-600:]}", flush=True)
            traceback.print_exc()
        with results.open("a") as file:
            file.write(json.dumps(row) + "\n")
        if not arguments.keep:
            for path in work.glob(f"{name}.*onnx*"):
                path.unlink()


if __name__ == "__main__":
    main()
