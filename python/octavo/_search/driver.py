"""The search itself: asks for choices, has them judged and timed, and tells. The journal is its alone; workers know
nothing of it."""

from __future__ import annotations

import contextlib
import math
import random
import time
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from .._errors import InvalidInputError, UnsupportedError, UsageError, usage
from .._words import PathLike, words_of
from . import job as work
from . import journal, log
from .front import Point, best_of, excess_of
from .interrupts import Interrupts
from .job import Judged, Timed
from .pools import Done, Pool, pool_of
from .prepare import Prepared
from .samplers import distributions_of, key_of, sampler_of, visited
from .space import Choice, Space, bands_of

_TIMED_TOGETHER = 8
_STALE_SECONDS = 2.0  # between two looks for what others left
_REFUSALS = (UsageError, InvalidInputError, UnsupportedError)


class Found(NamedTuple):
    """What is in the journal in the end."""

    space: Space
    points: list[Point]
    fp32: Point
    best: Point
    rejected: dict[int, str]


class _Ready(NamedTuple):
    """Judged, not timed yet."""

    trial: Trial
    options: Mapping[str, Any]
    judged: Judged


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Optuna tells of every study."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(level)


class Driver:
    """One search; `run` once."""

    def __init__(
        self,
        prepared: Prepared,
        max_drop: float | None,
        latency: float | None,
        trials: int,
        sampler: str,
        storage: PathLike | None,
        workers: Any,
        measurement_log: PathLike | None,
        seed: int,
    ) -> None:
        self._prepared = prepared
        self._limits = (max_drop, latency)
        self._trials = trials
        self._sampler_name, self._seed = sampler, seed
        self._storage, self._workers, self._log = storage, workers, measurement_log
        self._journal = None if storage is None else str(storage)
        self._draw = random.Random(seed)
        self._judging: dict[int, Trial] = {}
        self._ready: list[_Ready] = []
        self._timing: list[_Ready] = []
        self._timed_together = _TIMED_TOGETHER
        self._exhausted = False
        self._looked = 0.0

    def run(self, bars: Any) -> Found:
        """Everything. Whatever ends it, trials that are not done are enqueued again for the next search."""
        self._bars = bars or (lambda phase, done, total: None)
        with _quiet(), Interrupts() as self._interrupts, contextlib.ExitStack() as stack:
            self._owner = journal.Owner(self._journal)
            stack.callback(self._owner.close)
            self._job = self._prepared.job._replace(key=f"{self._prepared.key}-{self._owner.name}")
            self._study = journal.study_of(journal.storage_of(self._storage), f"octavo {self._prepared.key}")
            self._pool: Pool = pool_of(self._workers)
            stack.callback(self._pool.close)
            self._pool.begin(self._job)
            self._space = self._space_by_noise()
            self._distributions = distributions_of(self._space)
            self._study.sampler = sampler_of(self._sampler_name, self._space, self._seed)
            self._fp32_metric = self._judged_fp32()
            stack.callback(self._give_up_rest)
            if self._sampler_name != "grid":
                for choice in self._space.ladder():
                    self._study.enqueue_trial(choice, skip_if_exists=True)
            self._work()
            return self._found()

    def _submit(self, tag: Any, function: Any, *args: Any, alone: bool = False) -> None:
        with self._interrupts.passing():
            self._pool.submit(tag, function, self._job.key, *args, alone=alone)

    def _wait(self) -> list[Done]:
        with self._interrupts.passing():
            return self._pool.wait()

    # What is known before the first trial

    def _all(self, phase: str, tags: Sequence[Any], function: Any) -> dict[Any, Any]:
        """Results by tag, as many at a time as the workers take."""
        left, running = list(reversed(tags)), 0
        results: dict[Any, Any] = {}
        while left or running:
            while left and running < self._pool.capacity():
                self._submit(left[-1], function, left.pop())
                running += 1
            for done in self._wait():
                results[done.tag] = self._answer(done)
                running -= 1
            self._bars(phase, len(results), len(tags))
        return results

    def _space_by_noise(self) -> Space:
        groups = self._prepared.job.groups
        stored = self._study.user_attrs.get("bands")
        if stored is None:
            asked = range(len(groups)) if self._prepared.bands and len(groups) > 1 else ()
            noise = self._all("looking at layers", list(asked), work.noise_of)
            found = bands_of([noise[group] for group in asked], self._prepared.bands) if asked else []
            stored = [[node for group in band for node in groups[group]] for band in found]
            self._study.set_user_attr("bands", stored)
        return Space(self._prepared.values, stored, self._prepared.job.fixed)

    def _judged_fp32(self) -> float:
        stored = self._study.user_attrs.get("fp32 metric")
        if stored is None:
            self._bars("judging fp32", 0, 0)
            self._submit("fp32", work.judge, self._space.compile_options(None))
            stored = self._answer(self._wait()[0]).metric
            self._study.set_user_attr("fp32 metric", stored)
        return float(stored)

    # Trials

    def _work(self) -> None:
        while True:
            self._look_around()
            self._ask()
            self._time()
            if not self._judging and not self._timing:
                if not journal.has_unnamed(self._study):
                    return
                with self._interrupts.passing():
                    time.sleep(_STALE_SECONDS / 4)
                continue
            for done in self._wait():
                self._timed(done) if done.tag == "time" else self._judged(done)
            self._bars("searching", len(self._done()), self._trials)

    def _done(self) -> dict[tuple[Any, ...], FrozenTrial]:
        """Choices that were measured or rejected."""
        trials = self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.FAIL))
        done = [trial for trial in trials if trial.state == TrialState.COMPLETE or "error" in trial.user_attrs]
        return {key_of(trial.params): trial for trial in reversed(done)}  # of equal choices the first

    def _look_around(self) -> None:
        if time.monotonic() - self._looked > _STALE_SECONDS:
            journal.take_over_stale(self._study, self._journal)
            self._looked = time.monotonic()

    def _wants_more(self) -> bool:
        own = len(self._judging) + len(self._ready) + len(self._timing)
        others = sum(trial.user_attrs.get("owner") != self._owner.name for trial in journal.running(self._study))
        return not self._exhausted and len(self._done()) + own + others < self._trials

    def _has_room(self) -> bool:
        most = self._pool.capacity()
        if self._pool.takes_turns:
            return not self._timing and len(self._judging) + len(self._ready) < most
        return len(self._judging) < most and len(self._ready) < 2 * _TIMED_TOGETHER

    def _ask(self) -> None:
        while self._has_room() and self._wants_more():
            trial = self._study.ask(self._distributions)
            if self._is_own(trial) and not self._is_known(trial):
                options = self._space.compile_options(trial.params)
                self._judging[trial.number] = trial
                self._submit(trial.number, work.judge, options)

    def _is_own(self, trial: Trial) -> bool:
        """Says whose it is. False: this process slept for so long that others took it over."""
        try:
            trial.set_user_attr("owner", self._owner.name)
            trial.set_user_attr("sampler", self._sampler_name)
        except optuna.exceptions.UpdateFinishedTrialError:
            return False
        return True

    def _is_known(self, trial: Trial) -> bool:
        """Answers a choice that has been measured, gives up one that is at work, and sees to it that the next one is
        new."""
        known = self._done().get(key_of(trial.params))
        own = [*self._judging.values(), *(ready.trial for ready in (*self._ready, *self._timing))]
        if known is None and all(key_of(each.params) != key_of(trial.params) for each in own):
            return False
        if known is not None and known.values is not None:
            trial.set_user_attr("same as", known.number)
            self._tell_values(trial, Point(*known.values))
        else:
            trial.set_user_attr("same as", -1)
            self._study.tell(trial, state=TrialState.FAIL)
        self._enqueue_fresh()
        return True

    def _enqueue_fresh(self) -> None:
        seen = visited(self._study)
        fresh = next(
            (choice for choice in (self._space.draw(self._draw) for _ in range(200)) if key_of(choice) not in seen),
            None,
        )
        if fresh is None:
            fresh = next((choice for choice in self._space.grid() if key_of(choice) not in seen), None)
        if fresh is None:
            self._exhausted = True
        elif self._sampler_name != "grid":
            self._study.enqueue_trial(fresh)

    def _reject(self, trial: Trial, reason: str) -> None:
        trial.set_user_attr("error", reason)
        self._study.tell(trial, state=TrialState.FAIL)

    def _judged(self, done: Done) -> None:
        trial = self._judging.pop(done.tag)
        if not self._is_answer(done.outcome):
            self._reject(trial, str(done.outcome))
        elif not math.isfinite(done.outcome.metric):
            self._reject(trial, f"the metric is {done.outcome.metric}")
        else:
            self._ready.append(_Ready(trial, self._space.compile_options(trial.params), done.outcome))

    def _is_answer(self, outcome: Any) -> bool:
        """False: a choice that cannot be. Raises what is no fault of the choice."""
        if not isinstance(outcome, BaseException):
            return True
        if isinstance(outcome, _REFUSALS) or type(outcome).__name__ == "KilledWorker":
            return False
        raise outcome

    # Times

    def _time(self) -> None:
        if not self._ready or self._timing or (self._pool.takes_turns and self._judging):
            return
        self._timing, self._ready = self._ready[: self._timed_together], self._ready[self._timed_together :]
        variants = [(ready.options, ready.judged) for ready in self._timing]
        self._submit("time", work.time_of, variants, alone=True)

    def _timed(self, done: Done) -> None:
        batch = list(self._timing)
        if not self._is_answer(done.outcome):
            self._timing = []
            if len(batch) > 1:  # from now on one by one, to know which it is
                self._timed_together, self._ready = 1, batch + self._ready
            else:
                self._reject(batch[0].trial, str(done.outcome))
            return
        for ready, timed in zip(batch, done.outcome):
            self._tell(ready, timed)
            self._timing.remove(ready)

    def _tell(self, ready: _Ready, timed: Timed) -> None:
        """Times are told as if fp32 always took what it took first: machines have their moods."""
        machine = self._study.user_attrs.get("machine", timed.machine)
        if machine != timed.machine:
            raise usage(
                "storage",
                f"times of {machine}",
                f"those of {timed.machine}",
                "Another storage, or machines of one kind",
            )
        if "machine" not in self._study.user_attrs:
            self._study.set_user_attr("machine", machine)
        usual = self._study.user_attrs.get("fp32 ms")
        if usual is None:
            usual = timed.fp32_ms
            self._study.set_user_attr("fp32 ms", usual)
        point = Point(ready.judged.metric, timed.ms / timed.fp32_ms * usual, ready.trial.params)
        self._tell_values(ready.trial, point)
        if self._log is not None:
            values = {"ms": timed.ms, "fp32_ms": timed.fp32_ms, "metric": max(point.metric, 0.0)}
            subject = f"search {self._prepared.key}, {len(self._prepared.job.examples.inputs)} samples"
            log.append(self._log, [log.line_of(timed.machine, subject, " ".join(words_of(ready.options)), values)])

    def _tell_values(self, trial: Trial, point: Point) -> None:
        fp32 = Point(self._fp32_metric, float(self._study.user_attrs["fp32 ms"]))
        for index, excess in enumerate(excess_of(point, fp32, *self._limits)):
            trial.set_constraint(f"limit {index}", excess)
        self._study.tell(trial, [point.metric, point.ms])

    # The end

    def _give_up_rest(self) -> None:
        rest = [*self._judging.values(), *(ready.trial for ready in (*self._timing, *self._ready))]
        numbers = {trial.number for trial in rest}
        for trial in journal.running(self._study):
            if trial.number in numbers or trial.user_attrs.get("owner") == self._owner.name:
                journal.give_up(self._study, trial, again=True)

    def _found(self) -> Found:
        done = self._done()
        usual = self._study.user_attrs.get("fp32 ms")
        rejected = {trial.number: str(trial.user_attrs["error"]) for trial in done.values() if trial.values is None}
        fp32 = Point(self._fp32_metric, self._fp32_ms() if usual is None else usual)
        points = [self._point(trial) for trial in done.values() if trial.values is not None]
        return Found(self._space, points, fp32, best_of([*points, fp32], fp32, *self._limits), rejected)

    def _point(self, trial: FrozenTrial) -> Point:
        choice: Choice = {name: trial.params[name] for name in self._space.axes}
        return Point(trial.values[0], trial.values[1], choice, trial.user_attrs.get("sampler", ""), trial.number)

    def _fp32_ms(self) -> float:
        """Where no trial was: fp32 beside itself."""
        self._submit("fp32", work.judge, self._space.compile_options(None))
        judged = self._answer(self._wait()[0])
        self._submit("fp32", work.time_of, [({}, judged)], alone=True)
        return float(self._answer(self._wait()[0])[0].fp32_ms)

    def _answer(self, done: Done) -> Any:
        if isinstance(done.outcome, BaseException):
            raise done.outcome
        return done.outcome
