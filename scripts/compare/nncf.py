"""What quantizers leave of a network's answers: NNCF (default; mixed preset with full bias correction), ONNX Runtime's min-max, Octavo.

All calibrate on the same arrays and answer the same images; the reference is the fp32 model in ONNX Runtime. Arrays are made once:

    python scripts/compare/nncf.py prepare --preprocess torch --calibration FOLDER --images FOLDER --labels labels.txt --output torch.npz   # needs pillow
    python scripts/compare/nncf.py compare --octavo build/bin/octavo --arrays torch.npz --work /tmp/nncf model.onnx

A table per model: right answers, agreement of the largest score with fp32 and its 95 % interval, SQNR of all scores, seconds for quantizing.
`--octavo-options "NAME=--weights max --corrections bias"` adds a row.
"""

import argparse
import math
import pathlib
import subprocess
import sys
import time

import numpy as np

MEAN_STD = {
    "torch": (np.array([123.675, 116.28, 103.53]), np.array([58.395, 57.12, 57.375])),
    "tf": (np.full(3, 127.5), np.full(3, 127.5)),
    "bgr": (np.array([103.939, 116.779, 123.68]), np.ones(3)),
}


def read_image(path, preprocess, size):
    from PIL import Image

    image = Image.open(path).convert("RGB")
    scale = round(size * 256 / 224) / min(image.size)
    image = image.resize((round(image.width * scale), round(image.height * scale)), Image.BILINEAR)
    left, top = (image.width - size) // 2, (image.height - size) // 2
    pixels = np.asarray(image.crop((left, top, left + size, top + size)), dtype=np.float64)
    if preprocess == "bgr":
        pixels = pixels[:, :, ::-1]
    mean, std = MEAN_STD[preprocess]
    return ((pixels - mean) / std).transpose(2, 0, 1).astype(np.float32)


def prepare(arguments):
    def read_all(paths):
        return np.stack([read_image(path, arguments.preprocess, arguments.size) for path in paths])

    lines = [line.rsplit(maxsplit=1) for line in open(arguments.labels) if line.strip()]
    folder = pathlib.Path(arguments.images)
    calibration = sorted(path for path in pathlib.Path(arguments.calibration).iterdir() if path.suffix.lower() in (".jpg", ".jpeg", ".png"))
    np.savez(arguments.output, calibration=read_all(calibration), images=read_all([folder / name for name, _ in lines]),
             labels=np.array([int(label) for _, label in lines]))


def ort_answers(path, images):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return np.concatenate([session.run(None, {name: image[None]})[0].reshape(1, -1) for image in images])


def nncf_answers(model, arrays, options):
    import nncf
    import openvino as ov

    converted = ov.convert_model(str(model))
    dataset = nncf.Dataset([sample[None] for sample in arrays["calibration"]])
    start = time.perf_counter()
    quantized = nncf.quantize(converted, dataset, subset_size=len(arrays["calibration"]), **options(nncf))
    seconds = time.perf_counter() - start
    compiled = ov.compile_model(quantized, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    answers = [np.asarray(compiled(image[None])[0]).reshape(1, -1) for image in arrays["images"]]
    return np.concatenate(answers), seconds


def ort_minmax_answers(model, arrays, work):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self, name):
            self.rest = iter([{name: sample[None]} for sample in arrays["calibration"]])

        def get_next(self):
            return next(self.rest, None)

    import onnx

    prepared, quantized = work / "prepared.onnx", work / "minmax.onnx"
    start = time.perf_counter()
    quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
    graph = onnx.load(str(prepared), load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    name = next(value.name for value in graph.input if value.name not in constants)
    quantize_static(str(prepared), str(quantized), Reader(name), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    seconds = time.perf_counter() - start
    return ort_answers(quantized, arrays["images"]), seconds


def octavo_answers(octavo, model, arrays, work, words):
    np.save(work / "calibration.npy", arrays["calibration"])
    compiled = work / "model.octv"
    start = time.perf_counter()
    run([octavo, "compile", model, "-o", compiled, "--calibrate", work / "calibration.npy", *words])
    seconds = time.perf_counter() - start
    rows = []
    for image in arrays["images"]:
        np.save(work / "x.npy", image[None])
        run([octavo, "run", compiled, "--input", work / "x.npy", "--output-dir", work / "out"])
        rows.append(np.load(next((work / "out").glob("*.npy"))).reshape(1, -1))
    return np.concatenate(rows), seconds


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def interval(hits, count):
    """Wilson, 95 %."""
    z, share = 1.96, hits / count
    middle, half = share + z * z / (2 * count), z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return [100 * (middle + side * half) / (1 + z * z / count) for side in (-1, 1)]


def report(name, answers, reference, labels, seconds):
    top, wanted = answers.argmax(1), reference.argmax(1)
    offset = 1 if reference.shape[1] == 1001 else 0
    agree = int((top == wanted).sum())
    low, high = interval(agree, len(labels))
    sqnr = 10 * math.log10((reference.astype(np.float64) ** 2).sum() / max(((reference.astype(np.float64) - answers) ** 2).sum(), 1e-300))
    print(f"| {name} | {int((top - offset == labels).sum())} | {100 * agree / len(labels):.1f} % ({low:.1f} to {high:.1f}) | {sqnr:.1f} dB | {seconds:.1f} s |",
          flush=True)


def compare(arguments):
    arrays = dict(np.load(arguments.arrays))
    variants = [("Octavo, default", []), ("Octavo, quick", ["--weights", "max"]), ("Octavo, equalized too", ["--corrections", "bias,equalize"])]
    variants += [(name, words.split()) for name, words in (option.split("=", 1) for option in arguments.octavo_options)]
    for model in arguments.models:
        work = pathlib.Path(arguments.work) / pathlib.Path(model).stem
        work.mkdir(parents=True, exist_ok=True)
        reference, labels = ort_answers(model, arrays["images"]), arrays["labels"]
        print(f"\n{model}, {len(labels)} images\n\n| quantizer | right | agrees with fp32 | SQNR | time |\n| --- | --- | --- | --- | --- |")
        offset = 1 if reference.shape[1] == 1001 else 0
        print(f"| fp32 | {int((reference.argmax(1) - offset == labels).sum())} | | | |")
        report("ONNX Runtime, min-max", *swap(ort_minmax_answers(model, arrays, work), reference, labels))
        report("NNCF, default", *swap(nncf_answers(model, arrays, lambda nncf: {}), reference, labels))
        full = nncf_answers(model, arrays, lambda nncf: {"preset": nncf.QuantizationPreset.MIXED, "fast_bias_correction": False})
        report("NNCF, mixed, full bias correction", *swap(full, reference, labels))
        for name, words in variants:
            report(name, *swap(octavo_answers(arguments.octavo, model, arrays, work, words), reference, labels))


def swap(answered, reference, labels):
    answers, seconds = answered
    return answers, reference, labels, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    preparing = verbs.add_parser("prepare")
    preparing.add_argument("--preprocess", choices=sorted(MEAN_STD), required=True)
    preparing.add_argument("--size", type=int, default=224)
    for name in ("calibration", "images", "labels", "output"):
        preparing.add_argument(f"--{name}", required=True)
    preparing.set_defaults(verb=prepare)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("--octavo", required=True)
    comparing.add_argument("--arrays", required=True)
    comparing.add_argument("--work", required=True)
    comparing.add_argument("--octavo-options", action="append", default=[], metavar="NAME=WORDS")
    comparing.add_argument("models", nargs="+")
    comparing.set_defaults(verb=compare)
    arguments = parser.parse_args()
    arguments.verb(arguments)


if __name__ == "__main__":
    main()
