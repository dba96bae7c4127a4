"""Keyword arguments as options of the command line: same names (with `_` for `-`), same words, same defaults."""

from __future__ import annotations

import os
from typing import Any, Iterable, Mapping, Sequence, TypedDict, Union

PathLike = Union[str, "os.PathLike[str]"]
Extent = Union[int, "tuple[int, int]", "tuple[int, int, int]"]
Shape = Sequence[Extent]


class QuantizeOptions(TypedDict, total=False):
    """How an fp32 file becomes int8; docs/cli.md, Quantizing, tells what each means."""

    calibration: str
    corrections: str | Sequence[str]
    output_sqnr: float
    weights: str
    placement: str
    activations: str
    skip: str | Sequence[str]
    global_scale: float
    scales: PathLike
    shape: str | Mapping[str, Shape | Sequence[Shape]]
    preprocess: str
    integer_only: bool


class CompileOptions(QuantizeOptions, total=False):
    """What `octavo compile` takes; docs/cli.md, Compiling."""

    samples: int
    target: str
    batch: int | Sequence[int]
    rounding: str
    batch_order: str
    input_type: str
    output_type: str
    tune: str
    tuning_log: PathLike
    foreign_log: bool
    allow_reference: bool
    allow_host: bool
    seconds: float
    unquantized: str


def _extent(extent: Extent) -> str:
    if isinstance(extent, (tuple, list)):
        return f"{extent[0]}..{extent[1]}" + (f"/{extent[2]}" if len(extent) > 2 else "")
    return str(int(extent))


def _shape(shape: Any) -> str:
    return "x".join(_extent(extent) for extent in shape)


def _shapes(value: Any) -> list[str]:
    """One word for each input: a shape, or several with `;`. Of a list of lists each is a shape; tuples inside a shape are ranges."""
    if isinstance(value, str):
        return [value]
    words = []
    for name, shapes in value.items():
        several = bool(shapes) and all(isinstance(each, (list, tuple)) for each in shapes) and not all(isinstance(each, tuple) and len(each) in (2, 3) for each in shapes)
        words.append(f"{name}=" + (";".join(_shape(each) for each in shapes) if several else _shape(shapes)))
    return words


def _text(value: Any) -> str:
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, (list, tuple)):
        return ",".join(_text(each) for each in value)
    return str(value)


def words_of(options: Mapping[str, Any]) -> list[str]:
    """`{"batch": [1, 8], "integer_only": True, "calibrate": None}` as `["--batch=1,8", "--integer-only"]`."""
    words: list[str] = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif name == "shape":
            words += [f"{option}={shape}" for shape in _shapes(value)]
        else:
            words.append(f"{option}={_text(value)}")
    return words


def is_path(value: object) -> bool:
    """Whether samples or a model are told by a name on disk."""
    return isinstance(value, (str, os.PathLike))


def joined(*groups: Iterable[str]) -> list[str]:
    """All words of all groups."""
    return [word for group in groups for word in group]
