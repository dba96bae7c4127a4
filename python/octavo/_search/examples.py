"""What a variant is judged by: labelled examples, and a metric of all answers, as `octavo.evaluate` has them."""

from __future__ import annotations

from typing import Any, Callable, Iterable, NamedTuple, Sequence, Union

import numpy as np

from .._errors import usage
from .._metric import batch_of, stacked
from .._model import Model
from .._samples import Input

Metric = Union[str, Callable[[Any, Any], float]]


class Examples(NamedTuple):
    """`inputs`: of each example an array for each input, with a leading axis of 1. `labels`: one for each."""

    inputs: list[tuple[np.ndarray, ...]]
    labels: list[Any]


def examples_of(data: Iterable[Any], inputs: Sequence[Input]) -> Examples:
    """Reads all of `data`: tuples of the inputs' arrays and a label, or mappings with one key more than inputs,
    single ones or batches. Raises UsageError for one that does not fit."""
    examples = Examples([], [])
    for index, item in enumerate(data):
        rows, labels = batch_of(item, inputs, f"example {index}")
        examples.inputs.extend(tuple(each[i : i + 1] for each in rows) for i in range(len(rows[0])))
        examples.labels.extend(labels)
    if not examples.inputs:
        raise usage("data", "nothing", "at least one example")
    return examples


def _joined(name: str, outputs: list[np.ndarray]) -> Any:
    for output in outputs:
        if output.ndim == 0 or len(output) != 1:
            raise usage(f"output '{name}'", f"shape {list(output.shape)}", "a leading axis of one example")
    return stacked([output[0] for output in outputs])


def answers_of(model: Model, inputs: Iterable[tuple[np.ndarray, ...]]) -> Any:
    """The output of all examples along its leading axis (a list where shapes differ), one after the other through the
    model; of several outputs by name."""
    columns: dict[str, list[np.ndarray]] = {}
    for arrays in inputs:
        for name, output in model.run(arrays).items():
            columns.setdefault(name, []).append(output)
    joined = {name: _joined(name, column) for name, column in columns.items()}
    return joined if len(joined) > 1 else next(iter(joined.values()))


def _percent_in_first(outputs: Any, labels: Any, places: int) -> float:
    scores = next(iter(outputs.values())) if isinstance(outputs, dict) else outputs
    scores = np.asarray(scores).reshape(len(scores), -1)
    labels = np.asarray(labels).reshape(-1)
    if scores.shape[1] == 1001 and labels.max() < 1000:
        labels = labels + 1  # a background class in front, as TensorFlow's networks have
    # Of equal scores the first wins, as for `octavo evaluate`.
    best = np.argsort(-scores.astype(np.float64), axis=1, kind="stable")[:, :places]
    return 100.0 * float(np.mean(np.any(best == labels[:, None], axis=1)))


def top1(outputs: Any, labels: Any) -> float:
    """Percent of examples whose label has the largest score of the first output."""
    return _percent_in_first(outputs, labels, 1)


def top5(outputs: Any, labels: Any) -> float:
    """Percent of examples whose label is among the five largest scores of the first output."""
    return _percent_in_first(outputs, labels, 5)


_NAMED: dict[str, Callable[[Any, Any], float]] = {"top1": top1, "top5": top5}


def metric_of(metric: Metric) -> tuple[str, Callable[[Any, Any], float]]:
    """Its name, and what computes it of (outputs, labels). Raises UsageError for an unknown name."""
    if callable(metric):
        return str(getattr(metric, "__name__", type(metric).__name__)), metric
    if metric not in _NAMED:
        raise usage("metric", repr(metric), f"{', '.join(_NAMED)} or a function of (outputs, labels)")
    return metric, _NAMED[metric]
