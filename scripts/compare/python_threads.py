"""What threads of Python get out of one model together, a thread of the model's own for each. See README.md beside this
file.

    python scripts/compare/python_threads.py MODEL.octv... [--turns 20] [--seconds 0.15]

1, 2 and 8 threads call the model in turns, beside 1, 2 and 8 that only hash, which need nothing of each other. Medians
of inferences per second, of inferences per second of processor time (which others on the machine do not change: threads
that wait for each other by spinning lower it), and of the processors that were used (threads that wait for each other
by sleeping use fewer than those that hash).
"""

import argparse
import hashlib
import statistics
import threading
import time

import numpy as np

import octavo

THREADS = (1, 2, 8)


def measured(work, threads, seconds):
    """Calls of `work` by all threads in a closed loop: per second, per second of processor time; and processors
    used."""
    counts = [0] * threads
    ended = threading.Event()
    gate = threading.Barrier(threads + 1)

    def loop(index):
        gate.wait()
        while not ended.is_set():
            work()
            counts[index] += 1

    pool = [threading.Thread(target=loop, args=(index,)) for index in range(threads)]
    for thread in pool:
        thread.start()
    gate.wait()
    start, busy = time.perf_counter(), time.process_time()
    time.sleep(seconds)
    ended.set()
    for thread in pool:
        thread.join()
    wall, busy = time.perf_counter() - start, time.process_time() - busy
    return sum(counts) / wall, sum(counts) / busy, busy / wall


def input_of(model):
    """Seeded random numbers."""
    told = model.inputs[0]
    shape = [extent if isinstance(extent, int) else 1 for extent in told.shape]
    return np.random.default_rng(1).standard_normal(shape).astype(told.dtype)


def report(path, turns, seconds):
    """Prints a line for each number of threads."""
    model = octavo.load(path, threads=1)
    x, block = input_of(model), bytes(1 << 18)
    model(x)
    rows = {threads: [] for threads in THREADS}
    for _ in range(turns):
        for threads, found in rows.items():
            hashing = measured(lambda: hashlib.sha256(block).digest(), threads, seconds)
            found.append([*measured(lambda: model(x), threads, seconds), hashing[2]])
    print(path)
    for threads, found in rows.items():
        rate, own_rate, used, hashing = (statistics.median(column) for column in zip(*found))
        print(
            f"{threads:>3} threads {rate:>9.1f}/s {own_rate:>9.1f}/s of processor {used:>6.2f} used,"
            f" hashing {hashing:.2f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.15)
    arguments = parser.parse_args()
    for path in arguments.models:
        report(path, arguments.turns, arguments.seconds)


if __name__ == "__main__":
    main()
