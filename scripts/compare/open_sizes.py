"""New sizes of a model whose sizes are open: Octavo, ONNX Runtime and OpenVINO, each in a process of its own, one after the other.

    python scripts/compare/open_sizes.py --octavo build/bin/octavo --size-bench build/bin/size_bench model.qdq.onnx 1x3x96x112 1x3x224x240 ...
    python scripts/compare/open_sizes.py ... model.qdq.onnx batch=1,sequence=16 batch=1,sequence=23 ...

The model is quantized. A shape is that of its one input, in which the axes on which shapes differ are made open; sizes by name are those that the file leaves
open. One thread; the sizes come in the given order to one session, with zeros: ms of what comes before a size can run (Octavo plans, the others do it in the
first run), of the first run, and the shortest of 15 more. Several rounds, the engines in turns; the table has the shortest of each.
"""

import argparse
import multiprocessing
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

RUNS = 15


def feeds_of_names(path, texts):
    """Zeros for each input at each of the sizes."""
    inputs = onnx.load(path).graph.input
    feeds = []
    for text in texts:
        sizes = {name: int(extent) for name, extent in (word.split("=") for word in text.split(","))}
        feeds.append({})
        for given in inputs:
            kind = given.type.tensor_type
            shape = [sizes[dim.dim_param] if dim.dim_param else dim.dim_value for dim in kind.shape.dim]
            feeds[-1][given.name] = np.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return feeds


def open_model(path, texts, folder):
    """The file with its input's differing axes open, and zeros for each of the shapes."""
    shapes = [[int(extent) for extent in text.split("x")] for text in texts]
    model = onnx.load(path)
    given = model.graph.input[0]
    for axis, dimension in enumerate(given.type.tensor_type.shape.dim):
        sizes = {shape[axis] for shape in shapes}
        dimension.ClearField("dim_value")
        if len(sizes) == 1:
            dimension.dim_value = sizes.pop()
        else:
            dimension.dim_param = f"size_{axis}"
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    opened = folder / "open.onnx"
    onnx.save(model, opened)
    return opened, [{given.name: np.zeros(shape, np.float32)} for shape in shapes]


def timed(run):
    """First and shortest in ms."""
    times = []
    for _ in range(1 + RUNS):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return times[0], min(times[1:])


def onnxruntime_times(path, feeds):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return [timed(lambda zeros=zeros: session.run(None, zeros)) for zeros in feeds]


def openvino_times(path, feeds):
    import openvino

    core = openvino.Core()
    config = {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    request = core.compile_model(core.read_model(path), "CPU", config).create_infer_request()
    return [timed(lambda zeros=zeros: request.infer(zeros)) for zeros in feeds]


def in_its_own_process(function, *arguments):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def octavo_times(size_bench, compiled, texts):
    done = subprocess.run([size_bench, compiled, *texts], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    rows = [dict(word.split("=") for word in line.split()[1:]) for line in done.stdout.splitlines() if "plan_ms" in line]
    return [(float(row["plan_ms"]) + float(row["first_run_ms"]), float(row["run_ms"])) for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--size-bench", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("model")
    parser.add_argument("shapes", nargs="+")
    arguments = parser.parse_args()
    engines = {}
    with tempfile.TemporaryDirectory() as folder:
        if "=" in arguments.shapes[0]:
            path, feeds = arguments.model, feeds_of_names(arguments.model, arguments.shapes)
        else:
            path, feeds = open_model(arguments.model, arguments.shapes, pathlib.Path(folder))
        compiled = str(pathlib.Path(folder) / "model.octv")
        done = subprocess.run([arguments.octavo, "compile", str(path), "-o", compiled], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        for _ in range(arguments.rounds):
            for engine, times in (
                ("Octavo", octavo_times(arguments.size_bench, compiled, arguments.shapes)),
                ("ONNX Runtime", in_its_own_process(onnxruntime_times, str(path), feeds)),
                ("OpenVINO", in_its_own_process(openvino_times, str(path), feeds)),
            ):
                engines.setdefault(engine, []).append(times)
    print("| shape |", " | ".join(f"{engine}: first, later" for engine in engines), "|")
    print("|", " --- |" * (1 + len(engines)))
    for i, shape in enumerate(arguments.shapes):
        best = [[min(turn[i][k] for turn in turns) for k in (0, 1)] for turns in engines.values()]
        print(f"| {shape} |", " | ".join(f"{first:.2f}, {later:.2f}" for first, later in best), "|")


if __name__ == "__main__":
    main()
