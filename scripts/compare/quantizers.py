"""What quantizers leave of a network's answers: NNCF (default; mixed preset with full bias correction), ONNX Runtime's min-max, Octavo.

All calibrate on the same arrays and answer the same images; the reference is the fp32 model in ONNX Runtime. Arrays are made once:

    python scripts/compare/quantizers.py prepare --preprocess torch --calibration FOLDER --images FOLDER --labels labels.txt --output torch.npz   # needs pillow
    python scripts/compare/quantizers.py prepare --preprocess torch --npz pixels.npz --output small.npz          # u8 `images`, `calibration`; `labels`
    python scripts/compare/quantizers.py compare --octavo build/bin/octavo --arrays torch.npz --work /tmp/quantizers model.onnx

A table per model: right answers, agreement of the largest score with fp32 and its 95 % interval, SQNR of all scores, seconds for quantizing.
`--octavo-options "NAME=--weights max --corrections bias"` adds a row, `--only TEXT` leaves out rows without that text. `outputs` instead of `compare`
prints the SQNR of each output, for models without classes (arrays need no labels; `prepare --size HEIGHTxWIDTH --scale whole`).
"""

import argparse
import math
import pathlib
import re
import subprocess
import sys
import time

import numpy as np

MEAN_STD = {
    "torch": (np.array([123.675, 116.28, 103.53]), np.array([58.395, 57.12, 57.375])),
    "tf": (np.full(3, 127.5), np.full(3, 127.5)),
    "bgr": (np.array([103.939, 116.779, 123.68]), np.ones(3)),
    "face": (np.full(3, 127.0), np.full(3, 128.0)),
}


def normalized(pixels, preprocess):
    """u8 [..., height, width, 3] to what a network reads."""
    pixels = pixels.astype(np.float64)
    if preprocess == "bgr":
        pixels = pixels[..., ::-1]
    mean, std = MEAN_STD[preprocess]
    return np.ascontiguousarray(np.moveaxis((pixels - mean) / std, -1, -3).astype(np.float32))


def read_image(path, preprocess, size, is_whole):
    from PIL import Image

    image = Image.open(path).convert("RGB")
    height, width = size
    if is_whole:
        return normalized(np.asarray(image.resize((width, height), Image.BILINEAR)), preprocess)
    scale = round(height * 256 / 224) / min(image.size)
    image = image.resize((round(image.width * scale), round(image.height * scale)), Image.BILINEAR)
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return normalized(np.asarray(image.crop((left, top, left + width, top + height))), preprocess)


def prepare(arguments):
    if arguments.npz:
        pixels = np.load(arguments.npz)
        arrays = {name: normalized(pixels[name], arguments.preprocess) for name in ("calibration", "images")}
        return np.savez(arguments.output, labels=pixels["labels"], **arrays)
    sides = [int(side) for side in arguments.size.split("x")]
    size = (sides[0], sides[-1])

    def read_all(paths):
        return np.stack([read_image(path, arguments.preprocess, size, arguments.scale == "whole") for path in paths])

    lines = [line.rsplit(maxsplit=1) for line in open(arguments.labels) if line.strip()]
    folder = pathlib.Path(arguments.images)
    calibration = sorted(path for path in pathlib.Path(arguments.calibration).iterdir() if path.suffix.lower() in (".jpg", ".jpeg", ".png"))
    np.savez(arguments.output, calibration=read_all(calibration), images=read_all([folder / name for name, _ in lines]),
             labels=np.array([int(label) for _, label in lines]))


def ort_answers(path, images):
    """By name of the output: a row per image."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    rows = [session.run(None, {name: image[None]}) for image in images]
    return {output.name: np.concatenate([row[i].reshape(1, -1) for row in rows]) for i, output in enumerate(session.get_outputs())}


def nncf_answers(model, arrays, options):
    import nncf
    import openvino as ov

    converted = ov.convert_model(str(model))
    dataset = nncf.Dataset([sample[None] for sample in arrays["calibration"]])
    start = time.perf_counter()
    quantized = nncf.quantize(converted, dataset, subset_size=len(arrays["calibration"]), **options(nncf))
    seconds = time.perf_counter() - start
    compiled = ov.compile_model(quantized, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    rows = [compiled(image[None]) for image in arrays["images"]]
    return {name: np.concatenate([np.asarray(row[i]).reshape(1, -1) for row in rows]) for i, name in enumerate(output_names(model))}, seconds


def ort_minmax_answers(model, arrays, work):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self, name):
            self.rest = iter([{name: sample[None]} for sample in arrays["calibration"]])

        def get_next(self):
            return next(self.rest, None)

    import onnx
    import onnx.version_converter

    prepared, quantized = work / "prepared.onnx", work / "minmax.onnx"
    start = time.perf_counter()
    quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
    loaded = onnx.load(str(prepared), load_external_data=False)
    if loaded.opset_import[0].version < 13:  # scales per channel came with 13
        loaded = onnx.version_converter.convert_version(loaded, 13)
        onnx.save(loaded, str(prepared))
    graph = loaded.graph
    constants = {tensor.name for tensor in graph.initializer}
    name = next(value.name for value in graph.input if value.name not in constants)
    quantize_static(str(prepared), str(quantized), Reader(name), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    seconds = time.perf_counter() - start
    return ort_answers(quantized, arrays["images"]), seconds


def octavo_answers(octavo, model, arrays, work, words):
    np.save(work / "calibration.npy", arrays["calibration"])
    compiled, images = work / "model.octv", arrays["images"]
    start = time.perf_counter()
    run([octavo, "compile", model, "-o", compiled, "--calibrate", work / "calibration.npy", *words])
    seconds = time.perf_counter() - start
    scales = work / "scales.json"
    run([octavo, "quantize", model, "-o", work / "model.qdq.onnx", "--calibrate", work / "calibration.npy", "--scales-out", scales, *words])
    batch = max(n for n in range(1, 31) if len(images) % n == 0)
    skip = [word for option, word in zip(words, words[1:]) if option == "--skip"]
    batched = ["compile", model, "-o", compiled, "--scales", scales, "--batch", batch, *(["--skip", *skip] if skip else [])]
    if run([octavo, *batched], may_fail=True) is None:  # the file fixes its batch
        batch = 1
    rows = {name: [] for name in output_names(model)}
    for begin in range(0, len(images), batch):
        np.save(work / "x.npy", images[begin : begin + batch])
        run([octavo, "run", compiled, "--input", work / "x.npy", "--output-dir", work / "out"])
        for name in rows:
            rows[name].append(np.load(work / "out" / f"{re.sub('[^A-Za-z0-9._-]', '_', name)}.npy").reshape(batch, -1))
    return {name: np.concatenate(parts) for name, parts in rows.items()}, seconds


def output_names(model):
    import onnx

    return [output.name for output in onnx.load(str(model), load_external_data=False).graph.output]


def run(command, may_fail=False):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode and may_fail:
        return None
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def interval(hits, count):
    """Wilson, 95 %."""
    z, share = 1.96, hits / count
    middle, half = share + z * z / (2 * count), z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return [100 * (middle + side * half) / (1 + z * z / count) for side in (-1, 1)]


def sqnr_db(answers, reference):
    exact = reference.astype(np.float64)
    return 10 * math.log10((exact**2).sum() / max(((exact - answers) ** 2).sum(), 1e-300))


def report_classes(name, answers, reference, labels, seconds):
    answers, reference = next(iter(answers.values())), next(iter(reference.values()))
    top, wanted = answers.argmax(1), reference.argmax(1)
    offset = 1 if reference.shape[1] == 1001 else 0
    agree = int((top == wanted).sum())
    low, high = interval(agree, len(labels))
    shares = f"{100 * agree / len(labels):.1f} % ({low:.1f} to {high:.1f})" if name != "fp32" else ""
    ratio = f"{sqnr_db(answers, reference):.1f} dB" if name != "fp32" else ""
    print(f"| {name} | {int((top - offset == labels).sum())} | {shares} | {ratio} | {seconds:.1f} s |", flush=True)


def report_outputs(name, answers, reference, labels, seconds):
    ratios = [f"{sqnr_db(answers[output], reference[output]):.1f} dB" for output in reference] if name != "fp32" else [""] * len(reference)
    print(f"| {name} | {' | '.join(ratios)} | {seconds:.1f} s |", flush=True)


def rows_of(arguments, model, arrays, work):
    """Names of rows, with what answers."""

    def octavo(words):
        return lambda: octavo_answers(arguments.octavo, model, arrays, work, words)

    full = lambda nncf: {"preset": nncf.QuantizationPreset.MIXED, "fast_bias_correction": False}
    rows = {
        "ONNX Runtime, min-max": lambda: ort_minmax_answers(model, arrays, work),
        "NNCF, default": lambda: nncf_answers(model, arrays, lambda nncf: {}),
        "NNCF, mixed, full bias correction": lambda: nncf_answers(model, arrays, full),
        "Octavo, default": octavo([]),
        "Octavo, `--corrections fast-bias`": octavo(["--corrections", "fast-bias"]),
        "Octavo, `--corrections bias,equalize`": octavo(["--corrections", "bias,equalize"]),
        "Octavo, `--weights max --corrections none`": octavo(["--weights", "max", "--corrections", "none"]),
    }
    for name, words in (option.split("=", 1) for option in arguments.octavo_options):
        rows[name] = octavo(words.split())
    return {name: answer for name, answer in rows.items() if arguments.only in name}


def compare(arguments):
    arrays = dict(np.load(arguments.arrays))
    for model in arguments.models:
        work = pathlib.Path(arguments.work) / pathlib.Path(model).stem
        work.mkdir(parents=True, exist_ok=True)
        reference = ort_answers(model, arrays["images"])
        columns = "right | agrees with fp32 | SQNR" if arguments.report is report_classes else " | ".join(reference)
        print(f"\n{pathlib.Path(model).stem}, {len(arrays['images'])} images\n\n| quantizer | {columns} | time |")
        print("| --- " * (columns.count("|") + 3) + "|")
        arguments.report("fp32", reference, reference, arrays["labels"], 0.0)
        for name, answer in rows_of(arguments, model, arrays, work).items():
            answers, seconds = answer()
            arguments.report(name, answers, reference, arrays["labels"], seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    preparing = verbs.add_parser("prepare")
    preparing.add_argument("--preprocess", choices=sorted(MEAN_STD), required=True)
    preparing.add_argument("--size", default="224", help="SIDE or HEIGHTxWIDTH")
    preparing.add_argument("--scale", choices=["crop", "whole"], default="crop", help="whole: stretched to the size")
    preparing.add_argument("--npz", help="pixels of the right size, instead of folders")
    preparing.add_argument("--output", required=True)
    for name in ("calibration", "images", "labels"):
        preparing.add_argument(f"--{name}")
    preparing.set_defaults(verb=prepare)
    for verb, report in (("compare", report_classes), ("outputs", report_outputs)):
        comparing = verbs.add_parser(verb)
        comparing.add_argument("--octavo", required=True)
        comparing.add_argument("--arrays", required=True)
        comparing.add_argument("--work", required=True)
        comparing.add_argument("--octavo-options", action="append", default=[], metavar="NAME=WORDS")
        comparing.add_argument("--only", default="", metavar="TEXT")
        comparing.add_argument("models", nargs="+")
        comparing.set_defaults(verb=compare, report=report)
    arguments = parser.parse_args()
    arguments.verb(arguments)


if __name__ == "__main__":
    main()
