"""Octavo fp32 and int8 against ONNX Runtime fp32, in turns in one run. Prints minima and medians in ms, and the ratios of the minima.

    python scripts/compare/speed.py --octavo build/bin/octavo --threads 2 --batch 1 model.onnx [...]

An fp32 model is calibrated with random numbers: good for speed only. A quantized model is compared with --fp32 MODEL.
"""

import argparse
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime as ort


def provenance():
    """Of rows that are kept: the commit of these sources and the processor's name."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=pathlib.Path(__file__).parent).stdout.strip()
    with open("/proc/cpuinfo") as info:
        processor = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    return {"commit": commit, "machine": processor}


def ort_session(path, threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Threads that spin between runs would take the cores from the next program in the rotation.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def time_ort(session, feeds, seconds):
    times = []
    end = time.perf_counter() + seconds
    session.run(None, feeds)
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        session.run(None, feeds)
        times.append((time.perf_counter() - start) * 1e3)
    return times


def batch_words(batch):
    """None: a model whose sizes are all fixed."""
    return [] if batch is None else ["--batch", str(batch)]


def compile_octavo(octavo, model, precision, batch, folder, extra):
    path = folder / f"{pathlib.Path(model).stem}-{precision}-{batch}.octv"
    command = [octavo, "compile", model, "-o", str(path), "--precision", precision, *batch_words(batch), *extra]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return path


def time_octavo(octavo, path, batch, threads, seconds, more=()):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [octavo, "bench", str(path), "--threads", str(threads), *batch_words(batch), "--seconds", str(seconds), "--json", file.name, *more]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        return json.load(open(file.name))["runs"][0]["latency_ms"]


def compile_all(arguments, model, folder, precisions=("int8",)):
    """The compiled files by name; they stay in the folder."""
    calibration = [] if arguments.fp32 else ["--calibrate", "random", "--weights", "max"]
    paths = {"octavo fp32": compile_octavo(arguments.octavo, model, "fp32", arguments.batch, folder, [])}
    for precision in precisions:
        extra = calibration + (["--threads", str(arguments.threads), "--seconds", "0.5"] if precision == "auto" else [])
        paths[f"octavo {precision}"] = compile_octavo(arguments.octavo, model, precision, arguments.batch, folder, extra)
    return paths


def measure(arguments, model, folder, precisions=("int8",)):
    """compile_all, and time_all of it."""
    return time_all(arguments, model, compile_all(arguments, model, folder, precisions))


def time_all(arguments, model, paths):
    """Minimum and median in ms, and by how much the minima of the turns differ, by name."""
    session = ort_session(arguments.fp32 or model, arguments.threads)
    info = session.get_inputs()[0]
    shape = [d if isinstance(d, int) else arguments.batch for d in info.shape]
    shape[0] = arguments.batch
    feeds = {info.name: np.random.default_rng(0).standard_normal(shape, dtype=np.float32)}
    minima = {name: [] for name in ["ort fp32", *paths]}
    medians = {name: [] for name in minima}
    for turn in range(arguments.turns):
        names = list(minima)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            if name == "ort fp32":
                times = time_ort(session, feeds, arguments.seconds)
                minima[name].append(min(times))
                medians[name].append(statistics.median(times))
            else:
                latency = time_octavo(arguments.octavo, paths[name], arguments.batch, arguments.threads, arguments.seconds)
                minima[name].append(latency["min"])
                medians[name].append(latency["median"])
    return {name: (min(minima[name]), statistics.median(medians[name]), max(minima[name]) / min(minima[name]) - 1) for name in minima}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each variant in each turn")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--fp32", help="the fp32 file for ONNX Runtime, where the models are quantized")
    parser.add_argument("models", nargs="+")
    arguments = parser.parse_args()
    print("| model | batch | ort fp32 | octavo fp32 | octavo int8 | int8 to own fp32 | int8 to ort fp32 | fp32 to ort |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for model in arguments.models:
            found = measure(arguments, model, pathlib.Path(folder))
            cells = " | ".join(f"{low:.2f} ({middle:.2f})" for low, middle, _ in found.values())
            ort_ms, own_ms, int8_ms = (low for low, _, _ in found.values())
            name = pathlib.Path(model).stem
            print(f"| {name} | {arguments.batch} | {cells} | {own_ms / int8_ms:.2f}x | {ort_ms / int8_ms:.2f}x | {ort_ms / own_ms:.2f}x |", flush=True)


if __name__ == "__main__":
    main()
