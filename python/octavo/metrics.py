"""What `octavo.evaluate` and `octavo.search` judge models by: functions of (outputs, labels), those of all samples, of
which more is better (but for `WordErrorRate`). A keyword is given by `functools.partial`. Metrics of more than
counting are other packages', which are named where they are missing."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
from typing import Any, Callable, Mapping, Sequence, Union

import numpy as np

from ._errors import usage

#: A word of `named`, or a function of (outputs, labels) that gives a number, or several by name.
Metric = Union[str, Callable[[Any, Any], Any]]

__all__ = ["Metric", "WordErrorRate", "mean_average_precision", "mean_iou", "named", "spearman", "top1", "top5"]


def _package(name: str, package: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{package} is not installed. pip install {package}") from error


def _first(outputs: Any) -> Any:
    return next(iter(outputs.values())) if isinstance(outputs, dict) else outputs


def _percent_in_first(outputs: Any, labels: Any, places: int) -> float:
    scores = np.asarray(_first(outputs))
    scores = scores.reshape(len(scores), -1)
    labels = np.asarray(labels).reshape(-1)
    if scores.shape[1] == 1001 and labels.max() < 1000:
        labels = labels + 1  # a background class in front, as TensorFlow's networks have
    # Of equal scores the first wins, as for `octavo evaluate`.
    best = np.argsort(-scores.astype(np.float64), axis=1, kind="stable")[:, :places]
    return 100.0 * float(np.mean(np.any(best == labels[:, None], axis=1)))


def top1(outputs: Any, labels: Any) -> float:
    """Percent of samples whose label has the largest score of the first output."""
    return _percent_in_first(outputs, labels, 1)


def top5(outputs: Any, labels: Any) -> float:
    """Percent of samples whose label is among the five largest scores of the first output."""
    return _percent_in_first(outputs, labels, 5)


def spearman(outputs: Any, labels: Any) -> float:
    """Rank correlation of the first output, a number for each sample, with the labels: SciPy's `spearmanr`."""
    found, expected = np.asarray(_first(outputs)), np.asarray(labels)
    if found.size != expected.size:
        raise usage("spearman", f"an output of {found.size} numbers", f"{expected.size}, one for each label")
    return float(_package("scipy.stats", "scipy").spearmanr(found.ravel(), expected.ravel()).statistic)


def mean_iou(outputs: Any, labels: Any, ignore: int = 255) -> float:
    """Segmentation: intersection over union of the pixels of a class, mean over those that a label or an answer has.
    The first output holds scores [classes, ...] or, with the shape of its label, classes; pixels whose label is
    `ignore` are left out."""
    counts = np.zeros((0, 0), np.int64)
    for scores, label in zip(_first(outputs), labels):
        label = np.asarray(label)
        found = scores if scores.shape == label.shape else scores.argmax(0)
        if found.shape != label.shape:
            told = f"{list(label.shape)} or [classes, ...]"
            raise usage("mean_iou", f"an answer of shape {list(scores.shape)}", told)
        is_told = label != ignore
        of, to = label[is_told].astype(np.int64), found[is_told].astype(np.int64)
        classes = max(len(counts), int(of.max(initial=-1)) + 1, int(to.max(initial=-1)) + 1)
        seen = np.bincount(of * classes + to, minlength=classes**2).reshape(classes, classes)
        counts = np.pad(counts, (0, classes - len(counts))) + seen
    both = np.diag(counts)
    either = counts.sum(0) + counts.sum(1) - both
    return float(np.mean(both[either > 0] / either[either > 0])) if either.any() else 0.0


def mean_average_precision(
    outputs: Mapping[str, Any],
    labels: Sequence[Mapping[str, Any]],
    boxes: str = "boxes",
    scores: str = "scores",
    classes: str = "labels",
) -> float:
    """Detection: COCO's mean average precision (overlaps of 0.5 to 0.95), by pycocotools. `boxes` [N, 4] (left, top,
    right, bottom), `scores` and `classes` [N] are names of outputs; a label is a mapping with "boxes" and "labels"."""
    coco, evaluation = _package("pycocotools.coco", "pycocotools"), _package("pycocotools.cocoeval", "pycocotools")

    def edges(array: Any) -> np.ndarray:
        corners = np.asarray(array, np.float64).reshape(-1, 4)
        return np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)

    annotations: list[dict[str, Any]] = []
    for image, label in enumerate(labels):
        for box, kind in zip(edges(label["boxes"]), np.asarray(label["labels"]).ravel()):
            place = {"bbox": box.tolist(), "area": float(box[2] * box[3]), "iscrowd": 0}
            # COCO takes an annotation of number 0 for none.
            annotations.append({"id": len(annotations) + 1, "image_id": image, "category_id": int(kind), **place})
    rows = []
    for image, parts in enumerate(zip(outputs[boxes], outputs[scores], outputs[classes])):
        given = edges(parts[0])
        columns = [np.asarray(each, np.float64).reshape(-1, 1) for each in parts[1:]]
        rows.append(np.concatenate([np.full((len(given), 1), image), given, *columns], axis=1))
    found = np.concatenate(rows)
    if len(found) == 0 or not annotations:
        return 0.0
    kinds = sorted({each["category_id"] for each in annotations})
    with contextlib.redirect_stdout(io.StringIO()):  # it prints its progress
        truth = coco.COCO()
        truth.dataset = {
            "info": {},
            "images": [{"id": image} for image in range(len(labels))],
            "annotations": annotations,
            "categories": [{"id": kind} for kind in kinds],
        }
        truth.createIndex()
        judged = evaluation.COCOeval(truth, truth.loadRes(found), "bbox")
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
    return float(judged.stats[0])


class WordErrorRate:
    """Speech: a metric, the share of words that are wrong in `decode(the first output of a sample)` beside its label,
    a text; by jiwer. Less is better: a search takes the negative."""

    __name__ = "wer"

    def __init__(self, decode: Callable[[Any], str]) -> None:
        self._decode = decode

    def __call__(self, outputs: Any, labels: Any) -> float:
        return float(_package("jiwer", "jiwer").wer(list(labels), [self._decode(each) for each in _first(outputs)]))


_NAMED: dict[str, Callable[[Any, Any], float]] = {
    "map": mean_average_precision,
    "miou": mean_iou,
    "spearman": spearman,
    "top1": top1,
    "top5": top5,
}


def named(metric: Metric) -> tuple[str, Callable[[Any, Any], Any]]:
    """Its name, and what computes it of (outputs, labels). Raises UsageError for an unknown word."""
    if callable(metric):
        function = metric.func if isinstance(metric, functools.partial) else metric
        return str(getattr(function, "__name__", type(function).__name__)), metric
    if metric not in _NAMED:
        raise usage("metric", repr(metric), f"{', '.join(_NAMED)} or a function of (outputs, labels)")
    return metric, _NAMED[metric]
