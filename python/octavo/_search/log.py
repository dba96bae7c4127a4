"""Appends to a log of measurements (docs/cli.md), as the program does: whole lines, under its lock."""

from __future__ import annotations

import fcntl
import json
import os
from typing import IO, Mapping

from .._errors import InvalidInputError, Problem
from .._words import PathLike

HEAD = '{"format": "octavo measurements 2"}'


def line_of(machine: str, subject: str, variant: str, values: Mapping[str, float]) -> str:
    """Of one measurement. Values are finite and at least 0."""
    return json.dumps({"machine": machine, "subject": subject, "variant": variant, "values": values})


def _drop_torn_line(file: IO[bytes]) -> None:
    """What an interrupted writer left behind the last whole line."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        file.seek(end - 1)
        if file.read(1) == b"\n":
            break
        end -= 1
    file.truncate(end)


def lines_of(path: PathLike) -> list[str]:
    """The whole lines of a log but its first; none where there is no file."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().split("\n")[1:-1]


def append(path: PathLike, lines: list[str]) -> None:
    """Lines, on disk when this returns; the file begins with the head of a log. Raises OSError, and InvalidInputError
    where it is another file."""
    with open(path, "ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        first = file.readline().decode(errors="replace")
        if not f"{HEAD}\n".startswith(first):
            text = f"{os.fspath(path)}: found something else, expected a log of measurements: {HEAD} and lines"
            raise InvalidInputError(
                [Problem("invalid_input", os.fspath(path), "something else", "a log of measurements", "", text)]
            )
        _drop_torn_line(file)
        whole = ([] if file.seek(0, os.SEEK_END) else [HEAD]) + lines
        file.write("".join(f"{line}\n" for line in whole).encode())
        file.flush()
        os.fsync(file.fileno())
