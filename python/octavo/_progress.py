"""What long calls say while they work: a bar of tqdm where that is installed, else one line on a terminal."""

from __future__ import annotations

import sys
from typing import Any, Callable, Union

ProgressFunction = Callable[[str, int, int], None]
Progress = Union[bool, None, ProgressFunction]


class _TqdmBars:
    """A bar for each phase."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._phase = ""
        self._bar: Any = None

    def __call__(self, phase: str, done: int, total: int) -> None:
        if phase != self._phase or self._bar is None:
            self.close()
            self._phase = phase
            self._bar = self._tqdm(total=total or None, desc=phase, leave=False)
        self._bar.n = done
        self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class _Line:
    """The same without tqdm."""

    def __call__(self, phase: str, done: int, total: int) -> None:
        sys.stderr.write(f"\r{phase} {done}" + (f" of {total}" if total else "") + "\x1b[K")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _in_notebook() -> bool:
    return "ipykernel" in sys.modules


def shown(progress: Progress) -> Any:
    """A function of (phase, done, total) with `close()`, or None. `progress`: None shows on a terminal and in a notebook, True
    everywhere, False nowhere; a function of the caller's is called instead."""
    if callable(progress):
        return _Told(progress)
    if progress is False or (progress is None and not (sys.stderr is not None and sys.stderr.isatty()) and not _in_notebook()):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return _TqdmBars(tqdm)


class _Told:
    """The caller's own."""

    def __init__(self, function: ProgressFunction) -> None:
        self._function = function

    def __call__(self, phase: str, done: int, total: int) -> None:
        self._function(phase, done, total)

    def close(self) -> None:
        pass
