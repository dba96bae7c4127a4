"""What a search needs before it begins: examples, samples as files, groups of layers, and a name for all of it."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import ExitStack
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

import numpy as np

from .. import _core
from .._compile import Samples, _told, calibration_words, sample_inputs
from .._errors import usage
from .._progress import Progress
from .._samples import as_numpy
from .._sources import Source
from .._words import QuantizeOptions, is_path, words_of
from ..metrics import Metric, named
from .examples import Examples, examples_of
from .files import files_of, model_content, model_name
from .job import Job
from .space import checked_options


class Prepared(NamedTuple):
    """`values`: of each option that is searched. `key`: the same for searches that may share their trials."""

    job: Job
    key: str
    values: Mapping[str, Sequence[Any]]
    bands: int
    metric_name: str
    calibration_path: str
    samples_name: str


def _hashed(values: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for value in values:
        content = value if isinstance(value, (bytes, bytearray, memoryview)) else str(value).encode()
        digest.update(f"{len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


def _hashed_examples(examples: Examples) -> str:
    def parts() -> Iterable[Any]:
        for arrays, label in zip(examples.inputs, examples.labels):
            for array in arrays:
                yield f"{array.dtype}{array.shape}"
                yield np.ascontiguousarray(array).tobytes()
            yield as_numpy(label).tobytes() if hasattr(label, "shape") else repr(label)

    return _hashed(parts())


def _learnt(source: Source, calibration: str, fixed: Mapping[str, Any], progress: Progress) -> _core.QuantizedModel:
    """By the default options: which layers there are, and scales."""
    plain = {
        name: value
        for name, value in fixed.items()
        if name in (*QuantizeOptions.__annotations__, "samples") and name not in ("skip", "activations")
    }
    words = words_of({"calibrate": calibration, **plain})
    learnt: _core.QuantizedModel = _told(
        progress, lambda bars: _core.quantize(source.name, source.content, words, bars)
    )
    return learnt


def prepare(
    source: Source,
    data: Iterable[Any],
    metric: Metric,
    calibrate: Samples,
    fixed: dict[str, Any],
    space: Mapping[str, Sequence[Any]] | None,
    bands: int,
    threads: int,
    seconds: float,
    stack: ExitStack,
    progress: Progress,
) -> Prepared:
    """Reads everything once; samples stay on disk for as long as the stack is open."""
    if is_path(calibrate) and calibrate == "random":
        raise usage("calibrate", "'random'", "samples: answers are to be judged")
    name, function = named(metric)
    values = checked_options(space, fixed)
    examples = examples_of(data, sample_inputs(source, fixed))
    path = calibration_words(source, examples.inputs if calibrate is None else calibrate, fixed, stack)[0].split(
        "=", 1
    )[1]
    if "output_sqnr" not in values:
        fixed.setdefault("output_sqnr", 0)  # the search decides by itself what stays in fp32
    given_folder = is_path(calibrate) and os.path.isdir(path)
    calibration = os.path.abspath(path) if given_folder else files_of(path)
    content = model_content(source)
    learnt = _learnt(source, path, fixed, progress)
    samples = sorted(files_of(path).items())
    key = _hashed(
        [
            _core.version(),
            source.read(),
            *[part for pair in samples for part in pair],
            _hashed_examples(examples),
            name,
            json.dumps([fixed, values, bands, threads], default=str, sort_keys=True),
        ]
    )
    job = Job(
        key=key[:16],
        model_name=model_name(source),
        model=content,
        calibration=calibration,
        fixed=fixed,
        examples=examples,
        metric=function,
        threads=threads,
        seconds=seconds,
        scales=learnt.scales(),
        groups=learnt.groups(),
    )
    return Prepared(job, key[:16], values, bands, name, path, path if is_path(calibrate) else "SAMPLES")
