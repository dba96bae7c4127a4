"""compile() and quantize(): models of any kind and samples of any kind become what the library takes."""

from __future__ import annotations

import json
import os
import warnings
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence, Union, Unpack

from . import _cache, _core
from ._model import Model
from ._progress import Progress, shown
from ._report import Report
from ._sources import Source, source_of
from ._words import CompileOptions, PathLike, QuantizeOptions, is_path, words_of

if TYPE_CHECKING:
    from ._samples import Input

Samples = Union[str, "os.PathLike[str]", Iterable[Any], None]


def sample_inputs(source: Source, options: Mapping[str, Any]) -> list[Input]:
    """What a sample of this model holds."""
    from ._samples import Input

    plain = {name: value for name, value in options.items() if name in CompileOptions.__annotations__ and name not in ("samples", "scales")}
    return [Input(*each) for each in _core.sample_inputs(source.name, source.content, words_of(plain))]


def calibration_words(source: Source, calibrate: Samples, options: dict[str, Any], stack: ExitStack) -> list[str]:
    """`--calibrate PATH`, where samples of an iterable are put down for as long as the stack is open. Takes `samples` out of the
    options where it is obeyed here."""
    if calibrate is None:
        return []
    if is_path(calibrate):
        if calibrate == "random":
            warnings.warn("calibrated with random numbers: good for measuring speed, its answers are worthless", stacklevel=3)
        return words_of({"calibrate": calibrate})
    from ._samples import spooled

    limit = options.pop("samples", None)
    path = stack.enter_context(spooled(calibrate, sample_inputs(source, options), limit))  # type: ignore[arg-type]
    return words_of({"calibrate": path})


def temporary_folder(stack: ExitStack) -> str:
    """One that lasts for as long as the stack is open."""
    import tempfile

    return stack.enter_context(tempfile.TemporaryDirectory(prefix="octavo-"))


def as_file(source: Source, stack: ExitStack) -> str:
    """The model as a file, for the command."""
    if source.content is None:
        return source.name
    path = os.path.join(temporary_folder(stack), os.path.basename(source.name) or "model")
    with open(path, "wb") as file:
        file.write(source.content)
    return path


def _told(progress: Progress, work: Any) -> Any:
    bars = shown(progress)
    try:
        return work(bars)
    finally:
        if bars is not None:
            bars.close()


def _compiled_by_command(source: Source, words: Sequence[str], progress: Progress, stack: ExitStack) -> _core.CompiledModel:
    from . import _command

    path = os.path.join(temporary_folder(stack), "model.octv")
    done = _command.run(["compile", as_file(source, stack), "-o", path, *words], progress)
    if done.code != 0:
        warnings.warn(done.text.strip(), stacklevel=4)
    with open(path, "rb") as file:
        return _core.open(source.name, file.read())


def compile(
    model: Any,
    calibrate: Samples = None,
    *,
    precision: str | None = None,
    example_inputs: Sequence[Any] | None = None,
    dynamic_shapes: Any = None,
    threads: int = 0,
    plan_cache_bytes: int = 64 << 20,
    context_bytes: int = 0,
    max_iterations: int = 1_000_000,
    device: int = 0,
    max_drop: float | None = None,
    metric: str | None = None,
    images: PathLike | None = None,
    labels: PathLike | None = None,
    search_log: PathLike | None = None,
    report: PathLike | None = None,
    scales_out: PathLike | None = None,
    cache_dir: PathLike | None = None,
    progress: Progress = None,
    **options: Unpack[CompileOptions],
) -> Model:
    """A model file, or what torch and onnx have in memory, as a `Model` that runs.

    `model`: see `docs/python.md`, Models. `calibrate`: samples for quantizing an fp32 file: a path as the command line takes it, or any
    iterable of arrays, mappings or tuples (a DataLoader, a generator), read once. `precision`: "int8", "fp32", "tf32" (beside target="cuda") or "auto"; default: int8
    where the file is quantized or samples are given; else an error, or fp32 with `unquantized="fp32"`. The other options are those of `octavo compile`, by the same names (docs/cli.md),
    `threads`, `plan_cache_bytes`, `context_bytes`, `max_iterations` and `device` are those of `load`. `cache_dir`: see `octavo.cache_dir`. `progress`: None shows it on a terminal and
    in a notebook; False, True, or a function of (phase, done, total).

    Raises UsageError, InvalidInputError, UnsupportedError, ResourceError, each with all problems in `.errors`; KeyboardInterrupt; and
    what `calibrate` raises. Other Python threads run meanwhile."""
    source = source_of(model, example_inputs, dynamic_shapes)
    of_command = {"max_drop": max_drop, "metric": metric, "images": images, "labels": labels, "search_log": search_log, "report": report, "scales_out": scales_out}
    rest: dict[str, Any] = dict(options)
    with ExitStack() as stack:
        words = calibration_words(source, calibrate, rest, stack)
        words += words_of({"precision": precision, "threads": threads or None, **rest, **of_command})
        if any(value is not None for value in of_command.values()):
            compiled = _compiled_by_command(source, words, progress, stack)
        else:
            make = lambda: _told(progress, lambda bars: _core.compile(source.name, source.content, words, bars))  # noqa: E731
            compiled = _cache.found_or_made(source, words, cache_dir, make, samples_are_temporary=not is_path(calibrate))
    return Model(compiled, threads=threads, plan_cache_bytes=plan_cache_bytes, context_bytes=context_bytes, max_iterations=max_iterations, device=device)


class QuantizedModel:
    """An fp32 model with quantize/dequantize pairs, as a standard ONNX file (opset 17), and what the samples taught."""

    def __init__(self, onnx: bytes, scales: str, kept_in_float: Sequence[str], report: Report | None = None) -> None:
        self.onnx = onnx  #: the file; `octavo.compile(quantized.onnx)` makes what compiling the original does
        self.scales: dict[str, Any] = json.loads(scales)  #: the object of `--scales-out`
        self.kept_in_float = list(kept_in_float)  #: "node: reason"
        self.report = report  #: of `--report`, where it was asked for
        self.source = str(self.scales.get("model", "model"))

    def to_bytes(self) -> bytes:
        """The ONNX file."""
        return self.onnx

    def save(self, path: PathLike) -> None:
        """Writes the ONNX file. Raises OSError."""
        with open(path, "wb") as file:
            file.write(self.onnx)

    def save_scales(self, path: PathLike) -> None:
        """Writes the scales, for `scales=`. Raises OSError."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.scales, file)

    def __repr__(self) -> str:
        return f"<octavo.QuantizedModel {self.source}: {len(self.scales['tensors'])} tensors, {len(self.kept_in_float)} nodes kept in float>"


def _quantized_by_command(source: Source, words: Sequence[str], report: bool, progress: Progress, stack: ExitStack) -> QuantizedModel:
    from . import _command

    folder = temporary_folder(stack)
    onnx, scales, told = (os.path.join(folder, name) for name in ("model.onnx", "scales.json", "report.json"))
    words = ["quantize", as_file(source, stack), "-o", onnx, "--scales-out", scales, *words, *words_of({"report": told if report else None})]
    done = _command.run(words, progress)
    if done.code != 0:
        warnings.warn(done.text.strip(), stacklevel=4)
    kept = [line.removeprefix("kept in float: ") for line in done.text.splitlines() if line.startswith("kept in float: ")]
    with open(onnx, "rb") as file, open(scales, encoding="utf-8") as learnt:
        return QuantizedModel(file.read(), learnt.read(), kept, _report_in(told, done.text) if report else None)


def _report_in(path: str, text: str) -> Report:
    with open(path, encoding="utf-8") as file:
        return Report(json.load(file), "quantize", text)


def quantize(
    model: Any,
    samples: Samples = None,
    *,
    limit: int | None = None,
    example_inputs: Sequence[Any] | None = None,
    dynamic_shapes: Any = None,
    max_drop: float | None = None,
    metric: str | None = None,
    images: PathLike | None = None,
    labels: PathLike | None = None,
    search_log: PathLike | None = None,
    report: bool = False,
    progress: Progress = None,
    **options: Unpack[QuantizeOptions],
) -> QuantizedModel:
    """An fp32 model as a standard ONNX file with quantize/dequantize pairs, which other programs read, too.

    `model`, `samples` and `progress` as for `compile`; `limit`: at most so many samples (`--samples`). The other options are those of
    `octavo quantize`; `report`: also what quantizing costs every tensor. Raises what `compile` raises."""
    source = source_of(model, example_inputs, dynamic_shapes)
    of_command = {"max_drop": max_drop, "metric": metric, "images": images, "labels": labels, "search_log": search_log}
    rest: dict[str, Any] = {**options, **({} if limit is None else {"samples": limit})}
    with ExitStack() as stack:
        words = calibration_words(source, samples, rest, stack) + words_of({**rest, **of_command})
        if report or any(value is not None for value in of_command.values()):
            return _quantized_by_command(source, words, report, progress, stack)
        made = _told(progress, lambda bars: _core.quantize(source.name, source.content, words, bars))
        return QuantizedModel(made.onnx(), made.scales(), made.kept_in_float())
