"""octavo.search with Optuna and Dask: it goes on where it was ended, whatever ended it, and on many workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import octavo

optuna = pytest.importorskip("optuna", reason="needs optuna: pip install octavo[search]")
distributed = pytest.importorskip("distributed", reason="needs distributed: pip install octavo[search]")
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")]

from octavo._search.log import HEAD  # noqa: E402
from searching import search  # noqa: E402

COMPLETE, RUNNING = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.RUNNING


@pytest.fixture(autouse=True)
def pids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "pids"
    folder.mkdir()
    monkeypatch.setenv("OCTAVO_TEST_PIDS", str(folder))
    return folder


def trials_of(journal: Path) -> list[Any]:
    """Of the only study."""
    if not journal.exists():
        return []
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(journal)))
    studies = storage.get_all_studies()
    return storage.get_all_trials(studies[0]._study_id) if studies else []


def complete(journal: Path) -> dict[int, Any]:
    return {trial.number: trial for trial in trials_of(journal) if trial.state == COMPLETE}


def at_work(journal: Path) -> list[Any]:
    """Trials that somebody has begun."""
    return [trial for trial in trials_of(journal) if trial.state == RUNNING and "owner" in trial.user_attrs]


def until(is_so: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def started(journal: Path, trials: int, pids: Path, *workers: str) -> subprocess.Popen[str]:
    """In a session of its own, with all its workers."""
    script = str(Path(__file__).with_name("searching.py"))
    return subprocess.Popen(
        [sys.executable, script, str(journal), str(trials), str(pids), *workers],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def choices(trials: Any) -> set[tuple[Any, ...]]:
    return {tuple(sorted(trial.params.items())) for trial in trials}


@pytest.mark.parametrize("sampler", ["tpe", "nsga2", "random", "grid", "xgb"])
def test_every_sampler_finds_the_front(sampler: str, tmp_path: Path) -> None:
    if sampler == "xgb":
        pytest.importorskip("xgboost", reason="needs xgboost: pip install octavo[search]")
    found = search(
        None,
        14,
        metric="top1",
        sampler=sampler,
        space={"weights": ["mse", "max"], "calibration": ["auto", "minmax"]},
        bands=2,
        measurement_log=tmp_path / "log",
    )
    assert len(found.points) == 14 and not found.rejected
    assert len(choices_of(found)) == 14
    assert found.is_within and found.best.ms == min(
        point.ms for point in found.points if point.metric >= found.fp32.metric - 1.0
    )
    assert found.model.info["plans"][0]["precision"] == "int8"
    lines = (tmp_path / "log").read_text().splitlines()
    assert len(lines) == 15 and "fp32_ms" in lines[1]
    octavo.compile(
        octavo.zoo("squeezenet1_1"), precision="fp32", tuning_log=tmp_path / "log"
    )  # a log that the program reads
    found.save(tmp_path / "front.svg")
    found.save(tmp_path / "front.html", beside=found)
    assert "<svg" in found._repr_html_() and (tmp_path / "front.html").read_text().count("<svg") == 1
    with pytest.raises(octavo.UsageError, match=".svg or .html"):
        found.save(tmp_path / "front.png")


def choices_of(found: octavo.SearchResult) -> set[tuple[Any, ...]]:
    return {tuple(sorted(point.choice.items())) for point in found.points if point.choice is not None}


def test_a_space_that_is_used_up_ends_the_search() -> None:
    found = search(None, 50, metric="top1", space={"weights": ["mse", "max"]}, bands=1, sampler="tpe")
    assert len(found.points) == 4


def test_the_command_line_makes_the_same_model(digits_samples: np.ndarray, tmp_path: Path) -> None:
    found = search(None, 6, metric="top1", latency=100.0, max_drop=None)
    np.save(tmp_path / "samples.npy", digits_samples[:16])
    words = [
        str(tmp_path / "samples.npy") if word == "--calibrate=SAMPLES" else word
        for word in found.command().split(" ")
    ]
    words = [f"--calibrate={word}" if word.endswith("samples.npy") else word for word in words]
    subprocess.run([sys.executable, "-m", *words], check=True, capture_output=True, cwd=tmp_path)
    made = octavo.load(tmp_path / "digits.octv")
    np.testing.assert_array_equal(made(digits_samples[:1]), found.model(digits_samples[:1]))


def test_choices_that_cannot_be_are_rejected_and_others_go_on() -> None:
    found = search(
        None,
        6,
        metric="top1",
        space={"weights": ["max", "mse"], "global_scale": [None, -1.0]},
        bands=0,
        sampler="grid",
    )
    assert len(found.points) == 2 and len(found.rejected) == 2
    assert "a positive number" in next(iter(found.rejected.values())) and "2 choices were rejected" in str(found)


def test_what_a_metric_raises_comes_out(digits: str, digits_test: dict[str, np.ndarray]) -> None:
    def broken(outputs: Any, labels: Any) -> float:
        raise ZeroDivisionError("of the metric")

    with pytest.raises(ZeroDivisionError, match="of the metric"):
        octavo.search(digits, [(np.zeros((2, 1, 8, 8), np.float32), [1, 2])], broken, max_drop=1, trials=2)


def test_a_killed_search_goes_on(tmp_path: Path, pids: Path) -> None:
    journal = tmp_path / "journal.log"
    process = started(journal, 12, pids)
    until(lambda: len(complete(journal)) >= 3 and at_work(journal))
    process.kill()
    process.wait()
    before = complete(journal)
    lost = at_work(journal)
    assert 3 <= len(before) < 12
    found = search(str(journal), 12)
    after = complete(journal)
    assert len(found.points) == 12
    assert {number: trial.values for number, trial in after.items() if number in before} == {
        number: trial.values for number, trial in before.items()
    }
    assert choices(lost) <= choices(after.values())
    assert not any(trial.state == RUNNING for trial in trials_of(journal)) and not list(tmp_path.glob("*.alive"))
    count = len(trials_of(journal))
    assert len(search(str(journal), 12).points) == 12 and len(trials_of(journal)) == count  # nothing is left to do


def test_a_killed_search_with_workers_goes_on(tmp_path: Path, pids: Path) -> None:
    journal = tmp_path / "journal.log"
    process = started(journal, 12, pids, "2")
    until(lambda: len(complete(journal)) >= 2)
    process.kill()
    process.wait()
    before = complete(journal)
    assert len(search(str(journal), 12, workers=2).points) == 12
    assert {number: trial.values for number, trial in complete(journal).items() if number in before} == {
        number: trial.values for number, trial in before.items()
    }


@pytest.mark.parametrize("workers", [(), ("2",)])
def test_ctrl_c_keeps_all(workers: tuple[str, ...], tmp_path: Path, pids: Path) -> None:
    journal = tmp_path / "journal.log"
    process = started(journal, 12, pids, *workers)
    until(lambda: len(complete(journal)) >= 2)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    assert process.wait(60) not in (0, None)
    before = complete(journal)
    assert not any(trial.state == RUNNING for trial in trials_of(journal)) and not list(tmp_path.glob("*.alive"))
    assert len(search(str(journal), len(before) + 2).points) == len(before) + 2


def test_a_killed_worker_loses_nothing(tmp_path: Path, pids: Path) -> None:
    killed = []

    def kill_one() -> None:
        until(lambda: len(list(pids.iterdir())) >= 2)
        until(lambda: len(complete(tmp_path / "journal.log")) >= 1)
        killed.append(int(next(pids.iterdir()).name))
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill_one)
    thread.start()
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, resources={"bench": 1}
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = search(str(tmp_path / "journal.log"), 12, client)
    thread.join()
    assert killed and len(found.points) == 12 and not found.rejected
    assert len(list(pids.iterdir())) >= 3  # the one that came for it


def test_a_machine_that_times_does_nothing_else(tmp_path: Path, pids: Path) -> None:
    """Two hosts of one scheduler: the one with the resource times, the other one judges."""
    workers = {
        host: {"cls": distributed.Nanny, "options": {"host": host, "nthreads": 1, "resources": resources}}
        for host, resources in (("127.0.0.1", {"bench": 1}), ("127.0.0.2", {}))
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"host": "0.0.0.0", "port": 0, "dashboard": False}}
    with distributed.SpecCluster(workers, scheduler) as cluster, distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        by_host = {address.split("/")[2].split(":")[0]: pid for address, pid in client.run(os.getpid).items()}
        found = search(str(tmp_path / "journal.log"), 8, client)
    assert len(found.points) == 8 and not found.rejected
    assert [int(path.name) for path in pids.iterdir()] == [by_host["127.0.0.2"]]


def test_two_machines_share_a_journal(tmp_path: Path, pids: Path) -> None:
    """Two searches, each with a scheduler and workers of its own."""
    journal = tmp_path / "journal.log"
    both = [started(journal, 16, pids, "1") for _ in range(2)]
    assert [process.wait(300) for process in both] == [0, 0]
    done = complete(journal)
    assert len({trial.user_attrs["owner"] for trial in done.values()}) == 2
    assert len(choices(done.values())) == 16 and not any(trial.state == RUNNING for trial in trials_of(journal))


def test_a_tuner_on_several_workers(digits: str, digits_samples: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "log"
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, resources={"bench": 1}
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        options = {"calibrate": digits_samples[:8], "tuner": "random", "threads": 1, "bench_seconds": 0.05}
        octavo.tune(digits, tuning_log=tmp_path / "alone", trials=60, seed=5, **options)
        report = octavo.tune(digits, tuning_log=path, trials=120, seed=5, workers=client, **options)

    def tried(log: Path) -> set[tuple[str, ...]]:
        lines = [json.loads(line) for line in log.read_text().splitlines()[1:]]
        return {tuple(str(line.get(name)) for name in ("subject", "variant", "schedule")) for line in lines}

    # Two shares of as many trials by different seeds: which calls get them depends on times.
    assert len(tried(path)) > 1.25 * len(tried(tmp_path / "alone")) and report._repr_html_().startswith("<iframe")
    assert path.read_text().splitlines().count(HEAD) == 1
    octavo.compile(digits, digits_samples[:8], tuning_log=path)


def test_workers_are_checked(digits: str) -> None:
    for workers, found in ((0, "a number of processes"), ("many", "type 'str'")):
        with pytest.raises(octavo.UsageError, match=found):
            search(None, 1, workers)
