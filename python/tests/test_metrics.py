"""octavo.metrics: by hand, and beside the packages that they are taken from; outputs whose number of rows is data."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import onnx_file
import pytest

import octavo
from octavo import metrics


def test_intersection_over_union() -> None:
    labels = np.array([[[0, 0], [1, 255]], [[1, 1], [0, 0]]])
    answers = np.array([[[0, 1], [1, 0]], [[1, 1], [0, 0]]])
    # Class 0: 3 pixels of both, 4 of either; class 1: 3 of both, 4 of either. The pixel of 255 counts nowhere.
    assert metrics.mean_iou(answers, labels) == pytest.approx(0.75)
    scores = np.stack([answers == 0, answers == 1, np.zeros(answers.shape)], axis=1)
    assert metrics.mean_iou({"out": scores, "aux": 1 - scores}, labels) == pytest.approx(0.75)
    assert metrics.mean_iou([scores[0], scores[1][:, :1]], [labels[0], labels[1][:1]]) == pytest.approx(0.625)
    without_1 = functools.partial(metrics.mean_iou, ignore=1)
    assert without_1(answers, np.where(labels == 255, 1, labels)) == pytest.approx(0.375)
    assert metrics.mean_iou(answers, np.full_like(labels, 255)) == 0.0
    with pytest.raises(octavo.UsageError, match=r"shape \[3, 2, 2\], expected \[3, 3\]"):
        metrics.mean_iou(scores, np.zeros((2, 3, 3), int))


def test_rank_correlation() -> None:
    pytest.importorskip("scipy", reason="scipy is not installed")
    assert metrics.spearman(np.array([[1.0], [4.0], [9.0]]), np.array([0, 2, 3])) == pytest.approx(1)
    assert metrics.spearman(np.array([1.0, 4.0, 2.0]), [1, 2, 3]) == pytest.approx(0.5)
    with pytest.raises(octavo.UsageError, match="an output of 6 numbers, expected 3"):
        metrics.spearman(np.zeros((3, 2)), [1, 2, 3])


def test_detections() -> None:
    pytest.importorskip("pycocotools", reason="pycocotools is not installed")
    boxes = [np.array([[0, 0, 10, 10], [20, 20, 40, 30]]), np.array([[5, 5, 25, 25]])]
    labels = [{"boxes": boxes[0], "labels": [1, 2]}, {"boxes": boxes[1], "labels": [1]}]
    found: dict[str, Any] = {"boxes": boxes, "scores": [np.array([0.9, 0.8]), np.array([0.7])]}
    found["labels"] = [np.array([1, 2]), np.array([1])]
    assert metrics.mean_average_precision(found, labels) == pytest.approx(1)
    # Of class 2 nothing is found any more; of class 1 half of it, with precision 1: 51 of COCO's 101 points.
    found["boxes"] = [boxes[0] + [[0], [50]], boxes[1] + 100]
    assert metrics.mean_average_precision(found, labels) == pytest.approx(51 / 101 / 2)
    nothing = {"boxes": [np.zeros((0, 4))] * 2, "scores": [np.zeros(0)] * 2, "labels": [np.zeros(0)] * 2}
    assert metrics.mean_average_precision(nothing, labels) == 0.0
    renamed = {"b": nothing["boxes"], "s": nothing["scores"], "c": nothing["labels"]}
    assert metrics.mean_average_precision(renamed, labels, "b", "s", "c") == 0.0


def test_words() -> None:
    pytest.importorskip("jiwer", reason="jiwer is not installed")
    rate = metrics.WordErrorRate(lambda letters: " ".join("abc"[each] for each in letters))
    assert rate(np.array([[0, 1], [2, 2]]), ["a b", "c a"]) == pytest.approx(0.25)
    assert metrics.named(rate)[0] == "wer"


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(metrics.importlib, "import_module", missing)
    for call, package in (
        (lambda: metrics.spearman([1.0], [1.0]), "scipy"),
        (lambda: metrics.mean_average_precision({}, []), "pycocotools"),
        (lambda: metrics.WordErrorRate(str)([1], ["1"]), "jiwer"),
    ):
        with pytest.raises(ModuleNotFoundError, match=f"pip install {package}"):
            call()


def test_words_for_metrics(int8: octavo.Model, digits_test: dict[str, np.ndarray]) -> None:
    from conftest import as_inputs

    images, labels = as_inputs(digits_test["images"])[:50], digits_test["labels"][:50]
    assert octavo.evaluate(int8, [(images, labels)], metric="top1")["models"][0]["top1"] >= 90
    with pytest.raises(octavo.UsageError, match="'top2', expected map, miou"):
        octavo.evaluate(int8, [], metric="top2")
    five = functools.partial(octavo.metrics._percent_in_first, places=5)
    assert octavo.evaluate(int8, [(images, labels)], metric=five)["models"][0]["_percent_in_first"] >= 98


def test_as_many_rows_as_there_are() -> None:
    """What a sample gives is all of an output whose length is data, even where that is 1."""
    model = octavo.compile(onnx_file.nonzero_rows(1), precision="fp32")
    samples = [np.zeros((1, 4), np.float32) for _ in range(3)]
    samples[1][0, 2] = 1
    samples[2][0, 1:] = 1
    seen: list[Any] = []
    data = [(each, [index]) for index, each in enumerate(samples)]
    octavo.evaluate(model, data, metric=lambda *given: seen.append(given) or 0)
    outputs, labels = seen[0]
    assert [each.tolist() for each in outputs] == [[], [[0, 2]], [[0, 1], [0, 2], [0, 3]]]
    assert labels.tolist() == [0, 1, 2]


def test_networks_without_an_axis_of_samples() -> None:
    """As torchvision's detectors are exported: a picture in, boxes out; a label is a mapping."""
    model = octavo.compile(onnx_file.nonzero_rows(4), precision="fp32")
    data = [(np.eye(4, dtype=np.float32) * scale, {"boxes": [scale]}) for scale in (0, 1)]
    seen: list[Any] = []
    octavo.evaluate(model, data, metric=lambda *given: seen.append(given) or 0)
    outputs, labels = seen[0]
    assert [each.tolist() for each in outputs] == [[], [[at, at] for at in range(4)]]
    assert labels == [{"boxes": [0]}, {"boxes": [1]}]
