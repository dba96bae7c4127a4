"""Samples of any iterable, read once, one after the other, into a temporary file that calibration reads as often as it needs.

It costs the samples' size on disk (in `tempfile.gettempdir()`) while the call runs, and memory for one item."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from contextlib import contextmanager
from typing import Any, Iterable, Iterator, NamedTuple, Sequence

import numpy as np

from ._errors import OctavoError, renamed, usage

_HEADER_BYTES = 256


class Input(NamedTuple):
    """An input as a sample has it, with a batch of 1 in front; `is_open`: samples may have several shapes, whatever the batch."""

    name: str
    dtype: str
    shape: list[int]
    is_open: bool = False


def as_numpy(array: Any) -> np.ndarray:
    """The same memory where it can be: numpy, torch (also with gradients, or on another device), DLPack, nested lists."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
    return np.asarray(array)


class _Column:
    """A growing .npy of equal samples."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.file = open(path, "wb")
        self.file.write(b"\0" * _HEADER_BYTES)
        self.dtype: np.dtype | None = None
        self.shape: tuple[int, ...] = ()
        self.count = 0

    def takes(self, rows: np.ndarray) -> bool:
        return self.dtype is None or (rows.dtype, rows.shape[1:]) == (self.dtype, self.shape)

    def append(self, rows: np.ndarray, where: str) -> None:
        if self.dtype is None:
            self.dtype, self.shape = rows.dtype, rows.shape[1:]
        if not self.takes(rows):
            raise usage(where, f"{rows.dtype}{list(rows.shape[1:])}", f"{self.dtype}{list(self.shape)}, as the first sample")
        self.file.write(np.ascontiguousarray(rows).data)
        self.count += len(rows)

    def close(self) -> None:
        if self.file.closed:
            return
        if self.dtype is not None:
            text = repr({"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.count, *self.shape)})
            header = text.encode("latin1").ljust(_HEADER_BYTES - 11) + b"\n"
            self.file.seek(0)
            self.file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        self.file.close()


def arrays_of(item: Any, inputs: Sequence[Input], where: str) -> list[np.ndarray]:
    """One array for each input: of a mapping by name, of a tuple in order. What stands behind them (labels of a DataLoader) is left out."""
    if isinstance(item, dict) or hasattr(item, "keys"):
        missing = [each.name for each in inputs if each.name not in item]
        if missing:
            raise usage(where, f"no array for input '{missing[0]}'", f"one for each of {', '.join(each.name for each in inputs)}")
        return [as_numpy(item[each.name]) for each in inputs]
    if not isinstance(item, (tuple, list)):
        item = (item,)
    if len(item) < len(inputs):
        raise usage(where, f"{len(item)} arrays", f"{len(inputs)}: {', '.join(each.name for each in inputs)}")
    return [as_numpy(each) for each in item[: len(inputs)]]


def rows_of(array: np.ndarray, spec: Input, where: str) -> np.ndarray:
    """With a leading axis of samples: a sample may come without one, a batch has several."""
    if array.dtype == object:
        raise usage(f"{where}, input '{spec.name}'", "an array of Python objects", f"one of {spec.dtype}")
    if array.ndim == len(spec.shape) - 1:
        return array[None]
    if array.ndim == len(spec.shape):
        return array
    raise usage(f"{where}, input '{spec.name}'", f"shape {list(array.shape)}", f"{spec.shape[1:]}, or a batch of such")


def _of_each_row(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """What an item has once beside batches of several, such as a decoder's switch, is that of each of their rows."""
    rows = next((len(array) for array in arrays if len(array) != 1), 1)
    return [np.broadcast_to(array, (rows, *array.shape[1:])) if len(array) == 1 else array for array in arrays]


def _takes_tokens(inputs: Sequence[Input]) -> bool:
    """Sentences of any length: each item stays a file of its own."""
    return all("int" in each.dtype and len(each.shape) == 2 and each.shape == inputs[0].shape for each in inputs)


def _member(name: str) -> zipfile.ZipInfo:
    """Without the time of day, so that equal samples are equal bytes, which the cache counts on."""
    return zipfile.ZipInfo(f"{name}.npy")


class _Table:
    """A column for each name, of the same number of samples."""

    def __init__(self, folder: str, names: Sequence[str]) -> None:
        self.columns = {name: _Column(os.path.join(folder, f"{i}.npy")) for i, name in enumerate(names)}

    def takes(self, arrays: Sequence[np.ndarray]) -> bool:
        return all(column.takes(rows) for column, rows in zip(self.columns.values(), arrays))

    def append(self, arrays: Sequence[np.ndarray], where: str) -> None:
        for (name, column), rows in zip(self.columns.items(), arrays):
            column.append(rows, f"{where}, '{name}'")

    def close(self) -> None:
        for column in self.columns.values():
            column.close()

    def packed(self, path: str) -> str:
        """Closed, and moved into an .npz."""
        self.close()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, column in self.columns.items():
                with open(column.path, "rb") as file, archive.open(_member(name), "w", force_zip64=True) as member:
                    shutil.copyfileobj(file, member)
                os.remove(column.path)
        return path


def _spool_tables(items: Iterator[Any], inputs: Sequence[Input], limit: int | None, folder: str, labels: bool) -> str:
    """One file where all samples have one shape; else, of inputs that are open, a folder with a file for each run of equal ones."""
    names = [each.name for each in inputs] + (["labels"] if labels else [])
    table, count, files = _Table(folder, names), 0, 0
    try:
        for index, item in enumerate(items):
            where = f"sample {index}"
            arrays = _of_each_row([rows_of(array, spec, where) for array, spec in zip(arrays_of(item, inputs, where), inputs)])
            if labels:
                arrays.append(np.atleast_1d(as_numpy(item[len(inputs)])).astype(np.int64))
            if limit is not None:
                arrays = [array[: limit - count] for array in arrays]
            if not table.takes(arrays) and any(each.is_open for each in inputs):
                table.packed(os.path.join(folder, f"{files:08}.npz"))
                table, files = _Table(folder, names), files + 1
            table.append(arrays, where)
            count += len(arrays[0])
            if limit is not None and count >= limit:
                break
    finally:
        table.close()
    if count == 0:
        raise usage("samples", "none", "at least one")
    if files > 0:
        table.packed(os.path.join(folder, f"{files:08}.npz"))
        return folder
    if len(names) == 1:
        return table.columns[names[0]].path
    return table.packed(os.path.join(folder, "samples.npz"))


def _save_npz(path: str, arrays: dict[str, np.ndarray]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(_member(name), "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _spool_sentences(items: Iterator[Any], inputs: Sequence[Input], limit: int | None, folder: str) -> str:
    rows = 0
    for index, item in enumerate(items):
        where = f"sample {index}"
        arrays = {spec.name: rows_of(array, spec, where) for array, spec in zip(arrays_of(item, inputs, where), inputs)}
        if limit is not None:
            arrays = {name: array[: limit - rows] for name, array in arrays.items()}
        _save_npz(os.path.join(folder, f"{index:08}.npz"), arrays)
        rows += len(next(iter(arrays.values())))
        if limit is not None and rows >= limit:
            break
    if rows == 0:
        raise usage("samples", "none", "at least one")
    return folder


@contextmanager
def spooled(samples: Iterable[Any], inputs: Sequence[Input], limit: int | None = None, labels: bool = False) -> Iterator[str]:
    """A path for `--calibrate` (with `labels`: for `--images`) that lasts for the block. At most `limit` samples are taken, and no
    more items than that needs. What the iterable raises comes out; a sample that does not fit is a UsageError that names it."""
    with tempfile.TemporaryDirectory(prefix="octavo-samples-") as folder:
        items = iter(samples)
        sentences = not labels and _takes_tokens(inputs)
        path = _spool_sentences(items, inputs, limit, folder) if sentences else _spool_tables(items, inputs, limit, folder, labels)
        try:
            yield path
        except OctavoError as error:
            raise renamed(renamed(error, path, "samples"), folder, "samples") from None
