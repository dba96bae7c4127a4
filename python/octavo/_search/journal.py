"""The shared record: an Optuna study in a journal that any number of searches may continue at the same time.

Each search holds a lock beside the journal for as long as it lives; the operating system lets go of it however the
search ends. A trial of a search whose lock is free is stale: it is given up, and its choice is enqueued again."""

from __future__ import annotations

import fcntl
import os
import socket
import time
import uuid
from typing import IO, Any, Sequence

import optuna
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.storages.journal._file import BaseJournalFileLock
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from .._words import PathLike

_UNNAMED_SECONDS = 30.0  # a running trial without an owner for so long lost it between two writes

# A process may take a lock that it already has: these are alive by being listed.
_own_names: set[str] = set()


class Owner:
    """One search's lock. With no journal there is nobody to tell."""

    def __init__(self, journal: str | None) -> None:
        self.name = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._path = None if journal is None else _lock_path(journal, self.name)
        self._file = None
        _own_names.add(self.name)
        if self._path is not None:
            self._file = open(self._path, "w", encoding="utf-8")
            fcntl.lockf(self._file, fcntl.LOCK_EX)

    def close(self) -> None:
        _own_names.discard(self.name)
        if self._file is not None and self._path is not None:
            os.unlink(self._path)
            self._file.close()


def _lock_path(journal: str, owner: str) -> str:
    return f"{journal}.{owner}.alive"


def is_alive(journal: str | None, owner: str) -> bool:
    """Whether that search goes on. What a dead one has left is removed."""
    if owner in _own_names:
        return True
    if journal is None:
        return False
    try:
        with open(_lock_path(journal, owner), "r+", encoding="utf-8") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(_lock_path(journal, owner))
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


class _Lock(BaseJournalFileLock):
    """Of writers, let go of by the operating system when one is killed: Optuna's own are files, which stay for half a
    minute then."""

    def __init__(self, journal: str) -> None:
        self._path = f"{journal}.lock"
        self._file: IO[str] | None = None

    def acquire(self) -> bool:
        self._file = open(self._path, "a", encoding="utf-8")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        return True

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _drop_torn_line(path: str, lock: _Lock) -> None:
    """A machine that lost its power may have left half a line, which nothing could be appended to."""
    lock.acquire()
    try:
        with open(path, "rb+") as file:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
    finally:
        lock.release()


def storage_of(path: PathLike | None) -> BaseStorage:
    """The journal, made where it is absent; None: in memory. Raises OSError."""
    if path is None:
        return InMemoryStorage()
    name = os.fspath(path)
    if os.path.exists(name) and os.path.getsize(name) > 0:
        _drop_torn_line(name, _Lock(name))
    return JournalStorage(JournalFileBackend(name, lock_obj=_Lock(name)))


def study_of(storage: BaseStorage, name: str) -> Study:
    """Metric upwards, ms downwards; made by whoever comes first."""
    return optuna.create_study(
        storage=storage,
        study_name=name,
        load_if_exists=True,
        directions=[StudyDirection.MAXIMIZE, StudyDirection.MINIMIZE],
    )


def _is_stale(trial: FrozenTrial, journal: str | None) -> bool:
    owner = trial.user_attrs.get("owner")
    if owner is not None:
        return not is_alive(journal, owner)
    started = trial.datetime_start
    return started is not None and time.time() - started.timestamp() > _UNNAMED_SECONDS


def _finished(study: Study, number: int) -> bool:
    """Gives the trial up; False where another search was quicker."""
    try:
        study.tell(number, state=TrialState.FAIL)
    except (ValueError, optuna.exceptions.UpdateFinishedTrialError):
        return False
    return True


def give_up(study: Study, trial: FrozenTrial, again: bool) -> None:
    """Ends a running trial without a result; `again`: its choice is to be tried once more."""
    choice: dict[str, Any] = trial.params or trial.system_attrs.get("fixed_params", {})
    if again:
        try:
            study._storage.set_trial_user_attr(trial._trial_id, "given up", True)
        except optuna.exceptions.UpdateFinishedTrialError:
            return
    if _finished(study, trial.number) and again and choice:
        study.enqueue_trial(choice)


def take_over_stale(study: Study, journal: str | None) -> int:
    """Enqueues what searches left that are gone; how many."""
    stale = [trial for trial in running(study) if _is_stale(trial, journal)]
    for trial in stale:
        give_up(study, trial, again=True)
    return len(stale)


def has_unnamed(study: Study) -> bool:
    """Whether a trial is at work that nobody has said to be his yet: either he will, or it becomes stale."""
    return any("owner" not in trial.user_attrs for trial in running(study))


def running(study: Study) -> Sequence[FrozenTrial]:
    """Trials at work, anybody's."""
    return study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
