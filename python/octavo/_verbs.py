"""The verbs of the command line: each runs the packaged program and gives what its `--json` holds."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

import numpy as np

from . import _command, _core
from ._compile import Samples, as_file, calibration_words, sample_inputs, temporary_folder
from ._errors import usage
from ._model import load
from ._progress import Progress
from ._report import Report
from ._samples import Input, as_numpy, spooled
from ._sources import Source, source_of
from ._words import PathLike, is_path, words_of
from .metrics import Metric

Inputs = Union[Mapping[str, Any], None]


class _Verb:
    """A call of the program: temporary files that last as long as it."""

    def __init__(self, name: str, stack: ExitStack) -> None:
        self.name = name
        self.stack = stack
        self.folder = temporary_folder(stack)
        self.words = [name]

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def add_model(self, model: Any) -> Source:
        source = source_of(model)
        self.words.append(as_file(source, self.stack))
        return source

    def add_inputs(self, inputs: Inputs) -> None:
        for index, (name, value) in enumerate((inputs or {}).items()):
            path = os.fspath(value) if is_path(value) else self.path(f"input{index}.npy")
            if not is_path(value):
                np.save(path, as_numpy(value))
            self.words += ["--input", f"{name}={path}"]

    def report(self, options: Mapping[str, Any], progress: Progress, page: bool = False) -> Report:
        """Runs it with the options; a page where the verb writes one."""
        written = {"json": self.path("report.json"), "html": self.path("report.html") if page else None}
        done = _command.run([*self.words, *words_of({**options, **written})], progress)
        with open(written["json"] or "", encoding="utf-8") as file:
            values = json.load(file)
        text = ""
        if page:
            with open(written["html"] or "", encoding="utf-8") as file:
                text = file.read()
        return Report(values, self.name, done.text, text)


def _on_model(name: str, models: Sequence[Any], calibrate: Samples, options: Mapping[str, Any], progress: Progress, more: Callable[[_Verb], None] | None = None, page: bool = False) -> Report:
    """A verb of one or several models, which compiles those that are no .octv with samples of any kind."""
    rest = dict(options)
    with ExitStack() as stack:
        verb = _Verb(name, stack)
        sources = [verb.add_model(model) for model in models]
        verb.words += calibration_words(sources[0], calibrate, rest, stack) if sources else []
        if more is not None:
            more(verb)
        return verb.report(rest, progress, page)


def bench(*models: Any, calibrate: Samples = None, progress: Progress = None, **options: Any) -> Report:
    """Latency, throughput, load time and memory of models, in turns: `octavo bench` (docs/cli.md), whose options these are
    (`compare="fp32,int8"`, `batch=[1, 64]`, `threads=`, `seconds=`, `contexts=`, those of compiling). Raises what `compile` raises."""
    return _on_model("bench", models, calibrate, options, progress)


def explain(model: Any, *, calibrate: Samples = None, progress: Progress = None, **options: Any) -> Report:
    """Where the time of a plan goes: `octavo explain`. Shows its page in a notebook."""
    return _on_model("explain", [model], calibrate, options, progress, page=True)


def evaluate(
    *models: Any,
    images: PathLike | Iterable[Any] | None = None,
    labels: PathLike | None = None,
    metric: Metric | None = None,
    calibrate: Samples = None,
    progress: Progress = None,
    **options: Any,
) -> Report:
    """How often models are right, and how they agree: `octavo evaluate`. `images`: a folder with `labels`, an .npz, or an iterable of
    (input, label), single ones or batches.

    `evaluate(model, data, metric=function)` instead: `function(outputs, labels)` gives a number, or several by name, of the outputs
    (arrays with a leading axis of samples; by name where there are several) for all of `data`, an iterable of (input, ..., label) or of
    mappings with one key more than inputs. `report["models"][0]` has the number under the function's name. Or `metric` is a word:
    "top1", "top5", "miou", "map", "spearman" (octavo.metrics). Raises what both raise."""
    if metric is not None:
        from ._metric import evaluated

        if images is not None or labels is not None:
            raise usage("evaluate", "a metric beside images or labels", "evaluate(model, data, metric=function)")
        if len(models) < 2 or is_path(models[-1]):
            raise usage("evaluate", f"{len(models)} arguments", "models, and an iterable of samples with labels behind them")
        return evaluated(models[:-1], models[-1], metric, calibrate, options, progress)
    if images is None:
        raise usage("evaluate", "no images", "images=, or data and metric=")

    def add_images(verb: _Verb) -> None:
        path = images
        if not is_path(images):
            inputs = _inputs_of(models[0], options)
            path = verb.stack.enter_context(spooled(images, inputs, labels=True))  # type: ignore[arg-type]
        verb.words += words_of({"images": path, "labels": labels})

    return _on_model("evaluate", models, calibrate, options, progress, add_images)


def _inputs_of(model: Any, options: Mapping[str, Any]) -> list[Input]:
    """Of a compiled model what its first plan takes, of another what its samples hold."""
    source = source_of(model)
    if not _core.is_compiled(source.name, source.content):
        return sample_inputs(source, options)
    inputs = load(source.name if source.content is None else bytes(source.content)).inputs
    shapes = [[1, *(int(extent) if isinstance(extent, int) else 0 for extent in each.shape[1:])] for each in inputs]
    return [Input(each.name, each.dtype, shape, 0 in shape[1:]) for each, shape in zip(inputs, shapes)]


def compare(model: Any, other: Any = None, *, against: str | None = None, input: Inputs = None, calibrate: Samples = None, progress: Progress = None, **options: Any) -> Report:
    """Two models on the same input, or one beside another engine (`against="onnxruntime"`): `octavo compare`. `input`: arrays, or
    files, by name. `report["same"]` is the answer."""
    if (other is None) == (against is None):
        raise usage("compare", "two models and an engine" if other is not None else "one model", "another model, or against='onnxruntime' or 'litert'")
    models = [model] if other is None else [model, other]
    return _on_model("compare", models, calibrate, {"against": against, **options}, progress, lambda verb: verb.add_inputs(input))


def inspect(model: Any = None, *, machine: bool = False) -> Report:
    """What is in a model file or an .octv, or what this machine can do: `octavo inspect`."""
    return _on_model("inspect", [] if model is None else [model], None, {"machine": machine}, False)


def tune(
    model: Any,
    *,
    tuning_log: PathLike,
    calibrate: Samples = None,
    output: PathLike | None = None,
    workers: Any = None,
    progress: Progress = None,
    **options: Any,
) -> Report:
    """Measures ways of every call of a network on this machine and keeps them in `tuning_log`, for
    `compile(tuning_log=...)`: `octavo tune`. `output`: the compiled model's file, else it is not kept.

    `workers`: a `dask.distributed.Client` of machines of one kind, which measure instead of this one: every worker with
    the resource "bench" (without such one worker of each machine) tries its share of `trials` by a seed of its own, and
    one of them times the best of all again. Needs `pip install octavo[search]`."""
    rest = dict(options)
    with ExitStack() as stack:
        if workers is not None:
            return _tune_on(workers, model, tuning_log, calibrate, output, rest, stack)
        verb = _Verb("tune", stack)
        source = verb.add_model(model)
        verb.words += calibration_words(source, calibrate, rest, stack)
        page = verb.path("curves.html")
        report = verb.report({"tuning_log": tuning_log, "output": output or verb.path("tuned.octv"), "report": page, **rest}, progress)
        with open(page, encoding="utf-8") as file:
            report.page = file.read()
        return report


def _tune_on(
    workers: Any,
    model: Any,
    tuning_log: PathLike,
    calibrate: Samples,
    output: PathLike | None,
    options: dict[str, Any],
    stack: ExitStack,
) -> Report:
    from ._search.files import files_of, model_content, model_name
    from ._search.tuning import Network, tune_on

    if output is not None:
        raise usage("tune", "output beside workers", "octavo.compile(model, tuning_log=...) for this machine")
    source = source_of(model)
    words = calibration_words(source, calibrate, options, stack)
    samples: Any = words[0].split("=", 1)[1] if words else None
    if samples not in (None, "random"):
        samples = files_of(samples)
    return tune_on(workers, Network(model_name(source), model_content(source), samples), tuning_log, options)


def reduce(model: Any, *, keep: str | None = None, against: str | None = None, progress: Progress = None, **options: Any) -> bytes:
    """The smallest part of an ONNX model that still fails alike, as a file's bytes: `octavo reduce`."""
    with ExitStack() as stack:
        verb = _Verb("reduce", stack)
        verb.add_model(model)
        path = verb.path("small.onnx")
        _command.run([*verb.words, *words_of({"output": path, "keep": keep, "against": against, **options})], progress)
        with open(path, "rb") as file:
            return file.read()


def zoo(name: str | None = None, *, seed: int | None = None) -> Any:
    """The bytes of an architecture with seeded weights as an ONNX file, for benchmarks and tests; without a name, the list of
    names: `octavo zoo`."""
    if name is None:
        return _command.run(["zoo", "--list"], False).text.split()
    with ExitStack() as stack:
        path = os.path.join(temporary_folder(stack), "model.onnx")
        _command.run(["zoo", name, *words_of({"output": path, "seed": seed})], False)
        with open(path, "rb") as file:
            return file.read()
