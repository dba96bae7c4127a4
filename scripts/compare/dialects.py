"""The four dialects of quantize_static of one network, timed in turns in one run. Prints minima and medians in ms, and the slowest over the fastest.

    python scripts/compare/dialects.py --octavo build/bin/octavo --images FOLDER --work /tmp/dialects resnet18.onnx [...]
    python scripts/compare/dialects.py --octavo build/bin/octavo --quantized a_qdq.onnx b_qop.onnx [...]     these files, as one network
"""

import argparse
import pathlib
import statistics
import tempfile

import onnx
from onnxruntime.quantization import QuantType, quant_pre_process, quantize_static

import networks
import speed
from torchvision_networks import DIALECTS, Samples


def quantize(source, images, work):
    prepared = work / f"{source.stem}.prepared.onnx"
    if not prepared.exists():
        quant_pre_process(source, prepared, skip_symbolic_shape=True)
    paths = []
    for dialect, (kind, activations) in DIALECTS.items():
        paths.append(work / f"{source.stem}.{dialect}.onnx")
        if not paths[-1].exists():
            samples = Samples(images, onnx.load(prepared).graph.input[0].name)
            quantize_static(prepared, paths[-1], samples, quant_format=kind, per_channel=True, activation_type=activations, weight_type=QuantType.QInt8)
    return paths


def measure(arguments, models, folder):
    paths = {model.stem: speed.compile_octavo(arguments.octavo, model, "int8", 1, folder, []) for model in models}
    found = {name: [] for name in paths}
    for turn in range(arguments.turns):
        names = list(paths)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            found[name].append(speed.time_octavo(arguments.octavo, paths[name], 1, arguments.threads, arguments.seconds))
    return {name: (min(t["min"] for t in times), statistics.median(t["median"] for t in times)) for name, times in found.items()}


def show(found):
    for name, (low, middle) in found.items():
        print(f"| {name} | {low:.2f} ({middle:.2f}) |", flush=True)
    for i, what in enumerate(["minima", "medians"]):
        values = [pair[i] for pair in found.values()]
        print(f"slowest over fastest, {what}: {max(values) / min(values):.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--images", help="folder of jpegs to calibrate with")
    parser.add_argument("--work", type=pathlib.Path, help="folder for the quantized files")
    parser.add_argument("--quantized", action="store_true", help="the files are one network's dialects already")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.6, help="of each variant in each turn")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.quantized:
            show(measure(arguments, arguments.models, pathlib.Path(folder)))
            return
        arguments.work.mkdir(parents=True, exist_ok=True)
        images = networks.load_images(arguments.images, 4)
        for model in arguments.models:
            show(measure(arguments, quantize(model, images, arguments.work), pathlib.Path(folder)))


if __name__ == "__main__":
    main()
