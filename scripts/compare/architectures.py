"""Octavo on architectures that people export, beside ONNX Runtime: does the file import as it is, is fp32 the same (dB of each output, boxes of detectors), does int8 run
(calibrated on four samples), how fast are fp32, int8 and auto beside ONNX Runtime's fp32, in turns. One JSON line per network, with commit and machine, and a Markdown table.

    python scripts/compare/architectures.py --octavo build/bin/octavo --work /tmp/architectures [--threads 2] [--turns 3] [--seconds 0.5] [--answers] [NAME...]

Networks are those of architecture_networks.py; --answers leaves the times out. An interrupted run goes on where it was, and a network that is named is measured again. Files stay in the
work folder (delete them for new ones). Needs torch, torchvision, transformers, onnxscript, onnxruntime.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile

import numpy as np

import architecture_networks as networks
import speed

EQUAL = 200.0  # decibels, of answers that are the same
LEAST_DECIBELS, MOST_RATIO = 90.0, 1.03


class Refused(Exception):
    pass


def call(*words, timeout=900):
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired as expired:
        raise Refused(f"took longer than {timeout} s") from expired
    if done.returncode:
        raise Refused(done.stderr.strip()[:2000] or f"ended with {done.returncode}")
    return done.stdout


def decibels(expected, found):
    """Of the signal over the difference; of other shapes none."""
    if expected.shape != found.shape:
        return None
    expected = expected.astype(np.float64)
    error = ((found - expected) ** 2).sum()
    return EQUAL if error == 0 else min(EQUAL, 10 * math.log10(max((expected**2).sum() / error, 1e-30)))


def boxes_found(expected, found):
    """The share of boxes [n, 4] that another answer has, too: with an overlap of 0.98."""
    if len(expected) == 0:
        return 1.0 if len(found) == 0 else 0.0
    if len(found) == 0:
        return 0.0
    low = np.maximum(expected[:, None, :2], found[None, :, :2])
    high = np.minimum(expected[:, None, 2:], found[None, :, 2:])
    both = np.clip(high - low, 0, None).prod(2)
    area = lambda boxes: (boxes[:, 2:] - boxes[:, :2]).prod(1)  # noqa: E731
    union = area(expected)[:, None] + area(found)[None] - both
    return float(((both / np.maximum(union, 1e-9)).max(1) >= 0.98).mean())


class File:
    """A model file, what it reads, and what Octavo makes of it."""

    def __init__(self, arguments, name, model, folder):
        self.arguments, self.name, self.model, self.folder = arguments, name, model, folder
        self.inputs = []
        self.feeds = networks.feeds(name, 0)
        for key, value in self.feeds.items():
            np.save(folder / f"{key}.npy", value)
            self.inputs += ["--input", f"{key}={folder / key}.npy"]
        samples = [networks.feeds(name, seed) for seed in range(1, 5)]
        np.savez(folder / "samples.npz", **{key: np.stack([sample[key] for sample in samples]) for key in self.feeds})

    def compile(self, precision):
        path = self.folder / f"{precision}.octv"
        is_calibrated = precision != "fp32" and not networks.CASES[self.name].quantized
        calibrated = ["--calibrate", self.folder / "samples.npz"] if is_calibrated else []
        measured = ["--threads", self.arguments.threads, "--seconds", 0.4] if precision == "auto" else []
        call(self.arguments.octavo, "compile", self.model, "-o", path, "--precision", precision, *calibrated, *measured)
        return path

    def answers(self, path, names):
        with tempfile.TemporaryDirectory(dir=self.folder) as out:
            call(self.arguments.octavo, "run", path, *self.inputs, "--output-dir", out)
            return [np.load(pathlib.Path(out) / f"{name}.npy") for name in names]


def near(expected, found, detects):
    row = {"decibels": [decibels(e, f) for e, f in zip(expected, found)]}
    if detects:
        row["boxes"] = [len(expected[0]), len(found[0]), boxes_found(expected[0], found[0])]
    return row


def is_right(row, detects):
    if "decibels" not in row:
        return False
    if all(db is not None and db >= LEAST_DECIBELS for db in row["decibels"]):
        return True
    return detects and row["boxes"][2] >= 0.98


def timed(arguments, session, feeds, paths):
    """name -> (minimum, median) in ms of variants that take turns."""
    minima = {name: [] for name in ["ort fp32", *paths]}
    medians = {name: [] for name in minima}
    names = list(minima)
    for turn in range(arguments.turns):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            if name == "ort fp32":
                times = sorted(speed.time_ort(session, feeds, arguments.seconds))
                found = {"min": times[0], "median": times[len(times) // 2]}
            else:
                report = arguments.work / "bench.json"
                call(arguments.octavo, "bench", paths[name], "--threads", arguments.threads, "--seconds", arguments.seconds, "--json", report)
                found = json.loads(report.read_text())["runs"][0]["latency_ms"]
            minima[name].append(found["min"])
            medians[name].append(found["median"])
    return {name: (min(minima[name]), sorted(medians[name])[len(medians[name]) // 2]) for name in minima}


def exported(arguments, name):
    """The fp32 file and the one to look at, and by which exporter; made once."""
    model, note = arguments.work / f"{name}.onnx", arguments.work / f"{name}.exporter"
    quantized = arguments.work / f"{name}.qdq.onnx"
    if not note.exists():
        exporter = networks.export(name, model)
        if networks.CASES[name].quantized:
            networks.quantize(name, model, quantized)
        note.write_text(exporter)
    return model, quantized if networks.CASES[name].quantized else model, note.read_text()


def measure(arguments, name, folder):
    case = networks.CASES[name]
    try:
        plain, model, exporter = exported(arguments, name)
        session = speed.ort_session(str(plain), arguments.threads)
        reference = session if plain == model else speed.ort_session(str(model), arguments.threads)
        feeds = networks.feeds(name, 0)
        names = [output.name for output in reference.get_outputs()]
        expected = reference.run(None, feeds)
    except Exception as error:  # of exporters and of ONNX Runtime, of any kind
        return {"not_exported": f"{type(error).__name__}: {error}"[:300]}
    row = {"exporter": exporter}
    file = File(arguments, name, model, folder)
    paths = {}
    for precision in ["fp32", "int8"] + ([] if arguments.answers else ["auto"]):
        try:
            paths[f"octavo {precision}"] = path = file.compile(precision)
            row[precision] = near(expected, file.answers(path, names), case.detects)
        except Refused as refusal:
            paths.pop(f"octavo {precision}", None)
            row[precision] = {"refused": str(refusal)}
    if not arguments.answers and paths:
        if case.detects:  # what is found decides the time: the same kind of numbers that `octavo bench` takes
            feeds = {key: np.random.default_rng(0).standard_normal(value.shape, dtype=np.float32) for key, value in feeds.items()}
        found = timed(arguments, session, feeds, paths)
        row["ms"] = {key: low for key, (low, _) in found.items()}
        row["medians"] = {key: median for key, (_, median) in found.items()}
    return row


def ratio(row, variant, reference):
    times = row.get("ms", {})
    return times[reference] / times[variant] if variant in times and reference in times else None


def shortcomings(row):
    """In words, what falls short of the demands at the top of this file."""
    case = networks.CASES[row["name"]]
    if "not_exported" in row:
        return ["not exported"]
    found = [f"{precision} refused" for precision in ("fp32", "int8", "auto") if "refused" in row.get(precision, {})]
    if "decibels" in row["fp32"] and not case.quantized and not is_right(row["fp32"], case.detects):
        found.append("fp32 differs")
    for variant, reference in (("octavo int8", "ort fp32"), ("octavo auto", "octavo fp32")):
        gain = ratio(row, variant, reference)
        if gain is not None and gain < 1 / MOST_RATIO:
            found.append(f"{variant.split()[1]} slower than {reference.replace('octavo', 'own').replace('ort', 'ONNX Runtime in')}")
    return found


def answers_cell(row, precision):
    found = row.get(precision, {})
    if "decibels" not in found:
        return "refused" if "refused" in found else ""
    known = [db for db in found["decibels"] if db is not None]
    text = f"{min(known):.0f}" if known and len(known) == len(found["decibels"]) else "other shapes"
    return text + (f", {found['boxes'][2]:.0%} of {found['boxes'][0]} boxes" if "boxes" in found else "")


def print_table(rows):
    print("\n| network | file | fp32, dB | int8, dB | ORT fp32, ms | fp32 | int8 | auto | int8 to ORT fp32 | auto to own fp32 | falls short |\n" + "| --- " * 11 + "|")
    for row in sorted(rows, key=lambda row: (-len(shortcomings(row)), row["name"])):
        if "not_exported" in row:
            print(f"| {row['name']} | not exported: {row['not_exported'].splitlines()[0][:120]} |" + " |" * 9)
            continue
        times = " | ".join(f"{row['ms'][key]:.2f}" if key in row.get("ms", {}) else "" for key in ["ort fp32", "octavo fp32", "octavo int8", "octavo auto"])
        gains = " | ".join(f"{gain:.2f}x" if gain else "" for gain in [ratio(row, "octavo int8", "ort fp32"), ratio(row, "octavo auto", "octavo fp32")])
        print(f"| {row['name']} | {row['exporter']} | {answers_cell(row, 'fp32')} | {answers_cell(row, 'int8')} | {times} | {gains} | {', '.join(shortcomings(row))} |")
    gains = [gain for row in rows if (gain := ratio(row, "octavo int8", "ort fp32"))]
    whole = [row["name"] for row in rows if not shortcomings(row)]
    mean = math.exp(sum(map(math.log, gains)) / len(gains)) if gains else float("nan")
    print(f"\n{len(rows)} networks, {len(whole)} without a shortcoming; int8 {mean:.2f}x of ONNX Runtime's fp32 (geometric mean of {len(gains)})")
    for row in rows:
        for precision in ("fp32", "int8", "auto"):
            if "refused" in row.get(precision, {}):
                print(f"\n{row['name']}, {precision}: {row[precision]['refused'].strip().splitlines()[0][:400]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each variant in each turn")
    parser.add_argument("--answers", action="store_true", help="no times")
    parser.add_argument("--export", action="store_true", help="only write the files")
    parser.add_argument("names", nargs="*", help="default: all that have no result")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    results = arguments.work / ("answers.jsonl" if arguments.answers else "results.jsonl")
    rows = {row["name"]: row for row in map(json.loads, results.read_text().splitlines())} if results.exists() else {}
    for name in arguments.names or [name for name in networks.CASES if name not in rows]:
        if arguments.export:
            try:
                print(name, exported(arguments, name)[2], flush=True)
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {str(error)[:600]}", flush=True)
            continue
        with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
            found = measure(arguments, name, pathlib.Path(folder))
        rows[name] = {"name": name, **speed.provenance(), **found}
        with results.open("a") as file:
            file.write(json.dumps(rows[name]) + "\n")
        print(f"{name}: {', '.join(shortcomings(rows[name])) or 'well'}; {answers_cell(rows[name], 'fp32')}; {answers_cell(rows[name], 'int8')}; {rows[name].get('ms')}", flush=True)
    if not arguments.export:
        print_table(list(rows.values()))


if __name__ == "__main__":
    main()
