"""What a worker does: it compiles a choice, judges its answers and times it. Everything that it needs comes with the
job."""

from __future__ import annotations

import functools
import json
import os
import shutil
import tempfile
import weakref
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np

from .. import _core
from .._compile import compile
from .._metric import stacked
from .._model import Model, load
from .._verbs import bench
from .examples import Examples, answers_of
from .files import write_files, write_model
from .space import fp32_options, pattern_of

_NOISE_SAMPLES = 16


class Job(NamedTuple):
    """A search, as every worker has it. Nothing in it is a file of the machine that started the search, but for a
    folder of samples and a model with weights in other files."""

    key: str
    model_name: str
    model: bytes | None  #: None: the file of that name
    calibration: (
        Mapping[str, bytes] | str
    )  #: files of one folder, the only one or the folder is the path; or a path as it is
    fixed: Mapping[str, Any]  #: options of all compilations
    examples: Examples
    metric: Callable[[Any, Any], float]
    threads: int
    seconds: float
    scales: str = ""  #: of the default options, for `noise_of`
    groups: Sequence[Sequence[str]] = ()


class Timed(NamedTuple):
    """The fastest of many runs, in turns with the network in fp32."""

    ms: float
    fp32_ms: float
    machine: str  #: as the log of measurements calls it


class Judged(NamedTuple):
    """What the answers are worth, and the compiled model, for this machine."""

    metric: float
    compiled: bytes
    machine: str


#: By key. A process has those that it was told of and that have not ended.
jobs: dict[str, Job] = {}
_opened: dict[str, "Opened"] = {}


class Opened:
    """A job with its files on this machine's disk, for as long as it lasts."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.folder = tempfile.mkdtemp(prefix="octavo-search-")
        self._remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self.model = write_model(self.folder, job.model_name, job.model)
        samples = job.calibration
        self.calibration = samples if isinstance(samples, str) else write_files(self.folder + "/samples", samples)
        self.scales = write_files(self.folder, {"default.scales.json": job.scales.encode()})

    def compiled(self, options: Mapping[str, Any]) -> Model:
        """With these options, those of fp32 without samples."""
        samples = None if options.get("precision") == "fp32" else self.calibration
        return compile(self.model, samples, threads=1, cache_dir="", progress=False, **options)

    def in_fp32(self) -> Model:
        """The network as it came."""
        return self.compiled(fp32_options(self.job.fixed))

    @functools.cached_property
    def fp32_answers(self) -> list[np.ndarray]:
        """Of the first examples."""
        return _flat(answers_of(self.in_fp32(), self.job.examples.inputs[:_NOISE_SAMPLES]))

    def close(self) -> None:
        self._remove()


def _opened_job(key: str) -> Opened:
    if key not in _opened:
        _opened[key] = Opened(jobs[key])
    return _opened[key]


def forget(key: str) -> None:
    """Ends a job here."""
    jobs.pop(key, None)
    opened = _opened.pop(key, None)
    if opened is not None:
        opened.close()


def _flat(answers: Any) -> list[np.ndarray]:
    outputs = answers.values() if isinstance(answers, dict) else (answers,)
    return [np.concatenate([np.ravel(each) for each in output]).astype(np.float64) for output in outputs]


def judge(key: str, options: Mapping[str, Any]) -> Judged:
    """The metric of all examples. Raises what compiling and the metric raise."""
    opened = _opened_job(key)
    model = opened.compiled(options)
    examples = opened.job.examples
    metric = float(opened.job.metric(answers_of(model, examples.inputs), stacked(examples.labels)))
    return Judged(metric, model.to_bytes(), _core.machine())


def noise_of(key: str, group: int) -> float:
    """Energy of the outputs' errors over that of the outputs where this group of layers alone is in integers."""
    opened = _opened_job(key)
    groups = opened.job.groups
    skip = [pattern_of(node) for other, nodes in enumerate(groups) if other != group for node in nodes]
    fixed = {name: value for name, value in opened.job.fixed.items() if name not in ("skip", "samples")}
    options = {**fixed, "scales": opened.scales, "output_sqnr": None, **({"skip": skip} if skip else {})}
    model = compile(opened.model, precision="int8", threads=1, cache_dir="", progress=False, **options)
    got, exact = _flat(answers_of(model, opened.job.examples.inputs[:_NOISE_SAMPLES])), opened.fp32_answers
    error = sum(float(np.sum((a - b) ** 2)) for a, b in zip(got, exact))
    return error / max(sum(float(np.sum(b**2)) for b in exact), 1e-300)


def time_of(key: str, variants: Sequence[tuple[Mapping[str, Any], Judged]]) -> list[Timed]:
    """Times them all in turns, by `octavo bench`. A model that was compiled for another machine is compiled anew."""
    opened = _opened_job(key)
    here = _core.machine()
    paths = []
    for index, (options, judged) in enumerate(variants):
        model = load(judged.compiled) if judged.machine == here else opened.compiled(options)
        paths.append(os.path.join(opened.folder, f"{index}.octv"))
        model.save(paths[-1])
    paths.append(os.path.join(opened.folder, "fp32.octv"))
    if not os.path.exists(paths[-1]):
        opened.in_fp32().save(paths[-1])
    report = bench(*paths, threads=opened.job.threads or None, seconds=opened.job.seconds, progress=False)
    first: dict[str, float] = {}
    for run in report["runs"]:
        first.setdefault(os.path.basename(run["model"]), run["latency_ms"]["min"])
    times = [first[os.path.basename(path)] for path in paths]
    return [Timed(ms, times[-1], machine_name()) for ms in times[:-1]]


def machine_name() -> str:
    """What the log of measurements calls this machine."""
    machine = json.loads(_core.machine())
    caches = ", ".join(f"{machine[f'l{level}_bytes'] // 1024} KB L{level}" for level in (1, 2, 3))
    return f"{machine['name']}; {machine['isa']}; {caches}"
