"""What threads of Python get out of one model together: inferences per second of 1, 2 and 8 threads that call it, a thread of
the model's own for each, in turns. See README.md beside this file.

    python scripts/compare/python_threads.py MODEL.octv [--turns 9] [--seconds 0.5]
"""

import argparse
import statistics
import threading
import time

import numpy as np

import octavo


def inferences_per_second(model, x, threads, seconds):
    """Of all threads, in a closed loop."""
    counts = [0] * threads
    ended = threading.Event()
    gate = threading.Barrier(threads + 1)

    def work(index):
        gate.wait()
        while not ended.is_set():
            model(x)
            counts[index] += 1

    pool = [threading.Thread(target=work, args=(index,)) for index in range(threads)]
    for thread in pool:
        thread.start()
    gate.wait()
    start = time.perf_counter()
    time.sleep(seconds)
    ended.set()
    for thread in pool:
        thread.join()
    return sum(counts) / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.5)
    arguments = parser.parse_args()
    model = octavo.load(arguments.model, threads=1)
    told = model.inputs[0]
    shape = [extent if isinstance(extent, int) else 1 for extent in told.shape]
    x = np.random.default_rng(1).standard_normal(shape).astype(told.dtype)
    rates = {threads: [] for threads in (1, 2, 8)}
    model(x)
    for _ in range(arguments.turns):
        for threads, found in rates.items():
            found.append(inferences_per_second(model, x, threads, arguments.seconds))
    for threads, found in rates.items():
        print(f"{threads} threads: {max(found):.1f} inferences/s at best, {statistics.median(found):.1f} at the median")
    for more, fewer in ((2, 1), (8, 2)):
        ratios = [a / b for a, b in zip(rates[more], rates[fewer])]
        best = max(rates[more]) / max(rates[fewer])
        print(f"{more} against {fewer}: {best:.2f} of the best turns, {statistics.median(ratios):.2f} at the median")


if __name__ == "__main__":
    main()
