"""Octavo's errors under the names that code for ONNX Runtime catches: each is both."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Iterator

from .._errors import (
    CancelledError,
    InvalidInputError,
    OctavoError,
    OutOfMemoryError,
    Problem,
    ResourceError,
    UnsupportedError,
    UsageError,
)


class Fail(OctavoError):
    """A run that was told to stop, a resource that the machine lacks."""


class InvalidArgument(UsageError):
    """An input, name or option that does not fit the model."""


class NoSuchFile(ResourceError, FileNotFoundError):
    """The model is not there."""


class InvalidProtobuf(InvalidInputError):
    """The file is no model."""


class InvalidGraph(InvalidInputError):
    """The model is broken."""


class NotImplemented(UnsupportedError):  # noqa: A001
    """The model, or an option, is sound but Octavo cannot do it."""


class RuntimeException(OctavoError, RuntimeError):
    """What went wrong inside a run."""


class NoModel(OctavoError):
    """For `except` clauses: Octavo raises none."""


class ModelLoaded(OctavoError):
    """For `except` clauses: Octavo raises none."""


class NotFound(OctavoError):
    """For `except` clauses: Octavo raises none."""


class EngineError(OctavoError):
    """For `except` clauses: Octavo raises none."""


class EPFail(OctavoError):
    """For `except` clauses: Octavo raises none."""


def problem(kind: type[OctavoError], where: str, found: str, expected: str = "", hint: str = "") -> OctavoError:
    """An error of this class in the form of all others."""
    message = f"{where}: found {found}" + (f", expected {expected}" if expected else "") + (f". {hint}" if hint else "")
    return kind([Problem(kind.kind, where, found, expected, hint, message)])


def _kind_of(error: OctavoError, model: str) -> type[OctavoError]:
    if isinstance(error, UsageError):
        return InvalidArgument
    if isinstance(error, UnsupportedError):
        return NotImplemented
    if isinstance(error, InvalidInputError):
        return InvalidProtobuf if "no known kind" in error.errors[0].found else InvalidGraph
    if isinstance(error, OutOfMemoryError):
        return RuntimeException
    if isinstance(error, ResourceError):
        return NoSuchFile if model and not os.path.exists(model) else Fail
    return RuntimeException


@contextmanager
def as_onnxruntime(model: str = "") -> Iterator[None]:
    """Errors of the block are those of ONNX Runtime's kinds. `model`: the file that it opens."""
    try:
        yield
    except OctavoError as error:
        if type(error).__module__ == __name__:
            raise
        if isinstance(error, CancelledError):
            raise problem(Fail, "run", "RunOptions.terminate set", "a run that may go on") from None
        raise _kind_of(error, model)(error.errors) from None
