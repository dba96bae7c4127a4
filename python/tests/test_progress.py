"""Progress: tqdm's bars where it is installed, a line of our own elsewhere, nothing where nobody looks."""

from __future__ import annotations

import sys
import types

import pytest

from octavo import _progress


class Bar:
    """What of tqdm is used."""

    made: list["Bar"] = []

    def __init__(self, total: int | None, desc: str, leave: bool) -> None:
        self.total, self.desc, self.n, self.is_open = total, desc, 0, True
        Bar.made.append(self)

    def refresh(self) -> None: ...

    def close(self) -> None:
        self.is_open = False


def test_a_bar_of_tqdm_for_each_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    Bar.made.clear()
    bars = _progress.shown(True)
    for news in (("calibrating", 1, 5), ("calibrating", 4, 5), ("planning", 0, 0)):
        bars(*news)
    bars.close()
    assert [(bar.desc, bar.total, bar.n, bar.is_open) for bar in Bar.made] == [("calibrating", 5, 4, False), ("planning", None, 0, False)]


def test_a_line_without_tqdm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    line = _progress.shown(True)
    line("calibrating", 3, 7)
    line.close()
    assert "calibrating 3 of 7" in capsys.readouterr().err


def test_nothing_where_nobody_looks() -> None:
    assert _progress.shown(None) is None and _progress.shown(False) is None
