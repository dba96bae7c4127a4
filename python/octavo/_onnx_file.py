"""What an ONNX file says of itself and its ends, read by the wire format of protocol buffers: it costs no package,
and weights stay where they are."""

from __future__ import annotations

import mmap
from contextlib import contextmanager
from typing import Iterator, NamedTuple, Union

from ._sources import Source

Field = Union[int, memoryview]
Extent = Union[int, str, None]  # None: open and without a name

#: TensorProto.DataType as onnx and ONNX Runtime write it in types.
ELEMENT_NAMES = {
    1: "float",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "string",
    9: "bool",
    10: "float16",
    11: "double",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
    17: "float8e4m3fn",
    18: "float8e4m3fnuz",
    19: "float8e5m2",
    20: "float8e5m2fnuz",
    21: "uint4",
    22: "int4",
}


class Value(NamedTuple):
    """An input or output: its type as in `tensor(float)`; `shape` is None where the file does not say it."""

    name: str
    type: str
    shape: tuple[Extent, ...] | None
    denotations: tuple[str, ...] = ()  #: of each dimension, as "DATA_BATCH"


class OnnxFile(NamedTuple):
    """Of a ModelProto all but nodes and weights. `inputs` are those that a caller gives; `overridable` have an
    initializer, too."""

    inputs: list[Value]
    outputs: list[Value]
    overridable: list[Value]
    texts: dict[str, str]  #: producer_name, domain, description, graph_name, graph_description
    model_version: int
    metadata: dict[str, str]


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: memoryview) -> Iterator[tuple[int, Field]]:
    """Number and value of each field: blocks as views of the data, fixed-width ones as such of 4 or 8 bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == 2:
            size, at = _varint(data, at)
        else:
            size = {1: 8, 5: 4}[kind]
        yield key >> 3, data[at : at + size]
        at += size


def _block(field: Field) -> memoryview:
    if isinstance(field, int):
        raise ValueError("a number where a block belongs")
    return field


def _text(field: Field) -> str:
    return bytes(_block(field)).decode("utf-8", "replace")


def _first(data: memoryview, number: int) -> Field | None:
    return next((value for each, value in _fields(data) if each == number), None)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _dimension(data: memoryview) -> tuple[Extent, str]:
    extent: Extent = None
    denotation = ""
    for number, value in _fields(data):
        if number == 1 and isinstance(value, int):
            extent = _signed(value)
        elif number == 2:
            extent = _text(value) or None
        elif number == 3:
            denotation = _text(value)
    return (None if isinstance(extent, int) and extent < 0 else extent), denotation


def _type(data: memoryview) -> tuple[str, list[tuple[Extent, str]] | None]:
    """Of a TypeProto: as in `seq(tensor(float))`, and of a tensor its dimensions."""
    for number, value in _fields(data):
        if number in (1, 8):  # tensor, sparse tensor
            fields = dict(_fields(_block(value)))
            element = fields.get(1, 0)
            dims = (
                [_dimension(_block(dim)) for each, dim in _fields(_block(fields[2])) if each == 1]
                if 2 in fields
                else None
            )
            name = ELEMENT_NAMES.get(element if isinstance(element, int) else 0, "undefined")
            return ("tensor" if number == 1 else "sparse_tensor") + f"({name})", dims
        if number in (4, 9):  # sequence, optional
            inner = _first(_block(value), 1)
            return (
                "seq" if number == 4 else "optional"
            ) + f"({_type(_block(inner))[0] if inner is not None else ''})", None
        if number == 5:
            fields = dict(_fields(_block(value)))
            key = fields.get(1, 0)
            name = ELEMENT_NAMES.get(key if isinstance(key, int) else 0, "undefined")
            return f"map({name},{_type(_block(fields[2]))[0]})", None
    return "undefined", None


def _value(data: memoryview) -> Value:
    fields = dict(_fields(data))
    name = _text(fields[1]) if 1 in fields else ""
    kind, dims = _type(_block(fields[2])) if 2 in fields else ("undefined", None)
    if dims is None:
        return Value(name, kind, None)
    return Value(name, kind, tuple(extent for extent, _ in dims), tuple(denotation for _, denotation in dims))


def _initializer_names(graph: memoryview) -> set[str]:
    names = set()
    for number, value in _fields(graph):
        tensor = value if number == 5 else _first(_block(value), 1) if number == 15 else None
        name = _first(_block(tensor), 8) if tensor is not None else None
        if name is not None:
            names.add(_text(name))
    return names


def _texts(fields: dict[int, Field], names: dict[int, str]) -> dict[str, str]:
    return {name: _text(fields[number]) if number in fields else "" for number, name in names.items()}


def _entry(data: memoryview) -> tuple[str, str]:
    fields = dict(_fields(data))
    return tuple(_text(fields[number]) if number in fields else "" for number in (1, 2))  # type: ignore[return-value]


def _number(fields: dict[int, Field], number: int, default: int) -> int:
    value = fields.get(number, default)
    return value if isinstance(value, int) else default


def _parsed(data: memoryview) -> OnnxFile:
    fields = dict(_fields(data))
    graph = _block(fields[7])
    parts = dict(_fields(graph))
    given = [_value(_block(value)) for number, value in _fields(graph) if number == 11]
    initializers = _initializer_names(graph)
    overridable = [each for each in given if each.name in initializers] if _number(fields, 1, 0) >= 4 else []
    return OnnxFile(
        inputs=[each for each in given if each.name not in initializers],
        outputs=[_value(_block(value)) for number, value in _fields(graph) if number == 12],
        overridable=overridable,
        texts=_texts(fields, {2: "producer_name", 4: "domain", 6: "description"})
        | _texts(parts, {2: "graph_name", 10: "graph_description"}),
        model_version=_signed(_number(fields, 5, (1 << 63) - 1)),
        metadata=dict(_entry(_block(value)) for number, value in _fields(data) if number == 14),
    )


@contextmanager
def _opened(source: Source) -> Iterator[memoryview]:
    if source.content is not None:
        yield memoryview(source.content).cast("B")
        return
    with open(source.name, "rb") as file:
        yield memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def read(source: Source) -> OnnxFile | None:
    """Of what `source` holds; None where that is no ONNX file. Raises OSError."""
    try:
        with _opened(source) as data:
            return _parsed(data)
    except (ValueError, KeyError, IndexError, RecursionError):
        return None


class Node(NamedTuple):
    """`key` is what it is called by: its name, else that of its first output."""

    name: str
    key: str
    op: str


def nodes(source: Source) -> list[Node]:
    """Of the file's graph, in its order. Raises OSError, ValueError."""
    found = []
    with _opened(source) as data:
        for number, value in _fields(_block(_first(data, 7) or memoryview(b""))):
            if number == 1:
                fields = dict(reversed(list(_fields(_block(value)))))  # of repeated ones the first
                name = _text(fields[3]) if 3 in fields else ""
                found.append(Node(name, name or _text(fields[2]), _text(fields[4])))
    return found
