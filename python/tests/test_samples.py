"""Samples of any iterable: read once, in order, no more than needed; the same bytes as samples of a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Iterator

import numpy as np
import onnx_file
import pytest
from conftest import ROOT

import octavo
from octavo._samples import Input, spooled


def test_lists_batches_mappings_and_files_teach_the_same(digits: str, digits_samples: np.ndarray, int8: octavo.Model, tmp_path: Path) -> None:
    samples = digits_samples
    np.save(tmp_path / "samples.npy", samples)
    labelled = [(samples[i : i + 8], np.zeros(8)) for i in range(0, len(samples), 8)]
    kinds = [list(samples), [{"image": each[None]} for each in samples], labelled, tmp_path / "samples.npy"]
    expected = int8.to_bytes()
    for kind in kinds:
        assert octavo.compile(digits, kind).to_bytes() == expected


def test_pictures_are_preprocessed(digits: str, int8: octavo.Model) -> None:
    with np.load(ROOT / "examples/digits/calibration.npz") as arrays:
        images = arrays["images"]
    spec = "mean=127.5,std=127.5,resize=0"
    assert octavo.compile(digits, images, preprocess=spec).to_bytes() == int8.to_bytes()


def test_a_generator_is_read_once_and_no_further_than_needed(digits: str, digits_samples: np.ndarray) -> None:
    taken = []

    def samples() -> Iterator[np.ndarray]:
        for index in range(10**9):
            taken.append(index)
            yield digits_samples[index % len(digits_samples)]

    octavo.compile(digits, samples(), samples=20)
    assert taken == list(range(20))


def test_random_samples_are_warned_of(digits: str) -> None:
    with pytest.warns(UserWarning, match="its answers are worthless"):
        octavo.compile(digits, "random")


def test_nothing_stays_behind(digits: str, digits_samples: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    octavo.compile(digits, digits_samples[:8])
    with pytest.raises(octavo.UsageError):
        octavo.compile(digits, [np.zeros(3)])
    assert os.listdir(tmp_path) == []


def test_sentences_of_any_length() -> None:
    path = ROOT / "tests/import/encoders/bert_onnx17.onnx"
    random = np.random.default_rng(5)

    def sentences() -> Iterator[dict[str, np.ndarray]]:
        for length in (5, 9, 16, 12, 3, 7, 8, 14) * 2:
            yield {"input_ids": random.integers(1, 50, (1, length)), "attention_mask": np.ones((1, length), np.int64)}

    shape = {"input_ids": [1, 16], "attention_mask": [1, 16]}
    model = octavo.compile(path, sentences(), shape=shape)
    assert model.info["plans"][0]["precision"] == "int8"
    ids = random.integers(1, 50, (1, 16))
    exact = octavo.compile(path, precision="fp32", shape=shape)
    for got, expected in zip(model.run([ids, np.ones_like(ids)]).values(), exact.run([ids, np.ones_like(ids)]).values()):
        assert 10 * np.log10(np.square(expected).sum() / np.square(got - expected).sum()) > 10


def test_samples_of_several_sizes() -> None:
    network, random = onnx_file.pictures(), np.random.default_rng(9)
    sizes = [(20, 31), (20, 31), (12, 40), (33, 17), (64, 48)]
    samples = [random.standard_normal((2, 3, *size)).astype(np.float32) for size in sizes]
    samples[-1] *= 4  # ranges are those of all sizes
    model = octavo.compile(network, samples)
    exact = octavo.compile(network, precision="fp32")
    for sample in samples:
        got, expected = model(sample), exact(sample)
        assert 10 * np.log10(np.square(expected).sum() / np.square(got - expected).sum()) > 25
    assert octavo.compile(network, (each for each in samples), samples=3).to_bytes() == octavo.compile(network, [*samples[0], samples[1][:1]]).to_bytes()
    labelled = [(sample, np.arange(2)) for sample in samples]
    report = octavo.evaluate(exact.to_bytes(), model.to_bytes(), images=labelled)
    assert report["models"][1]["samples"] == 10 and report["models"][1]["sqnr_db"] > 25
    with pytest.raises(octavo.InvalidInputError, match="samples/00000001.npz: sample 0: found shape 4x9x9, expected nx3xhxw"):
        octavo.compile(network, [samples[0], np.zeros((1, 4, 9, 9), np.float32)])


def test_what_comes_once_is_that_of_each_row() -> None:
    inputs = [Input("x", "f32", [1, 4], True), Input("has_past", "bool", [1])]
    items = [(np.zeros((3, 4), np.float32), np.array([True])), (np.zeros((0, 4), np.float32), np.array([False]))]
    with spooled(items, inputs) as path, np.load(path) as arrays:
        assert arrays["x"].shape == (3, 4) and arrays["has_past"].tolist() == [True] * 3


def test_quantize_gives_a_standard_file(digits: str, digits_samples: np.ndarray, int8: octavo.Model, tmp_path: Path) -> None:
    quantized = octavo.quantize(digits, digits_samples)
    assert b"QuantizeLinear" in quantized.onnx and quantized.scales["format"] == "octavo scales 1"
    np.testing.assert_array_equal(octavo.compile(quantized.onnx)(digits_samples[:1]), int8(digits_samples[:1]))
    quantized.save(tmp_path / "q.onnx")
    quantized.save_scales(tmp_path / "scales.json")
    assert octavo.inspect(tmp_path / "q.onnx")["is_quantized"]
    again = octavo.compile(digits, scales=tmp_path / "scales.json")
    np.testing.assert_array_equal(again(digits_samples[:1]), int8(digits_samples[:1]))
    with pytest.raises(octavo.UsageError, match="quantized"):
        octavo.quantize(tmp_path / "q.onnx", digits_samples)


def test_quantize_tells_what_it_costs(digits: str, digits_samples: np.ndarray) -> None:
    quantized = octavo.quantize(digits, digits_samples, limit=32, report=True)
    assert quantized.report is not None and quantized.report["samples"] == 32 and quantized.report["output_db"] > 10
    assert "<pre>" in quantized.report._repr_html_()


def test_progress_is_told(digits: str, digits_samples: np.ndarray) -> None:
    told: list[tuple[str, int, int]] = []
    octavo.compile(digits, np.concatenate([digits_samples] * 10), progress=lambda *news: told.append(news))
    assert told and all(isinstance(phase, str) and 0 <= done and (total == 0 or done <= total) for phase, done, total in told)


def test_what_progress_raises_stops_the_call(digits: str, digits_samples: np.ndarray) -> None:
    def enough(phase: str, done: int, total: int) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        octavo.compile(digits, np.concatenate([digits_samples] * 10), progress=enough)
