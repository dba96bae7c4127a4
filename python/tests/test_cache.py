"""The cache of compiled models."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import numpy as np
import onnx_file
import pytest

import octavo
from octavo import _core


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the models that were compiled."""
    names: list[str] = []
    original = _core.compile

    def compile(name: str, *rest: object) -> object:
        names.append(name)
        return original(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(_core, "compile", compile)
    return names


def test_the_second_time_is_a_load(digits: str, digits_samples: np.ndarray, tmp_path: Path, compiled: list[str]) -> None:
    first = octavo.compile(digits, digits_samples, cache_dir=tmp_path)
    second = octavo.compile(digits, digits_samples.copy(), cache_dir=tmp_path)
    assert len(compiled) == 1 and len(os.listdir(tmp_path)) == 1
    assert first.to_bytes() == second.to_bytes()


def test_what_matters_is_in_the_key(digits: str, digits_samples: np.ndarray, tmp_path: Path, compiled: list[str]) -> None:
    octavo.compile(digits, digits_samples, cache_dir=tmp_path)
    octavo.compile(digits, digits_samples[1:], cache_dir=tmp_path)
    octavo.compile(digits, digits_samples, batch=2, cache_dir=tmp_path)
    octavo.compile(digits, precision="fp32", cache_dir=tmp_path)
    octavo.compile(onnx_file.product(4, 2), precision="fp32", cache_dir=tmp_path)
    octavo.compile(onnx_file.product(4, 3), precision="fp32", cache_dir=tmp_path)
    assert len(compiled) == 6 and len(os.listdir(tmp_path)) == 6


def test_weights_beside_a_file_are_in_the_key(tmp_path: Path) -> None:
    from octavo._cache import key_of
    from octavo._sources import Source

    (tmp_path / "m.onnx").write_bytes(b"location")
    (tmp_path / "m.bin").write_bytes(b"1")
    first = key_of(Source(str(tmp_path / "m.onnx")), [])
    (tmp_path / "m.bin").write_bytes(b"22")
    assert key_of(Source(str(tmp_path / "m.onnx")), []) != first


def test_a_damaged_entry_is_made_anew(tiny: bytes, tmp_path: Path, compiled: list[str]) -> None:
    octavo.compile(tiny, precision="fp32", cache_dir=tmp_path)
    entry = tmp_path / os.listdir(tmp_path)[0]
    entry.write_bytes(entry.read_bytes()[:100])
    octavo.compile(tiny, precision="fp32", cache_dir=tmp_path)
    assert len(compiled) == 2
    octavo.compile(tiny, precision="fp32", cache_dir=tmp_path)
    assert len(compiled) == 2


def test_it_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(octavo._cache, "directory", str(tmp_path))
    octavo.compile(onnx_file.product(16, 2), precision="fp32")
    size = os.stat(tmp_path / os.listdir(tmp_path)[0]).st_size
    octavo.cache_bytes, before = 3 * size, octavo.cache_bytes
    try:
        for outputs in range(3, 12):
            octavo.compile(onnx_file.product(16, outputs), precision="fp32")
            assert sum(os.stat(tmp_path / name).st_size for name in os.listdir(tmp_path)) <= 3 * size + size // 2
    finally:
        octavo.cache_bytes = before


def test_the_setting_of_the_module(tiny: bytes, tmp_path: Path) -> None:
    octavo.cache_dir, before = str(tmp_path), octavo.cache_dir
    try:
        octavo.compile(tiny, precision="fp32")
        assert len(os.listdir(tmp_path)) == 1
    finally:
        octavo.cache_dir = before


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tiny: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    octavo.compile(tiny, precision="fp32", cache_dir=tmp_path / "file")


def _compile_in_child(folder: str) -> None:
    for outputs in range(2, 8):
        octavo.compile(onnx_file.product(16, outputs), precision="fp32", cache_dir=folder)


def test_processes_share_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=_compile_in_child, args=(str(tmp_path),)) for _ in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert len(os.listdir(tmp_path)) == 6


@pytest.mark.parametrize("kind", ["sentences", "two inputs"])
def test_equal_samples_of_an_iterable_are_the_same_whenever_they_come(kind: str, tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    model = onnx_file.tokens() if kind == "sentences" else onnx_file.sum_and_difference()
    random = np.random.default_rng(4)
    items = [random.integers(0, 50, (1, length)) for length in (3, 7, 5)] if kind == "sentences" else [(random.standard_normal((2, 3)).astype(np.float32),) * 2 for _ in range(3)]
    precision = "int8" if kind == "sentences" else "fp32"
    for hour in (0, 1):
        with monkeypatch.context() as patch:
            patch.setattr("time.localtime", lambda *_: (2026, 1, 1, hour, 0, 0, 0, 1, 0))
            octavo.compile(model, iter(items), precision=precision, cache_dir=tmp_path)
    assert len(compiled) == 1
    octavo.compile(model, items[:2], precision=precision, cache_dir=tmp_path)
    assert len(compiled) == 2
