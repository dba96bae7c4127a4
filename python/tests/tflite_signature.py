"""Gives a TFLite file a signature, by the format of FlatBuffers alone: tests need no other package.

A new root lies before the old file and refers to its parts; offsets go forward only, so that these stay as they are."""

from __future__ import annotations

import struct
from typing import Mapping

Piece = tuple[bytes, dict[int, str]]  # bytes, and at which places of them an offset to which piece belongs


def _table(numbers: Mapping[int, int], references: Mapping[int, str]) -> Piece:
    """Fields of four bytes by their number in the schema, behind their own vtable."""
    fields = sorted([*numbers, *references])
    size = 4 + 2 * (fields[-1] + 1)
    room = (size + 3) // 4 * 4
    entries = [4 + 4 * fields.index(each) if each in fields else 0 for each in range(fields[-1] + 1)]
    vtable = struct.pack(f"<HH{len(entries)}H", size, 4 + 4 * len(fields), *entries).ljust(room, b"\0")
    values = b"".join(struct.pack("<I", numbers.get(each, 0)) for each in fields)
    places = {room + 4 + 4 * fields.index(each): name for each, name in references.items()}
    return vtable + struct.pack("<i", room) + values, places


def _vector(names: list[str]) -> Piece:
    return struct.pack("<I", len(names)) + bytes(4 * len(names)), {4 + 4 * i: name for i, name in enumerate(names)}


def _text(text: str) -> Piece:
    content = struct.pack("<I", len(text)) + text.encode() + b"\0"
    return content.ljust((len(content) + 3) // 4 * 4, b"\0"), {}


def _maps(pieces: dict[str, Piece], side: str, tensors: Mapping[str, int]) -> None:
    pieces[side] = _vector([f"{side}.{name}" for name in tensors])
    for name, index in tensors.items():
        pieces[f"{side}.{name}"] = _table({1: index}, {0: f"{side}.{name}.text"})
        pieces[f"{side}.{name}.text"] = _text(name)


def _old_parts(file: bytes) -> dict[int, int]:
    """Where the root's vectors are: operator codes, subgraphs, buffers."""
    (root,) = struct.unpack_from("<I", file, 0)
    vtable = root - struct.unpack_from("<i", file, root)[0]
    found = {}
    for field in (1, 2, 4):
        at = root + struct.unpack_from("<H", file, vtable + 4 + 2 * field)[0]
        found[field] = at + struct.unpack_from("<I", file, at)[0]
    return found


def with_signature(file: bytes, key: str, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> bytes:
    """The file with one signature over the tensors of subgraph 0."""
    pieces = {
        "model": _table({0: 3}, {1: "old 1", 2: "old 2", 4: "old 4", 7: "signatures"}),
        "signatures": _vector(["signature"]),
    }
    pieces["signature"] = _table({4: 0}, {0: "inputs", 1: "outputs", 2: "key"})
    pieces["key"] = _text(key)
    _maps(pieces, "inputs", inputs)
    _maps(pieces, "outputs", outputs)
    starts, at = {}, 8
    for name, (content, _) in pieces.items():
        starts[name], at = at, at + len(content)
    shift = (at + 15) // 16 * 16
    # A table is referred to by the place behind its vtable.
    targets = {name: starts[name] + _behind_vtable(content, places) for name, (content, places) in pieces.items()}
    targets |= {f"old {field}": shift + old for field, old in _old_parts(file).items()}
    made = bytearray(struct.pack("<I", targets["model"]) + b"TFL3")
    for name, (content, places) in pieces.items():
        piece = bytearray(content)
        for place, target in places.items():
            struct.pack_into("<I", piece, place, targets[target] - starts[name] - place)
        made += piece
    return bytes(made).ljust(shift, b"\0") + file


def _behind_vtable(content: bytes, places: dict[int, str]) -> int:
    """0 for vectors and texts, whose first number is a count."""
    size = struct.unpack_from("<H", content, 0)[0]
    room = (size + 3) // 4 * 4
    is_table = (
        len(content) >= room + 4 and size >= 6 and struct.unpack_from("<i", content, room)[0] == room and bool(places)
    )
    return room if is_table else 0
