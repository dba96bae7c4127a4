"""What a TFLite file says of its tensors, constants and signatures, read by the format of FlatBuffers: it costs no
package.

For files that were compiled: of those the library has checked that their parts refer to each other within bounds."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

#: TensorType of the schema as numpy's, as LiteRT tells them; 4-bit integers have no such type.
DTYPES: dict[int, Any] = {
    0: np.float32,
    1: np.float16,
    2: np.int32,
    3: np.uint8,
    4: np.int64,
    5: np.bytes_,
    6: np.bool_,
    7: np.int16,
    8: np.complex64,
    9: np.int8,
    10: np.float64,
    11: np.complex128,
    12: np.uint64,
    13: np.object_,
    14: np.object_,
    15: np.uint32,
    16: np.uint16,
}


class Tensor(NamedTuple):
    """`signature` has -1 where a dimension is open, and is None where the file has none. `sparsity` are LiteRT's
    parameters of a sparse constant, `data` a constant's bytes; both are empty elsewhere. In a variable an operator keeps
    what it knows."""

    name: str
    dtype: Any
    shape: np.ndarray
    signature: np.ndarray | None
    scales: np.ndarray
    zero_points: np.ndarray
    quantized_dimension: int
    sparsity: dict[str, Any]
    data: memoryview
    is_variable: bool


class Subgraph(NamedTuple):
    """Tensors by index; inputs and outputs are indices."""

    tensors: list[Tensor]
    inputs: list[int]
    outputs: list[int]


class Signature(NamedTuple):
    """Tensors of a subgraph by the names of a function's arguments and results, in the file's order."""

    subgraph: int
    inputs: dict[str, int]
    outputs: dict[str, int]


class TfliteFile(NamedTuple):
    """Of a model all but operators."""

    subgraphs: list[Subgraph]
    signatures: dict[str, Signature]


class _Table:
    """A table of a FlatBuffer: fields by their number in the schema."""

    def __init__(self, data: memoryview, at: int) -> None:
        self.data = data
        self.at = at
        self.vtable = at - self._read("i", at)
        self.size = self._read("H", self.vtable)

    def _read(self, kind: str, at: int) -> Any:
        return struct.unpack_from("<" + kind, self.data, at)[0]

    def _field(self, number: int) -> int:
        entry = 4 + 2 * number
        offset = self._read("H", self.vtable + entry) if entry < self.size else 0
        return self.at + offset if offset else 0

    def number(self, number: int, kind: str, default: int = 0) -> int:
        at = self._field(number)
        return int(self._read(kind, at)) if at else default

    def _vector(self, number: int) -> tuple[int, int]:
        """Where the elements begin, and how many there are."""
        at = self._field(number)
        if not at:
            return 0, 0
        at += self._read("I", at)
        return at + 4, self._read("I", at)

    def array(self, number: int, dtype: Any) -> np.ndarray:
        at, count = self._vector(number)
        return np.frombuffer(self.data, np.dtype(dtype), count, at).copy() if count else np.zeros(0, dtype)

    def block(self, number: int) -> memoryview:
        at, count = self._vector(number)
        return self.data[at : at + count]

    def text(self, number: int) -> str:
        return bytes(self.block(number)).decode("utf-8", "replace")

    def table(self, number: int) -> _Table | None:
        at = self._field(number)
        return _Table(self.data, at + self._read("I", at)) if at else None

    def tables(self, number: int) -> list[_Table]:
        at, count = self._vector(number)
        return [_Table(self.data, at + 4 * i + self._read("I", at + 4 * i)) for i in range(count)]


def _constant(buffer: _Table) -> memoryview:
    """Inside the table or, in large files, behind all tables."""
    offset, size = buffer.number(1, "Q"), buffer.number(2, "Q")
    return buffer.data[offset : offset + size] if offset > 1 else buffer.block(0)


def _indices(table: _Table, number: int) -> np.ndarray:
    """Of a union of vectors of s32, u16 and u8."""
    held = table.table(number + 1)
    kind = {1: np.int32, 2: np.uint16, 3: np.uint8}.get(table.number(number, "B"), np.int32)
    return (held.array(0, kind) if held else np.zeros(0)).astype(np.int32)


def _sparsity(table: _Table | None) -> dict[str, Any]:
    if table is None:
        return {}
    dims: list[dict[str, Any]] = []
    for each in table.tables(2):
        is_sparse = each.number(0, "b") == 1
        told = (
            {"array_segments": _indices(each, 2), "array_indices": _indices(each, 4)}
            if is_sparse
            else {"dense_size": each.number(1, "i")}
        )
        dims.append({"format": int(is_sparse), **told})
    return {"traversal_order": table.array(0, np.int32), "block_map": table.array(1, np.int32), "dim_metadata": dims}


def _tensor(table: _Table, buffers: list[_Table]) -> Tensor:
    signature = table.array(7, np.int32)
    quantized = table.table(4)
    none = np.zeros(0, np.int64)
    buffer = table.number(2, "I")
    return Tensor(
        name=table.text(3),
        dtype=DTYPES.get(table.number(1, "b")),
        shape=table.array(0, np.int32),
        signature=signature if len(signature) else None,
        scales=quantized.array(2, np.float32) if quantized else none.astype(np.float32),
        zero_points=(quantized.array(3, np.int64) if quantized else none).astype(np.int32),
        quantized_dimension=quantized.number(6, "i") if quantized else 0,
        sparsity=_sparsity(table.table(6)),
        data=_constant(buffers[buffer]) if 0 < buffer < len(buffers) else memoryview(b""),
        is_variable=bool(table.number(5, "b")),
    )


def _subgraph(table: _Table, buffers: list[_Table]) -> Subgraph:
    tensors = [_tensor(each, buffers) for each in table.tables(0)]
    return Subgraph(tensors, table.array(1, np.int32).tolist(), table.array(2, np.int32).tolist())


def _names(tables: list[_Table]) -> dict[str, int]:
    return {each.text(0): each.number(1, "I") for each in tables}


def is_tflite(content: bytes | bytearray | memoryview) -> bool:
    """Whether the bytes begin as a TFLite file of version 3."""
    return bytes(memoryview(content).cast("B")[4:8]) == b"TFL3"


def read(content: bytes | bytearray | memoryview) -> TfliteFile | None:
    """None where the bytes are no TFLite file."""
    if not is_tflite(content):
        return None
    data = memoryview(content).cast("B")
    try:
        model = _Table(data, struct.unpack_from("<I", data, 0)[0])
        buffers = model.tables(4)
        signatures = {
            each.text(2): Signature(each.number(4, "I"), _names(each.tables(0)), _names(each.tables(1)))
            for each in model.tables(7)
        }
        return TfliteFile([_subgraph(each, buffers) for each in model.tables(2)], signatures)
    except (struct.error, ValueError, IndexError):
        return None
