"""The worker's side of a measurement, the same as that of `octavo bench-worker`: one JSON object per line to standard output.

First, when the model is loaded and has run once: {"load_ms", "first_run_ms", "threads"}. Then orders from standard input: "runs N" or
"slice SECONDS" (at least one run), each answered by {"runs_ns": [...], "peak_rss_mb"}; "end" ends the process.
"""

import argparse
import json
import sys
import time


def peak_rss_mb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def answer(**fields):
    print(json.dumps(fields), flush=True)


def measure(run, count, seconds):
    """The first run after a pause finds cold caches and parked threads: it is made and not counted."""
    start = time.perf_counter_ns()
    run()
    runs = []
    while not runs or (len(runs) < count if count else time.perf_counter_ns() - start < seconds * 1e9):
        before = time.perf_counter_ns()
        run()
        runs.append(time.perf_counter_ns() - before)
    return runs


def serve(load):
    """load(model, batch, threads) -> a function without arguments that runs the model once and waits for its outputs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    arguments = parser.parse_args()
    start = time.perf_counter()
    run = load(arguments.model, arguments.batch, arguments.threads)
    loaded = time.perf_counter()
    run()
    answer(load_ms=(loaded - start) * 1e3, first_run_ms=(time.perf_counter() - loaded) * 1e3, threads=arguments.threads)
    for line in sys.stdin:
        order, _, amount = line.strip().partition(" ")
        if order == "end":
            break
        runs = measure(run, int(amount) if order == "runs" else 0, float(amount))
        answer(runs_ns=runs, peak_rss_mb=peak_rss_mb())
