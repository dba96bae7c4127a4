"""`octavo.tune` on several machines of one kind: each worker has a share of the trials and a seed of its own, their
logs become one, and one worker times the best of all in turns."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Mapping, NamedTuple

from .._errors import usage
from .._report import Report
from .._words import PathLike
from . import log
from .files import write_files, write_model
from .job import machine_name
from .pools import Seen, checked


class Network(NamedTuple):
    """A model and its samples (None: without), as files for another machine."""

    name: str
    content: bytes | None
    samples: Mapping[str, bytes] | str | None


def share(network: Network, known: list[str], options: Mapping[str, Any]) -> tuple[Report, list[str], str]:
    """Tunes here, with the lines of a log to begin with. The report, the lines that came to be, and this machine."""
    from .._verbs import tune

    with tempfile.TemporaryDirectory(prefix="octavo-tune-") as folder:
        path = write_model(folder, network.name, network.content)
        samples = network.samples
        if samples is not None and not isinstance(samples, str):
            samples = write_files(os.path.join(folder, "samples"), samples)
        kept = os.path.join(folder, "log")
        log.append(kept, known)
        report = tune(path, calibrate=samples, tuning_log=kept, progress=False, **options)
        return report, log.lines_of(kept)[len(known) :], machine_name()


def tune_on(client: Any, network: Network, tuning_log: PathLike, options: Mapping[str, Any]) -> Report:
    """On every worker with the resource "bench"; without such on one of each machine. What a worker has measured is in
    the log as soon as it is done. Raises UsageError where machines differ, and what tuning raises."""
    from distributed import as_completed

    def submit(worker: Seen, more: Mapping[str, Any]) -> Any:
        alone = {"resources": {"bench": 1}} if worker.bench else {}
        known = log.lines_of(tuning_log)
        return client.submit(share, network, known, {**options, **more}, workers=[worker.host], pure=False, **alone)

    workers = _sharers(checked(client))
    trials, seed = int(options.get("trials", 1000)), int(options.get("seed", 0))
    each = {"trials": -(-trials // len(workers)), "bench_seconds": 0.01}
    futures = [submit(worker, {**each, "seed": seed + i}) for i, worker in enumerate(workers)]
    machines = set()
    for future in as_completed(futures):
        _, lines, machine = future.result()
        log.append(tuning_log, lines)
        machines.add(machine)
    if len(machines) > 1:
        raise usage("workers", f"machines of {len(machines)} kinds: {' and '.join(sorted(machines))}", "one kind")
    # Nothing is left to try, but the best of all are timed again beside each other.
    report, lines, _ = submit(workers[0], {"trials": 1}).result()
    log.append(tuning_log, lines)
    return report  # type: ignore[no-any-return]


def _sharers(workers: list[Seen]) -> list[Seen]:
    bench = [each for each in workers if each.bench]
    return bench or list({each.host: each for each in workers}.values())
