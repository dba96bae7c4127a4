"""Octavo against LiteRT on .tflite files: how many output elements differ and by how much, and the speed of both in turns.

    python scripts/compare/litert.py --octavo build/bin/octavo [--resolver default|reference] [--rounding PROFILE] [--samples N] model.tflite [...]
    python scripts/compare/litert.py --octavo build/bin/octavo --speed --threads 2 [--twin TWIN.onnx] model.tflite [...]

Needs, in any virtual environment: pip install ai-edge-litert==2.3.0 numpy
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

RESOLVERS = {"default": OpResolverType.AUTO, "reference": OpResolverType.BUILTIN_REF}


def interpreter(model, resolver, threads):
    made = Interpreter(model_path=str(model), experimental_op_resolver_type=RESOLVERS[resolver], num_threads=threads)
    made.allocate_tensors()
    return made


def random_input(detail, rng):
    shape = detail["shape"]
    if np.issubdtype(detail["dtype"], np.floating):
        return rng.standard_normal(shape).astype(detail["dtype"])
    info = np.iinfo(detail["dtype"])
    # Smooth noise of different levels: answers of image networks to white noise hardly depend on it.
    level = rng.integers(info.min, info.max + 1, shape[:1])[0]
    return np.clip(level + rng.normal(0, rng.uniform(5, 80), shape), info.min, info.max).astype(detail["dtype"])


def run_litert(made, inputs):
    for detail, value in zip(made.get_input_details(), inputs):
        made.set_tensor(detail["index"], value)
    made.invoke()
    return [made.get_tensor(detail["index"]).copy() for detail in made.get_output_details()]


def checked(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)


def run_octavo(arguments, model, samples, names):
    """All samples as one batch; one list of outputs per sample."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command = [arguments.octavo, "run", str(model), "--output-dir", str(folder), "--batch", str(len(samples)), "--threads", str(arguments.threads)]
        command += ["--precision", arguments.precision] if arguments.precision else []
        command += ["--rounding", arguments.rounding] if arguments.rounding else []
        command += ["--target", arguments.target]
        for i, name in enumerate(names["inputs"]):
            np.save(folder / f"input{i}.npy", np.concatenate([sample[i] for sample in samples]))
            command += ["--input", f"{name}={folder}/input{i}.npy"]
        checked(command)
        outputs = []
        for name in names["outputs"]:
            file = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
            outputs.append(np.load(folder / f"{file}.npy"))
        return [[output[i : i + 1] for output in outputs] for i in range(len(samples))]


def compare(arguments, model):
    made = interpreter(model, arguments.resolver, arguments.threads)
    rng = np.random.default_rng(arguments.seed)
    samples = [[random_input(detail, rng) for detail in made.get_input_details()] for _ in range(arguments.samples)]
    names = {"inputs": [d["name"] for d in made.get_input_details()], "outputs": [d["name"] for d in made.get_output_details()]}
    theirs = [run_litert(made, sample) for sample in samples]
    ours = run_octavo(arguments, model, samples, names)
    differences = [np.abs(a.astype(np.float64) - b.astype(np.float64)).ravel() for x, y in zip(ours, theirs) for a, b in zip(x, y)]
    differing = np.concatenate(differences)
    distinct = len({output.tobytes() for sample in theirs for output in sample})
    print(f"{model.name}: {np.count_nonzero(differing)} of {differing.size} elements differ, at most by {differing.max():g}; {distinct} distinct answers")


def time_litert(made, inputs, seconds):
    times = []
    end = time.perf_counter() + seconds
    run_litert(made, inputs)
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        made.invoke()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def time_octavo(arguments, path):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        checked([arguments.octavo, "bench", str(path), "--threads", str(arguments.threads), "--seconds", str(arguments.seconds), "--json", file.name])
        return json.load(open(file.name))["runs"][0]["latency_ms"]


def speed(arguments, model, folder):
    made = interpreter(model, "default", arguments.threads)
    inputs = [random_input(detail, np.random.default_rng(0)) for detail in made.get_input_details()]
    programs = {"octavo": model} | ({"octavo twin": pathlib.Path(arguments.twin)} if arguments.twin else {})
    paths = {name: folder / f"{name}.octv" for name in programs}
    for name, source in programs.items():
        checked([arguments.octavo, "compile", str(source), "-o", str(paths[name])] + (["--precision", arguments.precision] if arguments.precision else []))
    minima = {name: [] for name in ["litert", *paths]}
    medians = {name: [] for name in minima}
    for turn in range(arguments.turns):
        names = list(minima)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            if name == "litert":
                times = time_litert(made, inputs, arguments.seconds)
                minima[name].append(min(times))
                medians[name].append(statistics.median(times))
            else:
                latency = time_octavo(arguments, paths[name])
                minima[name].append(latency["min"])
                medians[name].append(latency["median"])
    cells = [f"{name} {min(minima[name]):.3f} / {statistics.median(medians[name]):.3f}" for name in minima]
    ratios = [f"{name}: {min(minima['litert']) / min(minima[name]):.2f} times LiteRT's speed" for name in paths]
    print(f"{model.name} (ms, minimum / median): " + ", ".join(cells) + "; " + ", ".join(ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--resolver", choices=RESOLVERS, default="default")
    parser.add_argument("--rounding")
    parser.add_argument("--target", default="host")
    parser.add_argument("--precision", default="")
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--twin", default="")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for model in arguments.models:
            speed(arguments, model, pathlib.Path(folder)) if arguments.speed else compare(arguments, model)


if __name__ == "__main__":
    main()
