"""evaluate() with a metric of the caller's: outputs of all samples, and their labels, to one function."""

from __future__ import annotations

import json
from typing import Any, Iterable, Iterator, Mapping, Sequence

import numpy as np

from . import _core
from ._compile import Samples
from ._compile import compile as compile_model
from ._errors import usage
from ._model import Model, load
from ._progress import Progress, shown
from ._report import Report
from ._samples import Input, arrays_of, as_numpy, rows_of
from ._sources import source_of
from .metrics import Metric, named


def _ready(model: Any, calibrate: Samples, options: Mapping[str, Any]) -> Model:
    if isinstance(model, Model):
        return model
    source = source_of(model)
    if _core.is_compiled(source.name, source.content):
        return load(source.name if source.content is None else bytes(source.content))
    return compile_model(source, calibrate, progress=False, **{"unquantized": "fp32", **options})


def label_of(item: Any, inputs: Sequence[Input], where: str) -> Any:
    """What stands behind the inputs, or has no input's name."""
    if hasattr(item, "keys"):
        names = [name for name in item if all(name != each.name for each in inputs)]
        if len(names) == 1:
            return item[names[0]]
        raise usage(where, f"{', '.join(map(str, names)) or 'no key'} beside the inputs", "one key with the labels")
    if isinstance(item, (tuple, list)) and len(item) == len(inputs) + 1:
        return item[len(inputs)]
    count = len(item) if isinstance(item, (tuple, list)) else 1
    raise usage(where, f"{count} values", f"{len(inputs)} for the inputs and one with the labels")


def batch_of(item: Any, inputs: Sequence[Input], where: str) -> tuple[list[np.ndarray], list[Any]]:
    """Of one or several samples with labels: an array for each input, with a leading axis, and a label for each sample. Raises
    UsageError for what does not fit."""
    given = arrays_of(item, inputs, where)
    rows = [rows_of(array, spec, where) for array, spec in zip(given, inputs)]
    if len({len(each) for each in rows}) != 1:
        raise usage(where, f"batches of {', '.join(str(len(each)) for each in rows)}", "equal ones")
    label = label_of(item, inputs, where)
    if given[0].ndim == len(inputs[0].shape) - 1:
        return rows, [label]
    if isinstance(label, Mapping) and len(rows[0]) != 1:
        return [row[None] for row in rows], [label]  # of a network that has no axis of samples
    labels = label if isinstance(label, (list, tuple)) else np.atleast_1d(as_numpy(label))
    if len(labels) != len(rows[0]):
        raise usage(where, f"{len(labels)} labels", f"{len(rows[0])}, one for each of the batch")
    return rows, list(labels)


def stacked(values: list[Any]) -> Any:
    """An array where all samples have numbers or arrays of one shape, else the list."""
    if isinstance(values[0], (str, bytes, dict)):
        return values
    try:
        arrays = [as_numpy(value) for value in values]
    except (TypeError, ValueError):
        return values
    if any(array.dtype == object or array.shape != arrays[0].shape for array in arrays):
        return values
    return np.stack(arrays)


class Answers:
    """A model and what it gave so far: of each output what belongs to each sample. That is a row, or, where an output has as
    many rows as nobody knows before (a detector's boxes), all of it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._outputs: dict[str, list[Any]] = {each.name: [] for each in model.outputs}
        given = {extent for each in model.inputs for extent in each.shape}
        leading = {each.name: each.shape[0] for each in model.outputs if each.shape}
        self._whole = {name for name, extent in leading.items() if isinstance(extent, str) and extent not in given}

    def _parts(self, arrays: Sequence[np.ndarray]) -> Iterator[list[np.ndarray]]:
        """Batches of the size that the model has."""
        if arrays[0].ndim > len(self.model.inputs[0].shape):
            yield from ([array[at] for array in arrays] for at in range(len(arrays[0])))
            return
        first = self.model.inputs[0].shape[0] if self.model.inputs[0].shape else 1
        size = first if isinstance(first, int) else 1 if self._whole else len(arrays[0])
        for at in range(0, len(arrays[0]), size):
            yield [array[at : at + size] for array in arrays]

    def add(self, arrays: Sequence[np.ndarray]) -> None:
        """Runs one or several samples. Raises UsageError where an output cannot be told apart by them."""
        for part in self._parts(arrays):
            count = len(part[0]) if part[0].ndim == arrays[0].ndim else 1
            for name, result in self.model.run(part).items():
                if name in self._whole and count == 1:
                    self._outputs[name].append(result)
                elif result.ndim == 0 or len(result) != count:
                    raise usage(f"output '{name}'", f"shape {list(result.shape)}", f"a leading axis of {count} samples")
                else:
                    self._outputs[name] += list(result)

    def joined(self) -> Any:
        """The output of all samples along a leading axis (a list where shapes differ); of several outputs by name."""
        joined = {
            name: values if name in self._whole else stacked(values) for name, values in self._outputs.items()
        }
        return joined if len(joined) > 1 else next(iter(joined.values()))

    def result(self, metric: Metric, labels: Any) -> dict[str, Any]:
        name, function = named(metric)
        value = function(self.joined(), labels)
        if not isinstance(value, Mapping):
            value = {name: value}
        return {"model": self.model.source, **{str(name): float(each) for name, each in value.items()}}


def evaluated(
    models: Sequence[Any],
    data: Iterable[Any],
    metric: Metric,
    calibrate: Samples,
    options: Mapping[str, Any],
    progress: Progress,
) -> Report:
    """{"samples", "models": [{"model", and what the metric gives}]}. Raises what `metric` and `data` raise."""
    named(metric)  # an unknown word is told before anything runs
    if not models:
        raise usage("evaluate", "no model", "at least one, and data")
    if len(models) > 1 and isinstance(calibrate, Iterator):
        calibrate = list(calibrate)  # each model reads it
    runs = [Answers(_ready(model, calibrate, options)) for model in models]
    told = runs[0].model.inputs
    inputs = [
        Input(each.name, each.dtype, [extent if isinstance(extent, int) else 0 for extent in each.shape])
        for each in told
    ]
    labels: list[Any] = []
    bars = shown(progress)
    try:
        for index, item in enumerate(data):
            arrays, more = batch_of(item, inputs, f"sample {index}")
            labels += more
            for run in runs:
                run.add(arrays)
            if bars is not None:
                bars("evaluated", len(labels), 0)
    finally:
        if bars is not None:
            bars.close()
    if not labels:
        raise usage("data", "no sample", "at least one")
    joined = stacked(labels)
    values = {"samples": len(labels), "models": [run.result(metric, joined) for run in runs]}
    return Report(values, "evaluate", json.dumps(values, indent=2))
