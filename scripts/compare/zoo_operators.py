"""Writes tests/zoo/torch_operators.txt: how many operators of each type torch's export of every zoo network has, and how many parameters."""

import argparse
import collections
import math
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx

import networks


def resolved(name, aliases):
    """What an Identity, torch's mark of two equal initializers, stands for."""
    while name in aliases:
        name = aliases[name]
    return name


def describe(model):
    """(operator, count) sorted by name, constants and aliases left out; then the elements of all weights and biases."""
    aliases = {n.output[0]: n.input[0] for n in model.graph.node if n.op_type == "Identity"}
    sizes = {i.name: math.prod(i.dims) for i in model.graph.initializer}
    nodes = [n for n in model.graph.node if n.op_type not in ("Constant", "Identity")]
    parameters = sum(sizes[resolved(name, aliases)] for n in nodes if n.op_type in ("Conv", "Gemm") for name in n.input[1:])
    return [*sorted(collections.Counter(n.op_type for n in nodes).items()), ("parameters", parameters)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    listed = subprocess.run([arguments.octavo, "zoo", "--list"], capture_output=True, text=True, check=True).stdout.split()
    lines = ["# network, operator or 'parameters', count: of torch's export at opset 17, made by scripts/compare/zoo_operators.py"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        for name in listed:
            networks.export_model(networks.untrained(name, 1), np.zeros((1, 3, 224, 224), np.float32), path)
            lines += [f"{name} {kind} {count}" for kind, count in describe(onnx.load(path))]
    pathlib.Path(arguments.output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
