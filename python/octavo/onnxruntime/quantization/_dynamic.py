"""Rewrites products by constant matrices to MatMulInteger over an operand that is quantized as it comes, and rows of
tables to bytes."""

from __future__ import annotations

import os
from typing import Any, Callable

import numpy as np

from ..._words import is_path

OPERATORS = ("MatMul", "Gemm", "Gather")


def _loaded(model: Any) -> Any:
    import onnx

    return onnx.load(os.fspath(model)) if is_path(model) else type(model).FromString(model.SerializeToString())


def _table(node: Any, weights: dict[str, np.ndarray]) -> np.ndarray | None:
    """The constant f32 [rows, n] that the node takes rows of, where it is such a Gather."""
    import onnx

    table = weights.get(node.input[0]) if node.input else None
    if (
        node.domain not in ("", "ai.onnx")
        or node.op_type != "Gather"
        or table is None
        or table.ndim != 2
        or table.dtype != np.float32
    ):
        return None
    return (
        None if any(onnx.helper.get_attribute_value(each) for each in node.attribute if each.name == "axis") else table
    )


def _matrix(node: Any, weights: dict[str, np.ndarray]) -> np.ndarray | None:
    """The constant f32 [k, n] that the node multiplies by, where it is such a product."""
    import onnx

    matrix = weights.get(node.input[1]) if len(node.input) > 1 else None
    if (
        node.domain not in ("", "ai.onnx")
        or node.op_type not in ("MatMul", "Gemm")
        or matrix is None
        or matrix.ndim != 2
        or matrix.dtype != np.float32
    ):
        return None
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    if attributes.get("transA", 0) or attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0:
        return None
    return matrix.T if attributes.get("transB", 0) else matrix


def _rounded(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s8 [k, n] and the scale of each column: the largest value is 127."""
    largest = np.abs(matrix).max(axis=0)
    scales = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
    return np.rint(matrix / scales).astype(np.int8), scales


class _Rewriter:
    def __init__(self, graph: Any) -> None:
        from onnx import numpy_helper

        self.graph = graph
        self.weights = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        self.given = {each.name for each in graph.input}
        self.quantized: dict[str, list[str]] = {}  # bytes, scale and zero point by the value that they are made of
        self.nodes: list[Any] = []

    def _add(self, op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(op, inputs, outputs, name=f"{outputs[0]}_{op}", **attributes))
        return outputs[0]

    def _constant(self, name: str, array: np.ndarray) -> str:
        from onnx import numpy_helper

        if all(each.name != name for each in self.graph.initializer):
            self.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def _operand(self, name: str) -> list[str]:
        if name not in self.quantized:
            made = [f"{name}/{part}" for part in ("quantized", "scale", "zero_point")]
            self._add("DynamicQuantizeLinear", [name], made)
            self.quantized[name] = made
        return self.quantized[name]

    def product(self, node: Any, matrix: np.ndarray) -> None:
        """y = (xq - xz) wq * (xs * ws) + bias."""
        import onnx

        data, scale, zero_point = self._operand(node.input[0])
        values, scales = _rounded(matrix)
        transposed = "/transposed" if matrix is not self.weights[node.input[1]] else ""
        weights = self._constant(f"{node.input[1]}{transposed}/quantized", values)
        steps = self._constant(f"{node.input[1]}{transposed}/scales", scales)
        out = node.output[0]
        sums = self._add("MatMulInteger", [data, weights, zero_point], [f"{out}/sums"])
        reals = self._add("Cast", [sums], [f"{out}/cast"], to=onnx.TensorProto.FLOAT)
        factors = self._add("Mul", [scale, steps], [f"{out}/factors"])
        bias = node.input[2] if len(node.input) > 2 and node.input[2] else ""
        scaled = self._add("Mul", [reals, factors], [f"{out}/scaled" if bias else out])
        if bias:
            self._add("Add", [scaled, bias], [out])

    def embedding(self, node: Any, table: np.ndarray) -> None:
        """Rows of bytes times their scales."""
        import onnx

        values, scales = _rounded(table.T)
        bytes_ = self._constant(f"{node.input[0]}/quantized", values.T)
        steps = self._constant(f"{node.input[0]}/scales", scales[:, None])
        out = node.output[0]
        rows = self._add("Gather", [bytes_, node.input[1]], [f"{out}/rows"])
        factors = self._add("Gather", [steps, node.input[1]], [f"{out}/factors"])
        reals = self._add("Cast", [rows], [f"{out}/cast"], to=onnx.TensorProto.FLOAT)
        self._add("Mul", [reals, factors], [out])

    def run(self, is_chosen: Callable[[str, str], bool]) -> None:
        constants = {name: array for name, array in self.weights.items() if name not in self.given}
        for node in list(self.graph.node):
            matrix, table = _matrix(node, constants), _table(node, constants)
            is_asked = is_chosen(node.name, node.op_type)
            if matrix is not None and is_asked:
                self.product(node, matrix)
            elif table is not None and is_asked:
                self.embedding(node, table)
            else:
                self.nodes.append(node)
        del self.graph.node[:]
        self.graph.node.extend(self.nodes)
        self._drop_unused()

    def _drop_unused(self) -> None:
        used = (
            {name for node in self.graph.node for name in node.input}
            | {each.name for each in self.graph.output}
            | _captured(self.graph)
        )
        kept = [each for each in self.graph.initializer if each.name in used]
        del self.graph.initializer[:]
        self.graph.initializer.extend(kept)


def _captured(graph: Any) -> set[str]:
    """What the branches and bodies of control flow read."""
    names: set[str] = set()
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else list(attribute.graphs):
                names |= (
                    {name for each in inner.node for name in each.input}
                    | {each.name for each in inner.output}
                    | _captured(inner)
                )
    return names


def written(model: Any, output: str | os.PathLike[str], is_chosen: Callable[[str, str], bool], external: bool) -> None:
    """Writes the model with the products of its graph that are chosen (by name and operator) in 8 bits. Raises
    OSError."""
    import onnx

    proto = _loaded(model)
    opset = next(each for each in proto.opset_import if each.domain in ("", "ai.onnx"))
    if opset.version < 11:  # DynamicQuantizeLinear
        proto = onnx.version_converter.convert_version(proto, 11)
    _Rewriter(proto.graph).run(is_chosen)
    onnx.save_model(proto, os.fspath(output), save_as_external_data=external)
