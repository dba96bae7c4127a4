"""Ctrl-C where it may come: while work is waited for, not between two lines of the journal."""

from __future__ import annotations

import contextlib
import signal
import threading
from types import FrameType
from typing import Any, Iterator


class Interrupts:
    """As a context: SIGINT does what it did before, but not outside of `passing`; until then it waits."""

    def __init__(self) -> None:
        self._before: Any = None
        self._passes = False
        self._waiting = False

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
            self._before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self._waiting and raised[0] is None:
            self._before(signal.SIGINT, None)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._waiting = not self._passes
        if self._passes:
            self._before(number, frame)

    @contextlib.contextmanager
    def passing(self) -> Iterator[None]:
        """Where an exception does no harm."""
        self._passes = True
        try:
            if self._waiting:
                self._take(signal.SIGINT, None)
            yield
        finally:
            self._passes = False
