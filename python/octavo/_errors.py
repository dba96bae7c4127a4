"""What can go wrong, as exceptions of the kinds that Python's own libraries raise."""

from __future__ import annotations

from typing import NamedTuple, Sequence


class Problem(NamedTuple):
    """One thing that is wrong: `where` names file, node or option; `found` and `expected` complete the sentence."""

    kind: str  #: usage, invalid_input, unsupported, resource, cancelled or internal
    where: str
    found: str
    expected: str
    hint: str
    message: str  #: all of it as one sentence

    def __str__(self) -> str:
        return self.message


class OctavoError(Exception):
    """What Octavo raises. `errors` lists every problem that was found, not only the first."""

    kind = "internal"

    def __init__(self, errors: Sequence[Problem]) -> None:
        self.errors: list[Problem] = list(errors)
        super().__init__("\n".join(str(problem) for problem in self.errors))

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.errors)

    def __reduce__(self) -> tuple[type, tuple[list[Problem]]]:
        return type(self), (self.errors,)


class UsageError(OctavoError, ValueError):
    """Something contradictory or absent was asked for: an option, an array of another shape or type."""

    kind = "usage"


class InvalidInputError(OctavoError, ValueError):
    """A model, sample or scale that is broken."""

    kind = "invalid_input"


class UnsupportedError(OctavoError, NotImplementedError):
    """A sound file that needs what Octavo cannot do."""

    kind = "unsupported"


class ResourceError(OctavoError, OSError):
    """What the machine lacks: a file that cannot be read or written, instructions, permission."""

    kind = "resource"


class OutOfMemoryError(ResourceError, MemoryError):
    """More memory is needed than there is or than was allowed."""


class CancelledError(OctavoError, KeyboardInterrupt):
    """A long call was asked to stop."""

    kind = "cancelled"


class InternalError(OctavoError, RuntimeError):
    """A mistake in Octavo: please report it."""


_CLASSES: tuple[type[OctavoError], ...] = (UsageError, InvalidInputError, UnsupportedError, ResourceError, CancelledError, InternalError)


def class_of(problem: Problem) -> type[OctavoError]:
    """The exception of this problem's kind."""
    if problem.kind == "resource" and "memory" in problem.message.lower():
        return OutOfMemoryError
    return next((each for each in _CLASSES if each.kind == problem.kind), InternalError)


def exception_of(problems: Sequence[Sequence[str]]) -> OctavoError:
    """The exception of the first problem's kind, with all of them. Called by the extension."""
    errors = [Problem(*problem) for problem in problems]
    return class_of(errors[0])(errors)


def usage(where: str, found: str, expected: str = "", hint: str = "") -> UsageError:
    """An error of the caller's, in the form of all others."""
    message = f"{where}: found {found}" + (f", expected {expected}" if expected else "") + (f". {hint}" if hint else "")
    return UsageError([Problem("usage", where, found, expected, hint, message)])


def renamed(error: OctavoError, old: str, new: str) -> OctavoError:
    """The same error where a temporary file's name stands for something of the caller's."""
    return type(error)([Problem(problem.kind, *(text.replace(old, new) for text in problem[1:])) for problem in error.errors])
