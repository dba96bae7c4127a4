"""What a call from Python costs: octavo's ways and ONNX Runtime's of the same file, beside `octavo bench` in C++. See
README.md beside this file.

    python scripts/compare/python_calls.py MODEL.onnx... [--turns 60] [--seconds 2]

One thread, batch 1. Least of means of 100 calls in us, in turns; a model in fp32 runs in fp32. Without a MODEL it is a
product of 16 x 4, which shows little but the call.
"""

import argparse
import pathlib
import sys
import tempfile
import time

import numpy as np
import octavo
import octavo.onnxruntime

CALLS = 100


def session(package, path):
    options = package.SessionOptions()
    options.intra_op_num_threads = 1
    return package.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def ways_of_sessions(path, feeds):
    """`run` and `run_with_iobinding` of octavo's stand-in and, where it is installed, of ONNX Runtime."""
    ways = {}
    packages = {"octavo.onnxruntime": octavo.onnxruntime}
    try:
        import onnxruntime

        packages["onnxruntime"] = onnxruntime
    except ImportError:
        print("onnxruntime is not installed", file=sys.stderr)
    for name, package in packages.items():
        one = session(package, path)
        bound = one.io_binding()
        for each, array in feeds.items():
            bound.bind_cpu_input(each, array)
        for output in one.get_outputs():
            bound.bind_output(output.name)
        ways[f"{name} run"] = lambda one=one: one.run(None, feeds)
        ways[f"{name} run_with_iobinding"] = lambda one=one, bound=bound: one.run_with_iobinding(bound)
    return ways


def ways_of(model, path):
    random = np.random.default_rng(1)
    feeds = {}
    for each in model.inputs:
        shape = [size if isinstance(size, int) else 1 for size in each.shape]
        feeds[each.name] = random.standard_normal(shape).astype(each.dtype)
    given = list(feeds.values())
    output = np.empty_like(model(*given))
    ways = {"bound": model.bind(feeds), "out=": lambda: model(*given, out=output), "model(x)": lambda: model(*given)}
    return {**ways, "model.run": lambda: model.run(feeds), **ways_of_sessions(path, feeds)}


def measured(ways, turns):
    least = dict.fromkeys(ways, float("inf"))
    for turn in range(turns):
        names = list(ways)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            call, start = ways[name], time.perf_counter()
            for _ in range(CALLS):
                call()
            least[name] = min(least[name], (time.perf_counter() - start) / CALLS * 1e6)
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx", help="files of one output")
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=2, help="of octavo bench")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(model) for model in arguments.models]
        if not paths:
            sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/tests"))
            import onnx_file

            paths = [pathlib.Path(folder) / "product.onnx"]
            paths[0].write_bytes(onnx_file.product(16, 4))
        for path in paths:
            model = octavo.compile(path, unquantized="fp32", threads=1)
            run = octavo.bench(model, threads=1, seconds=arguments.seconds)["runs"][0]["latency_ms"]
            told = {"octavo bench": run["min"] * 1e3, **measured(ways_of(model, str(path)), arguments.turns)}
            print(path.name, ", ".join(f"{name} {us:.3g}" for name, us in told.items()), sep=": ", flush=True)


if __name__ == "__main__":
    main()
