"""A search that takes its time, for tests that end it: `python searching.py JOURNAL TRIALS PIDS [WORKERS]`. PIDS: a
folder where everyone who judges leaves the number of its process."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from conftest import ROOT, as_inputs

import octavo
from octavo.metrics import top1

SPACE = {"calibration": ["auto", "minmax"], "weights": ["mse", "max"], "corrections": ["none", "bias,smooth"]}


def slow_top1(outputs: Any, labels: Any) -> float:
    """Percent of right answers, after a while."""
    Path(os.environ["OCTAVO_TEST_PIDS"], str(os.getpid())).touch()
    time.sleep(0.4)
    return top1(outputs, labels)


def search(
    journal: str | None, trials: int, workers: Any = None, metric: Any = slow_top1, **options: Any
) -> octavo.SearchResult:
    """The digits, always the same."""
    with (
        np.load(ROOT / "examples/digits/test.npz") as test,
        np.load(ROOT / "examples/digits/calibration.npz") as calibration,
    ):
        data = [(as_inputs(test["images"][:100]), test["labels"][:100])]
        samples = as_inputs(calibration["images"][:16])
    settings = {
        "max_drop": 1.0,
        "sampler": "random",
        "space": SPACE,
        "bands": 2,
        "threads": 1,
        "bench_seconds": 0.05,
        "progress": False,
        **options,
    }
    return octavo.search(
        ROOT / "examples/digits/digits.onnx",
        data,
        metric,
        calibrate=samples,
        trials=trials,
        storage=journal,
        workers=workers,
        **settings,
    )


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background of a shell
    os.environ["OCTAVO_TEST_PIDS"] = sys.argv[3]
    found = search(sys.argv[1], int(sys.argv[2]), int(sys.argv[4]) if len(sys.argv) > 4 else None)
    print(len(found.points))
