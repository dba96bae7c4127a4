"""Octavo against PyTorch on pt2e: networks quantized with XNNPACKQuantizer per channel and exported with torch.export. See README.md beside this file.

Every quantized operator is fed with PyTorch's own tensors; whole networks by signal-to-noise ratio, beside what PyTorch with and without oneDNN
and ONNX Runtime's two ways of running the QDQ twin differ; speed in turns: eager fp32, the exported pt2e graph as it is, torch.compile of fp32, Octavo fp32 and int8.
"""

import argparse
import json
import logging
import pathlib
import statistics
import tempfile
import time
import warnings

import numpy as np
import onnx
import torch
from onnxruntime.quantization import QuantFormat, QuantType, quant_pre_process, quantize_static

import cut
import networks
import pt2e_networks
import speed
from torchvision_networks import Octavo, Samples, file_name, sqnr

NAMES = ["resnet18", "mobilenet_v2", "efficientnet_v2_s", "vgg16"]
CALIBRATION_IMAGES = 4
WHOLE_IMAGES = 4


def user_names(program, direction):
    specs = program.graph_signature.input_specs if direction == "in" else program.graph_signature.output_specs
    return [s.arg.name for s in specs if s.kind.name in ("USER_INPUT", "USER_OUTPUT")]


def run_octavo(octavo, path, arguments, program, folder):
    """The outputs, in order."""
    words = []
    for i, (name, value) in enumerate(zip(user_names(program, "in"), arguments)):
        np.save(folder / f"in{i}.npy", value.numpy())
        words += ["--input", f"{name}={folder / f'in{i}.npy'}"]
    octavo.call("run", path, "--batch", len(arguments[0]), "--threads", 1, "--target", octavo.target, "--output-dir", folder / "out", *words)
    return [np.load(folder / "out" / file_name(name)) for name in user_names(program, "out")]


def compare_operators(program, image, octavo, folder):
    """By operator: tensors, elements, differing ones, the largest difference, and the largest share of one tensor that differs."""
    piece, arguments, expected, operators = pt2e_networks.cut(program, image)
    torch.export.save(piece, folder / "cut.pt2")
    found = run_octavo(octavo, folder / "cut.pt2", arguments, piece, folder)
    counts = {}
    for (name, wanted), got in zip(expected.items(), found):
        a, b = wanted.numpy().astype(int), got.astype(int)
        count = counts.setdefault(operators[name], {"tensors": 0, "elements": 0, "differing": 0, "largest": 0, "worst_share": 0.0})
        differing = int((a != b).sum())
        count["tensors"] += 1
        count["elements"] += a.size
        count["differing"] += differing
        count["largest"] = max(count["largest"], int(np.abs(a - b).max(initial=0)))
        count["worst_share"] = max(count["worst_share"], differing / max(a.size, 1))
    return counts


def compare_twin(model, images, folder):
    """What the two ways in which ONNX Runtime runs the QDQ twin differ, in dB."""
    source, prepared, path = (folder / f"{name}.onnx" for name in ("twin", "prepared", "qdq"))
    networks.export_model(model, images[:1], source)
    quant_pre_process(source, prepared, skip_symbolic_shape=True)
    types = {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8}
    quantize_static(prepared, path, Samples(images[:CALIBRATION_IMAGES]), quant_format=QuantFormat.QDQ, per_channel=True, **types)
    feeds = {"input": images[:WHOLE_IMAGES]}
    twin = onnx.load(path)
    return sqnr(cut.run(twin, feeds)["output"], cut.run(twin, feeds, optimized=False)["output"])


def compare_network(name, photographs, octavo):
    model, images, facts = networks.make(name, photographs)
    program = pt2e_networks.quantize(model, images[:CALIBRATION_IMAGES])
    x = torch.from_numpy(images[:WHOLE_IMAGES])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        torch.export.save(program, folder / "model.pt2")
        with torch.no_grad():
            expected = program.module()(x).numpy()
            with torch.backends.mkldnn.flags(enabled=False):
                other = program.module()(x).numpy()
        found = run_octavo(octavo, folder / "model.pt2", (x,), program, folder)[0]
        return {
            "name": name,
            **facts,
            "sqnr_octavo": sqnr(expected, found),
            "sqnr_torch_without_onednn": sqnr(expected, other),
            "sqnr_ort_twin": compare_twin(model, images, folder),
            "operators": compare_operators(program, x[:1], octavo, folder),
        }


def timed(run, seconds):
    run()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def measure(name, photographs, arguments, batch):
    """Minimum and median in ms of each way to run the network, in turns."""
    model, images, _ = networks.make(name, photographs)
    program = pt2e_networks.quantize(model, images[:CALIBRATION_IMAGES])
    x = torch.from_numpy(np.resize(images, (batch, *images.shape[1:])))
    float_program = torch.export.export(model, (x[:2],) if batch > 1 else (torch.cat([x, x]),), dynamic_shapes=pt2e_networks.DYNAMIC)
    compiled, graph = torch.compile(model), program.module()
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        folder = pathlib.Path(folder)
        torch.export.save(float_program, folder / "float.pt2")
        torch.export.save(program, folder / "pt2e.pt2")
        octavo = {
            "octavo fp32": speed.compile_octavo(arguments.octavo, folder / "float.pt2", "fp32", batch, folder, []),
            "octavo int8": speed.compile_octavo(arguments.octavo, folder / "pt2e.pt2", "int8", batch, folder, []),
        }
        runs = {"eager fp32": lambda: model(x), "pt2e graph": lambda: graph(x), "torch.compile fp32": lambda: compiled(x)}
        compiled(x)
        minima, medians = ({way: [] for way in [*runs, *octavo]} for _ in range(2))
        for turn in range(arguments.turns):
            ways = list(minima)
            for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
                if way in runs:
                    times = timed(runs[way], arguments.seconds)
                    low, middle = min(times), statistics.median(times)
                else:
                    latency = speed.time_octavo(arguments.octavo, octavo[way], batch, arguments.threads, arguments.seconds)
                    low, middle = latency["min"], latency["median"]
                minima[way].append(low)
                medians[way].append(middle)
    return {way: (min(minima[way]), statistics.median(medians[way])) for way in minima}


def show_answers(row):
    print(f"{row['name']}: {row['sqnr_octavo']:.1f} dB to PyTorch; PyTorch without oneDNN {row['sqnr_torch_without_onednn']:.1f} dB;", end="")
    print(f" ONNX Runtime to itself on the QDQ twin {row['sqnr_ort_twin']:.1f} dB")
    for operator, c in row["operators"].items():
        share = c["differing"] / c["elements"]
        print(f"  {operator}: {c['tensors']} tensors, {c['differing']} of {c['elements']} differ ({share:.5%}), by at most {c['largest']};", end="")
        print(f" at most {c['worst_share']:.4%} of one tensor", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--images", required=True, help="folder of jpegs")
    parser.add_argument("--target", default="host")
    parser.add_argument("--only", choices=["answers", "speed"])
    parser.add_argument("--batch", type=int, action="append", help="of the speed runs; default 1 and 32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each way in each turn")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--results", help="file to append a JSON line per network to")
    parser.add_argument("names", nargs="*", default=NAMES)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(arguments.threads)
    photographs = networks.load_images(arguments.images, 16)
    for name in arguments.names:
        row = {"name": name}
        if arguments.only != "speed":
            row = compare_network(name, photographs, Octavo(arguments.octavo, arguments.target))
            show_answers(row)
        for batch in [] if arguments.only == "answers" else arguments.batch or [1, 32]:
            row[f"ms_batch_{batch}"] = measure(name, photographs, arguments, batch)
            cells = ", ".join(f"{way} {low:.2f} ({middle:.2f})" for way, (low, middle) in row[f"ms_batch_{batch}"].items())
            print(f"{name}, batch {batch}, ms, minimum (median): {cells}", flush=True)
        if arguments.results:
            with open(arguments.results, "a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
