"""Random quantized .tflite graphs of about ten operators, and whether Octavo answers as LiteRT does.

    python scripts/compare/litert_graphs.py --octavo build/bin/octavo [--types 8|16x8] [--count N] [--seed S] [--keep FOLDER]
    python scripts/compare/litert_graphs.py --octavo build/bin/octavo --models FOLDER

Every graph is answered by LiteRT's default interpreter and by its reference kernels, and by `octavo run` in the rounding profiles of both
(tflite-xnnpack, tflite-double), for the host and for the scalar target; all outputs must be the same bytes. Every builtin of 8-bit values that
Octavo reads takes part, every stand-alone activation after every operator, equal and other scales, zero points at both ends of the
type and between, s8 and u8. A graph that one of the two kinds of kernels does not take (not every builtin is there for both types) is judged
by the other one alone. --models compares stored graphs (SEED.tflite) instead of new ones. Exit 1 where an answer differs.

Needs, in any virtual environment: pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import litert_graph_16x8
import litert_graph_operators
from litert_graph import sample_inputs_of

RESOLVERS = {"tflite-xnnpack": OpResolverType.AUTO, "tflite-double": OpResolverType.BUILTIN_REF}
TARGETS = ("host", "scalar")
GENERATORS = {"8": litert_graph_operators.random_graph, "16x8": litert_graph_16x8.random_graph}


def litert_answers(content, profile, inputs):
    """The outputs by name, or nothing where LiteRT does not take the graph."""
    try:
        # Where tensors share memory, LiteRT 2.3 overwrites operands of some products of s16 before it has read them.
        made = Interpreter(model_content=content, experimental_op_resolver_type=RESOLVERS[profile], num_threads=1, experimental_preserve_all_tensors=True)
        made.allocate_tensors()
        for detail in made.get_input_details():
            made.set_tensor(detail["index"], inputs[detail["name"]])
        made.invoke()
    except (RuntimeError, ValueError):
        return None
    return {detail["name"]: made.get_tensor(detail["index"]).copy() for detail in made.get_output_details()}


def octavo_answers(octavo, model, profile, target, inputs, folder):
    """The outputs by name of file, or what the program says."""
    command = [octavo, "run", str(model), "--output-dir", str(folder), "--rounding", profile, "--target", target, "--threads", "1", "--allow-reference"]
    for i, (name, value) in enumerate(inputs.items()):
        np.save(folder / f"input{i}.npy", value)
        command += ["--input", f"{name}={folder}/input{i}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr.strip() or "no message" if done.returncode else None


def judge(octavo, model, content, inputs, profiles, work):
    """Per profile a list of what differs, or nothing where LiteRT does not take the graph."""
    for profile in profiles:
        theirs = litert_answers(content, profile, inputs)
        if theirs is None:
            yield profile, None
            continue
        problems = []
        for target in TARGETS:
            folder = work / f"{profile}-{target}"
            folder.mkdir(exist_ok=True)
            error = octavo_answers(octavo, model, profile, target, inputs, folder)
            problems += [f"{profile}, {target}: {error}"] if error else differences(f"{profile}, {target}", theirs, folder)
        yield profile, problems


def differences(what, theirs, folder):
    for name, value in theirs.items():
        ours = np.load(folder / f"{name}.npy")
        if ours.shape != value.shape or ours.dtype != value.dtype:
            yield f"{what}: {name} is {ours.dtype}{ours.shape}, expected {value.dtype}{value.shape}"
            continue
        apart = np.abs(ours.astype(np.float64) - value.astype(np.float64))
        if apart.any():
            yield f"{what}: {name} differs in {np.count_nonzero(apart)} of {apart.size} values, by up to {apart.max():g}"


def new_graphs(arguments):
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        graph = GENERATORS[arguments.types](seed, arguments.length)
        yield str(seed), graph.content(), graph.sample_inputs(), graph.profiles, graph.names


def stored_graphs(arguments):
    for path in sorted(arguments.models.glob("*.tflite")):
        content = path.read_bytes()
        yield path.stem, content, sample_inputs_of(content), RESOLVERS, []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--types", choices=GENERATORS, default="8", help="of activations and weights")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--length", type=int, default=10, help="operators per graph, stand-alone activations among them")
    parser.add_argument("--models", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="where graphs go whose answers differ")
    arguments = parser.parse_args()
    seen, taken, failed = collections.Counter(), collections.Counter(), []
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for name, content, inputs, profiles, operators in stored_graphs(arguments) if arguments.models else new_graphs(arguments):
            model = work / "graph.tflite"
            model.write_bytes(content)
            problems = []
            for profile, found in judge(arguments.octavo, model, content, inputs, profiles, work):
                if found is not None:
                    taken[profile] += 1
                    seen.update(operators)
                    problems += found
            for problem in problems:
                print(f"graph {name}: {problem}", flush=True)
            if problems:
                failed.append(name)
                print(f"  operators: {' '.join(operators)}", flush=True)
                if arguments.keep:
                    arguments.keep.mkdir(parents=True, exist_ok=True)
                    (arguments.keep / f"{name}.tflite").write_bytes(content)
    counts = ", ".join(f"{profile} {count}" for profile, count in taken.items())
    print(f"graphs compared: {counts}; differing: {len(failed)}")
    if seen:
        print("operators compared: " + ", ".join(f"{name} {count}" for name, count in sorted(seen.items())))
    sys.exit(1 if failed or not taken else 0)


if __name__ == "__main__":
    main()
