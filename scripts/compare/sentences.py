"""A sentence embedder in int8: how near it stays to fp32, whether batches and padding change a byte, and its speed beside peers.
Calibrated by default, per token without samples, and the file that ONNX Runtime's quantize_dynamic writes, which has one scale for a batch (no bytes there).

    python scripts/compare/sentences.py --octavo build/bin/octavo minilm.onnx stsb_minilm_tokens.npz [--pairs N] [--only accuracy|bytes|speed]

The model takes input_ids and attention_mask, s64 [b, s], and gives [b, s, width]; embeddings are means over tokens, of length 1. The .npz has
`dev_a_ids` (all sentences in a row), `dev_a_lengths`, the same of `b`, `dev_score`, and `train_a_...` for calibration: 128 rows of 48 tokens, sentences one
after the other, so that nothing is padded. Accuracy: Spearman's rank correlation of the cosines of pairs with the scores, the difference to fp32 (ONNX Runtime) with
its 95 % interval of 1,000 bootstraps, and the cosines of int8 embeddings to those of fp32. Bytes: every sentence alone, in batches of 32 and padded to 128 tokens,
with one thread and two, and by files for every lesser target (64 sentences of scalar). Speed: ms, minimum and median of turns of 1.5 seconds, two threads, ids from a seed, masks of ones;
then batches of 32 sentences as they come, padded to their longest.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

ROW = 48
DYNAMIC = "Octavo, the dynamic file of ONNX Runtime"
SHAPES = [(1, 16), (1, 128), (32, 64), (1, 512)]
TARGETS = ["scalar", "avx2", "avxvnni", "avx512vnni"]


def call(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def sentences(data, part):
    ends = np.cumsum(data[part + "_lengths"].astype(np.int64))
    return np.split(data[part + "_ids"].astype(np.int64), ends[:-1])


def calibration(data, path):
    rows, words = [], sentences(data, "train_a")
    while len(rows) < 128:
        row = [words[0][0]]
        while len(row) < ROW:
            row.extend(words.pop(0)[1:])
        rows.append(row[:ROW])
    rows = np.array(rows)
    rows[:, -1] = words[0][-1]
    np.savez(path, input_ids=rows, attention_mask=np.ones_like(rows))


def batch(some, least=0):
    length = max(least, max(len(sentence) for sentence in some))
    ids, mask = np.zeros((len(some), length), np.int64), np.zeros((len(some), length), np.int64)
    for row, sentence in enumerate(some):
        ids[row, : len(sentence)], mask[row, : len(sentence)] = sentence, 1
    return {"input_ids": ids, "attention_mask": mask}


class Octavo:
    def __init__(self, program, model, folder):
        self.program, self.model, self.folder = program, model, pathlib.Path(folder)

    def run(self, feeds, threads=2):
        words = []
        for name, value in feeds.items():
            np.save(self.folder / f"{name}.npy", value)
            words += ["--input", f"{name}={self.folder}/{name}.npy", "--shape", f"{name}={value.shape[0]}x{value.shape[1]}"]
        call(self.program, "run", self.model, *words, "--output-dir", self.folder / "out", "--threads", threads)
        return np.load(next((self.folder / "out").glob("*.npy")))


def rows_of(run, some, size=1, least=0):
    """The valid rows of each sentence's result."""
    rows = []
    for first in range(0, len(some), size):
        part = some[first : first + size]
        rows += [hidden[: len(words)] for hidden, words in zip(run(batch(part, least)), part)]
    return rows


def embeddings(rows):
    means = np.array([row.mean(0, dtype=np.float64) for row in rows])
    return means / np.linalg.norm(means, axis=1, keepdims=True)


def spearman(a, b):
    def ranks(x):
        _, where, counts = np.unique(x, return_inverse=True, return_counts=True)
        ends = np.cumsum(counts)
        return (ends - (counts - 1) / 2)[where]

    return np.corrcoef(ranks(a), ranks(b))[0, 1]


def accuracy(name, octavo, exact, data, pairs):
    score = data["dev_score"][:pairs]
    parts = [sentences(data, part)[:pairs] for part in ("dev_a", "dev_b")]
    found, wanted = ([embeddings(rows_of(run, part)) for part in parts] for run in (octavo.run, exact))
    near = [(a * b).sum(1) for a, b in (found, wanted)]
    random = np.random.default_rng(1)
    picks = random.integers(0, pairs, (1000, pairs))
    drops = [spearman(near[0][pick], score[pick]) - spearman(near[1][pick], score[pick]) for pick in picks]
    cosines = np.concatenate([(a * b).sum(1) for a, b in zip(found, wanted)])
    print(f"{name}: Spearman {spearman(near[0], score):.4f}, fp32 {spearman(near[1], score):.4f}, difference 95 % in "
          f"[{np.percentile(drops, 2.5):+.4f}, {np.percentile(drops, 97.5):+.4f}]; cosine to fp32: mean {cosines.mean():.4f}, worst {cosines.min():.4f}")  # fmt: skip


def same_bytes(name, octavo, data, pairs, other_targets):
    """Every sentence alone beside batches, sorted by length and not, padding, threads, and files for other targets."""
    some = [words for part in ("dev_a", "dev_b") for words in sentences(data, part)[:pairs]]
    some.sort(key=len)
    mixed = np.random.default_rng(1).permutation(len(some))
    alone = rows_of(octavo.run, some)

    def compare(what, run, order, size=32, least=0):
        found = rows_of(run, [some[i] for i in order], size, least)
        differ = sum(not np.array_equal(alone[i], rows) for i, rows in zip(order, found))
        print(f"{name}: {what}: {differ} of {len(order)} sentences differ from alone", flush=True)

    compare("batches of 32, sorted", octavo.run, range(len(some)))
    compare("batches of 32, mixed", octavo.run, mixed)
    compare("batches of 32, mixed, 1 thread", lambda feeds: octavo.run(feeds, 1), mixed)
    compare("batches of 32, mixed, 128 tokens", octavo.run, mixed, least=128)
    for target, other in other_targets.items():
        order = mixed[:64] if target == "scalar" else mixed
        compare(f"batches of 32, mixed, {target}", other.run, order)


def for_other_targets(arguments, name, words, folder):
    """Files for every lesser target that this machine runs."""
    found = {}
    for target in TARGETS:
        path = f"{folder}/{target}.octv"
        call(arguments.octavo, "compile", arguments.model, *words, "--target", target, "-o", path)
        octavo = Octavo(arguments.octavo, path, folder)
        try:
            octavo.run(batch([np.array([101, 102])]))
        except SystemExit as refusal:
            print(f"{name}: {target}: skipped, {refusal}")
            continue
        found[target] = octavo
    return found


def timed(run, seconds=1.5):
    times, end = [], time.perf_counter() + seconds
    run()
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return min(times), float(np.median(times))


def octavo_time(program, model, shape, folder):
    size = f"{shape[0]}x{shape[1]}"
    call(program, "bench", model, "--threads", 2, "--seconds", 1.5, "--shape", f"input_ids={size}", "--shape", f"attention_mask={size}",
         "--json", f"{folder}/bench.json")  # fmt: skip
    latency = json.load(open(f"{folder}/bench.json"))["runs"][0]["latency_ms"]
    return latency["min"], latency["median"]


def speed(arguments, compiled, sessions, folder):
    print("| tokens |", " | ".join([*sessions, *compiled]), "|")
    for shape in SHAPES:
        ids = np.random.default_rng(1).integers(1000, 30000, shape)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        turns = {}
        for _ in range(arguments.rounds):
            for name, run in sessions.items():
                turns.setdefault(name, []).append(timed(lambda: run(feeds)))
            for name, model in compiled.items():
                turns.setdefault(name, []).append(octavo_time(arguments.octavo, model, shape, folder))
        cells = [f"{min(t[0] for t in turn):.2f} ({np.median([t[1] for t in turn]):.2f})" for turn in turns.values()]
        print(f"| {shape[0]}x{shape[1]} |", " | ".join(cells), "|", flush=True)


def unpadded_times(arguments, model, lengths):
    """(minimum, median) of the padded batch and of its groups."""
    program = pathlib.Path(arguments.octavo).with_name("unpadded_bench")
    lines = call(program, model, "attention_mask", 2, *lengths).splitlines()
    return [tuple(float(part.split("=")[1]) for part in line.split()[1:]) for line in lines[:2]]


def as_they_come(arguments, compiled, sessions, data):
    """Batches of 32 sentences in the file's order, padded to the longest; Octavo's also without the padding."""
    own = {name: model for name, model in compiled.items() if name.startswith("Octavo int8")}
    print("| sentences, tokens, padded |", " | ".join([*sessions, *(f"{name}{more}" for name in own for more in ("", ", unpadded"))]), "|")
    for first in (0, 700, 1100):
        part = sentences(data, "dev_b")[first : first + 32]
        feeds, lengths = batch(part), [len(words) for words in part]
        times = [timed(lambda: run(feeds)) for run in sessions.values()]
        for model in own.values():
            times += unpadded_times(arguments, model, lengths)
        cells = [f"{least:.2f} ({median:.2f})" for least, median in times]
        print(f"| {first} to {first + 31}, {sum(lengths)}, {feeds['input_ids'].size} |", " | ".join(cells), "|", flush=True)


def peers(model, folder):
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 2, 3
    dynamic = f"{folder}/dynamic.onnx"
    quantize_dynamic(model, dynamic, weight_type=QuantType.QInt8)
    sessions = [onnxruntime.InferenceSession(path, options) for path in (model, dynamic)]
    return {
        "ONNX Runtime fp32": lambda feeds: sessions[0].run(None, feeds),
        "ONNX Runtime dynamic int8": lambda feeds: sessions[1].run(None, feeds),
        **openvino_peers(model, np.load(f"{folder}/calibration.npz")),
    }


def openvino_peers(model, samples):
    """OpenVINO in f32 and in bf16 (its default where the machine has it), of fp32 and, where nncf is installed, of NNCF's int8."""
    import openvino

    models = {"fp32": openvino.Core().read_model(model)}
    try:
        import nncf
    except ImportError:
        print("nncf is not installed: without OpenVINO's int8")
    else:
        rows = [{name: samples[name][i : i + 1] for name in samples} for i in range(len(samples["input_ids"]))]
        models["int8"] = nncf.quantize(models["fp32"], nncf.Dataset(rows), model_type=nncf.ModelType.TRANSFORMER, subset_size=len(rows))
    found = {}
    for precision, read in models.items():
        for hint in ("f32", "bf16"):
            settings = {"INFERENCE_NUM_THREADS": 2, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": hint}
            request = openvino.Core().compile_model(read, "CPU", settings).create_infer_request()
            found[f"OpenVINO {precision}, {hint}"] = lambda feeds, request=request: request.infer(feeds)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--pairs", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", choices=["accuracy", "bytes", "speed"])
    parser.add_argument("model")
    parser.add_argument("tokens")
    arguments = parser.parse_args()
    data = np.load(arguments.tokens)
    with tempfile.TemporaryDirectory() as folder:
        calibration(data, f"{folder}/calibration.npz")
        int8 = {
            "Octavo int8": ["--calibrate", f"{folder}/calibration.npz"],
            "Octavo int8, per token": ["--activations", "per-token"],
        }
        compiled = {"Octavo fp32": f"{folder}/fp32.octv"}
        call(arguments.octavo, "compile", arguments.model, "--precision", "fp32", "-o", compiled["Octavo fp32"])
        for name, words in int8.items():
            compiled[name] = f"{folder}/{len(compiled)}.octv"
            call(arguments.octavo, "compile", arguments.model, *words, "-o", compiled[name])
        if arguments.only in (None, "bytes"):
            for name, words in int8.items():
                octavo = Octavo(arguments.octavo, compiled[name], folder)
                same_bytes(name, octavo, data, arguments.pairs, for_other_targets(arguments, name, words, folder))
        if arguments.only == "bytes":
            return
        sessions = peers(arguments.model, folder)
        compiled[DYNAMIC] = f"{folder}/dynamic.octv"
        call(arguments.octavo, "compile", f"{folder}/dynamic.onnx", "-o", compiled[DYNAMIC])
        if arguments.only in (None, "accuracy"):
            for name in list(compiled)[1:]:
                octavo = Octavo(arguments.octavo, compiled[name], folder)
                accuracy(name, octavo, lambda feeds: sessions["ONNX Runtime fp32"](feeds)[0], data, arguments.pairs)
        if arguments.only in (None, "speed"):
            speed(arguments, compiled, sessions, folder)
            as_they_come(arguments, compiled, sessions, data)


if __name__ == "__main__":
    main()
