"""What a variant is judged by: labelled examples, and a metric of all answers, as `octavo.evaluate` has them."""

from __future__ import annotations

from typing import Any, Iterable, NamedTuple, Sequence

import numpy as np

from .._errors import usage
from .._metric import Answers, batch_of
from .._model import Model
from .._samples import Input


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


def answers_of(model: Model, inputs: Iterable[tuple[np.ndarray, ...]]) -> Any:
    """The output of all examples along its leading axis (a list where shapes differ), one after the other through the
    model; of several outputs by name."""
    answers = Answers(model)
    for arrays in inputs:
        answers.add(arrays)
    return answers.joined()
