"""`octavo.search`: which options, and which layers in fp32, are the fastest within an accuracy budget, or the most
accurate within a latency; on this machine or on many."""

from __future__ import annotations

import importlib.util
from contextlib import ExitStack
from typing import Any, Iterable, Mapping, Sequence, Unpack

from .._compile import Samples, _told, compile
from .._errors import usage
from .._progress import Progress
from .._sources import source_of
from .._words import CompileOptions, PathLike
from ..metrics import Metric
from .front import Point
from .result import SearchResult

_SAMPLERS = ("tpe", "nsga2", "random", "grid", "xgb")


def _check_packages(sampler: str, workers: Any) -> None:
    wanted = ["optuna", *(["distributed"] if workers is not None else []), *(["xgboost"] if sampler == "xgb" else [])]
    missing = [name for name in wanted if importlib.util.find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(
            f"octavo.search: {', '.join(missing)} not installed. pip install octavo[search]", name=missing[0]
        )


def _check(max_drop: float | None, latency: float | None, trials: int, bands: int, sampler: str) -> None:
    if max_drop is None and latency is None:
        raise usage("search", "neither max_drop nor latency", "one of the two, or both")
    if sampler not in _SAMPLERS:
        raise usage("sampler", repr(sampler), f"one of {', '.join(_SAMPLERS)}")
    for name, value in (("trials", trials), ("bands", bands)):
        if value < 0:
            raise usage(name, str(value), "a number from 0 on")


def search(
    model: Any,
    data: Iterable[Any],
    metric: Metric = "top1",
    *,
    calibrate: Samples = None,
    max_drop: float | None = None,
    latency: float | None = None,
    trials: int = 64,
    sampler: str = "tpe",
    space: Mapping[str, Sequence[Any]] | None = None,
    bands: int = 6,
    storage: PathLike | None = None,
    workers: Any = None,
    measurement_log: PathLike | None = None,
    threads: int = 0,
    bench_seconds: float = 0.25,
    seed: int = 0,
    example_inputs: Sequence[Any] | None = None,
    dynamic_shapes: Any = None,
    progress: Progress = None,
    **options: Unpack[CompileOptions],
) -> SearchResult:
    """The fastest int8 variant of an fp32 model that loses no more than `max_drop`, or the most accurate one that
    runs within `latency` ms, with the front between the two. Needs `pip install octavo[search]`.

    `model`, `example_inputs`, `progress` and the options as for `compile`; these are then the same for all. `data`:
    (input, label) pairs or batches, read once and kept in memory. `metric`: "top1" or "top5" (in percent),
    "miou", "map", "spearman" (octavo.metrics), or any function of (outputs, labels) that gives a number, higher being better: outputs along a leading axis (by name
    where the model has several), labels likewise, or lists where shapes differ. `calibrate`: samples as for `compile`
    (default: the inputs of `data`). `max_drop` is in the metric's unit, against the model in fp32.

    `space`: values of options to choose among (default: `calibration`, `weights`, `corrections`). Layers are put into
    at most `bands` bands by the noise that each makes alone in integers; each band is in fp32 or not (0: all in
    int8). `sampler`: "tpe", "nsga2", "random", "grid" (all, in order), "xgb" (boosted trees rank what was not tried).
    `trials`: measured in all, those of `storage` included; the default options and the ladder of bands come first,
    but for the grid.

    `storage`: a journal (Optuna's). The same call goes on where it was ended, however that was; several may share it
    at the same time. `workers`: a number of processes on this machine, or a `dask.distributed.Client`. Accuracy
    spreads over all; times are taken alone on a machine, on workers with the resource "bench" where there are such,
    by `octavo bench` with `threads` (0: all cores) for `bench_seconds` each, in turns with fp32, and are added to
    `measurement_log`. Workers that die lose what they had at hand, which begins anew.

    Raises what `compile` and the metric raise, UsageError, KeyboardInterrupt (all is kept), ModuleNotFoundError."""
    _check(max_drop, latency, trials, bands, sampler)
    _check_packages(sampler, workers)
    from .driver import Driver
    from .prepare import prepare

    source = source_of(model, example_inputs, dynamic_shapes)
    with ExitStack() as stack:
        prepared = prepare(
            source, data, metric, calibrate, dict(options), space, bands, threads, bench_seconds, stack, progress
        )
        driver = Driver(prepared, max_drop, latency, trials, sampler, storage, workers, measurement_log, seed)
        space_found, points, fp32, best, rejected = _told(progress, driver.run)
        samples = None if best.is_fp32 else prepared.calibration_path
        options_found = space_found.compile_options(best.choice)
        made = compile(source, samples, threads=threads, progress=progress, **options_found)
    return SearchResult(
        points,
        fp32,
        best,
        space_found,
        made,
        source=source.name,
        samples=prepared.samples_name,
        metric=prepared.metric_name,
        max_drop=max_drop,
        latency=latency,
        rejected=rejected,
    )


__all__ = ["Point", "SearchResult", "search"]
