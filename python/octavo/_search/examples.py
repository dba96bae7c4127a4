"""What a variant is judged by: labelled examples, and a metric of all answers, as `octavo.evaluate` has them."""

from __future__ import annotations

from typing import Any, Callable, Iterable, NamedTuple, Sequence, Union

import numpy as np

from .._errors import usage
from .._metric import label_of
from .._model import Model
from .._samples import Input, arrays_of, as_numpy, rows_of

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
        where = f"example {index}"
        given = arrays_of(item, inputs, where)
        rows = [rows_of(array, spec, where) for array, spec in zip(given, inputs)]
        label = label_of(item, inputs, where)
        is_single = given[0].ndim == len(inputs[0].shape) - 1
        if len({len(each) for each in rows}) != 1:
            raise usage(where, f"batches of {', '.join(str(len(each)) for each in rows)}", "equal ones")
        labels = [label] if is_single else list(as_numpy(label) if hasattr(label, "shape") else label)
        if len(labels) != len(rows[0]):
            raise usage(where, f"{len(labels)} labels", f"{len(rows[0])}, one for each of the batch")
        examples.inputs.extend(tuple(each[i : i + 1] for each in rows) for i in range(len(rows[0])))
        examples.labels.extend(labels)
    if not examples.inputs:
        raise usage("data", "nothing", "at least one example")
    return examples


def stacked(labels: Sequence[Any]) -> Any:
    """An array where labels are numbers or arrays of one shape, else the list."""
    if isinstance(labels[0], (str, bytes, dict)):
        return list(labels)
    try:
        return np.stack([as_numpy(label) for label in labels])
    except (TypeError, ValueError):
        return list(labels)


def _joined(name: str, outputs: list[np.ndarray]) -> Any:
    for output in outputs:
        if output.ndim == 0 or len(output) != 1:
            raise usage(f"output '{name}'", f"shape {list(output.shape)}", "a leading axis of one example")
    same = all(output.shape == outputs[0].shape for output in outputs)
    return np.concatenate(outputs) if same else [output[0] for output in outputs]


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
