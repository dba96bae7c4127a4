"""Writes ONNX files of a few nodes, by the wire format of protocol buffers alone: tests need no other package."""

from __future__ import annotations

from typing import Sequence

import numpy as np

FLOAT, INT64, STRING, BOOL = 1, 7, 8, 9


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        encoded.append(low | (0x80 if value else 0))
        if not value:
            return bytes(encoded)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _block(field: int, value: bytes | str) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def tensor(name: str, array: np.ndarray) -> bytes:
    """TensorProto of f32 or s64."""
    kind = FLOAT if array.dtype == np.float32 else INT64
    return b"".join(_number(1, extent) for extent in array.shape) + _number(2, kind) + _block(8, name) + _block(9, array.tobytes())


def _attribute(name: str, value: int | bytes) -> bytes:
    return _block(1, name) + (_number(3, value) + _number(20, 2) if isinstance(value, int) else _block(6, value) + _number(20, 5))


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: int | bytes) -> bytes:
    """NodeProto with integers or graphs as attributes, named after its output."""
    ends = b"".join(_block(1, each) for each in inputs) + b"".join(_block(2, each) for each in outputs)
    return ends + _block(3, outputs[0] + "_node") + _block(4, op) + b"".join(_block(5, _attribute(*each)) for each in attributes.items())


def _dimension(extent: int | str | None) -> bytes:
    return b"" if extent is None else _block(2, extent) if isinstance(extent, str) else _number(1, extent)


def value(name: str, kind: int, shape: Sequence[int | str | None] | None) -> bytes:
    """ValueInfoProto; text is an open dimension, None one without a name, or no shape."""
    dims = b"" if shape is None else _block(2, b"".join(_block(1, _dimension(extent)) for extent in shape))
    return _block(1, name) + _block(2, _block(1, _number(1, kind) + dims))


def graph(nodes: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes], constants: Sequence[bytes] = ()) -> bytes:
    """GraphProto."""
    content = b"".join(_block(1, each) for each in nodes) + _block(2, "graph") + b"".join(_block(5, each) for each in constants)
    return content + b"".join(_block(11, each) for each in inputs) + b"".join(_block(12, each) for each in outputs)


def model(nodes: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes], constants: Sequence[bytes] = ()) -> bytes:
    """ModelProto of opset 17."""
    return _number(1, 8) + _block(7, graph(nodes, inputs, outputs, constants)) + _block(8, _block(1, "") + _number(2, 17))


def described(model: bytes, text: str, properties: dict[str, str]) -> bytes:
    """A ModelProto that also says what it is."""
    entries = b"".join(_block(14, _block(1, key) + _block(2, value)) for key, value in properties.items())
    return model + _block(2, text) + _block(4, "tests") + _number(5, 3) + _block(6, f"a model of {text}") + entries


def product(width: int, outputs: int, batch: int | str = 1) -> bytes:
    """y = relu(x w)."""
    weights = np.random.default_rng(1).standard_normal((width, outputs)).astype(np.float32)
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Relu", ["h"], ["y"])]
    return model(nodes, [value("x", FLOAT, [batch, width])], [value("y", FLOAT, [batch, outputs])], [tensor("w", weights)])


def two_products(width: int, inner: int, outputs: int, batch: int | str) -> bytes:
    """y = relu(x v) w."""
    random = np.random.default_rng(1)
    weights = [random.standard_normal(shape).astype(np.float32) for shape in ((width, inner), (inner, outputs))]
    nodes = [node("MatMul", ["x", "v"], ["h"]), node("Relu", ["h"], ["r"]), node("MatMul", ["r", "w"], ["y"])]
    constants = [tensor(name, array) for name, array in zip("vw", weights)]
    return model(nodes, [value("x", FLOAT, [batch, width])], [value("y", FLOAT, [batch, outputs])], constants)


def sum_and_difference() -> bytes:
    """s = a + b, d = a - b, of f32 [2, 3]."""
    nodes = [node("Add", ["a", "b"], ["s"]), node("Sub", ["a", "b"], ["d"])]
    shape = [2, 3]
    return model(nodes, [value("a", FLOAT, shape), value("b", FLOAT, shape)], [value("s", FLOAT, shape), value("d", FLOAT, shape)])


def nonzero() -> bytes:
    """i = the places of x that are not 0: as many as there are."""
    return model([node("NonZero", ["x"], ["i"])], [value("x", FLOAT, [4, 4])], [value("i", INT64, [2, "found"])])


def nonzero_rows(rows: int = 4) -> bytes:
    """i = the places of x that are not 0, each a row."""
    nodes = [node("NonZero", ["x"], ["columns"]), node("Transpose", ["columns"], ["i"])]
    return model(nodes, [value("x", FLOAT, [rows, 4])], [value("i", INT64, ["found", 2])])


def loop(with_text: bool = False) -> bytes:
    """y = x plus 1, as often as `trips` says; `with_text`: and u = t, a string, which Octavo does not read."""
    nodes = [node("Identity", ["go"], ["go2"]), node("Add", ["sum", "one"], ["more"])]
    inputs = [value("i", INT64, []), value("go", BOOL, []), value("sum", FLOAT, [4])]
    body = graph(nodes, inputs, [value("go2", BOOL, []), value("more", FLOAT, [4])], [tensor("one", np.ones(1, np.float32))])
    nodes, inputs, outputs = [node("Loop", ["trips", "", "x"], ["y"], body=body)], [value("x", FLOAT, [4]), value("trips", INT64, [])], [value("y", FLOAT, [4])]
    if with_text:
        nodes, inputs, outputs = [*nodes, node("Identity", ["t"], ["u"])], [*inputs, value("t", STRING, [1])], [*outputs, value("u", STRING, [1])]
    return model(nodes, inputs, outputs)


def tokens() -> bytes:
    """y = rows of a table by ids, times a matrix: f32 [n, s, 32]."""
    random = np.random.default_rng(3)
    constants = [tensor(name, random.standard_normal(shape).astype(np.float32)) for name, shape in (("t", (50, 64)), ("w", (64, 32)))]
    nodes = [node("Gather", ["t", "ids"], ["h"]), node("MatMul", ["h", "w"], ["y"])]
    return model(nodes, [value("ids", INT64, ["n", "s"])], [value("y", FLOAT, ["n", "s", 32])], constants)


def pictures() -> bytes:
    """y = the means of two convolutions of x, f32 [n, 3, h, w] -> [n, 5], of any size."""
    random = np.random.default_rng(7)
    constants = [tensor(name, random.standard_normal(shape).astype(np.float32) * 0.3) for name, shape in (("v", (8, 3, 3, 3)), ("w", (5, 8, 3, 3)))]
    nodes = [
        node("Conv", ["x", "v"], ["a"]),
        node("Relu", ["a"], ["b"]),
        node("Conv", ["b", "w"], ["c"]),
        node("GlobalAveragePool", ["c"], ["d"]),
        node("Flatten", ["d"], ["y"]),
    ]
    return model(nodes, [value("x", FLOAT, ["n", 3, "h", "w"])], [value("y", FLOAT, ["n", 5])], constants)
