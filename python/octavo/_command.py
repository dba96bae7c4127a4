"""The packaged program: the `octavo` command, and verbs of it for Python."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from typing import Any, NoReturn, Sequence

from ._errors import Problem, class_of
from ._progress import Progress, shown

#: Of errors, by exit code.
KINDS = {2: "usage", 3: "invalid_input", 4: "unsupported", 5: "resource", 130: "cancelled"}
_PROGRESS = re.compile(r"^(?P<what>[^:]+): (?P<percent>\d+) %")


def program() -> str:
    """Where it lies."""
    return os.path.join(os.path.dirname(__file__), "bin", "octavo")


def main() -> NoReturn:
    """The `octavo` command; `diagnose --measure` is Python's, since engines are its packages."""
    if sys.argv[1:2] == ["diagnose"] and "--measure" in sys.argv:
        from ._diagnose import main as measure

        raise SystemExit(measure(sys.argv[2:]))
    os.execv(program(), ["octavo", *sys.argv[1:]])


class Finished:
    """How a command ended: exit code 0 or 1, and what it printed."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        self.text = text


class _Listener(threading.Thread):
    """Reads standard error: errors are kept, warnings told, progress shown."""

    def __init__(self, stream: Any, progress: Progress) -> None:
        super().__init__(daemon=True)
        self.errors: list[str] = []
        self._stream = stream
        self._shown = shown(progress)
        self.start()

    def run(self) -> None:
        for line in self._stream:
            self._take(line.rstrip("\n"))
        if self._shown is not None:
            self._shown.close()

    def _take(self, line: str) -> None:
        found = _PROGRESS.match(line)
        if line.startswith("octavo: warning: "):
            sys.stderr.write(line + "\n")
        elif line.startswith("octavo: "):
            self.errors.append(line[len("octavo: ") :])
        elif found is None:
            self.errors.append(line)
        elif self._shown is not None:
            self._shown(found["what"], int(found["percent"]), 100)


def run(words: Sequence[str], progress: Progress = None) -> Finished:
    """Runs `octavo WORDS...` in a process of its own. Exit codes above 1 are the exceptions of their kinds, with every message. Ctrl-C
    ends it as it would end the command: nothing half-written stays."""
    with subprocess.Popen([program(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        listener = _Listener(process.stderr, progress)
        try:
            assert process.stdout is not None
            text = process.stdout.read()
            code = process.wait()
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
        listener.join()
    if code in (0, 1):
        return Finished(code, text)
    kind = "cancelled" if code == -signal.SIGINT else KINDS.get(code, "internal")
    messages = listener.errors or [f"octavo {words[0]} ended with {code}"]
    problems = [Problem(kind, "", "", "", "", message) for message in messages]
    raise class_of(problems[0])(problems)
