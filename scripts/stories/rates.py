"""What operators cost in an engine on this machine: the rates by which `octavo diagnose --rates F` predicts.

    python scripts/stories/rates.py ort -o F.json        (or litert)

Times rows of one operator (rates_ort.py, rates_litert.py) on one thread, and finds what explains them: for products the time of a call, of
a multiply-accumulate, of an element that is gathered for a window, of a copy by which they are gathered, of a result, of a weight and of
one that no cache holds, none of them below 0; for everything else the time of an element. No network is measured.
Needs: pip install onnxruntime onnx (or ai-edge-litert), numpy, scipy
"""

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common
import numpy as np
from scipy.optimize import nnls

# width, width of every other one, size, window; then of some stride or groups
WINDOWS = ((8, 8, 28, 3), (16, 16, 14, 3), (3, 32, 112, 3), (16, 16, 56, 3), (32, 32, 56, 3), (64, 64, 28, 3), (64, 64, 56, 3), (128, 128, 28, 3), (128, 128, 14, 3), (256, 256, 14, 3), (512, 512, 7, 3), (64, 64, 14, 5), (32, 32, 7, 3))
POINTS = ((32, 64, 7, 1), (16, 96, 56, 1), (24, 144, 56, 1), (64, 64, 56, 1), (32, 192, 28, 1), (128, 128, 28, 1), (64, 384, 14, 1), (256, 256, 14, 1), (512, 512, 7, 1), (160, 960, 7, 1), (256, 1024, 14, 1))
GROUPS = ((64, 64, 56, 3, 1, 8), (64, 64, 28, 3, 1, 4), (104, 104, 28, 3, 1, 13), (128, 128, 28, 3, 1, 4), (208, 208, 14, 3, 1, 26), (440, 440, 7, 3, 1, 55), (256, 256, 14, 3, 1, 32))
CHANNELS = ((32, 32, 14, 3), (64, 64, 7, 3), (32, 32, 56, 3), (64, 64, 56, 3), (144, 144, 28, 3), (384, 384, 14, 3), (960, 960, 7, 3), (256, 256, 14, 5), (96, 96, 28, 5))
ROWS = ((64, 64, 1, 1), (256, 256, 1, 1), (1024, 1024, 1, 1), (1280, 1000, 1, 1), (2048, 512, 1, 1), (384, 384, 32, 1), (384, 1536, 128, 1), (768, 768, 64, 1), (2048, 2048, 1, 1), (4096, 4096, 1, 1))
SHAPES = {"conv": WINDOWS, "grouped": GROUPS, "pointwise": POINTS, "depthwise": CHANNELS, "matmul": ROWS}
# so many that no cache holds their weights from one run to the next
FAR = {"conv": ((512, 512, 7, 3), (8, 12)), "pointwise": ((512, 2048, 7, 1), (16, 24))}
COUNTS = (2, 6)
COSTS = ("call_us", "mac_ns", "gathered_ns", "copy_ns", "result_ns", "weight_ns", "far_weight_ns")
NEAR_BYTES = 8e6  # kNearBytes of src/diagnose/engine_cost.cpp
SIZES = ((32, 14), (64, 28), (64, 56), (256, 28))


def least_us(run, seconds):
    """The least time of a run: whatever else the machine does only adds to it."""
    run(), run()
    least, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - start)
    return least * 1e6


def facts_of(has_channels_last, kind, width, out, size, window, stride=1, groups=1):
    """Of one product: calls, multiply-accumulates, gathered elements, copies, results, weights; in thousands but the calls."""
    if kind == "matmul":
        return [1, size * width * out / 1e3, 0, 0, size * out / 1e3, width * out / 1e3]
    side, area = size // stride, window * window
    pixels = side * side
    if kind == "depthwise":
        copies = 0 if has_channels_last else side * out * area
        return [1, pixels * out * area / 1e3, size * size * width / 1e3, copies / 1e3, pixels * out / 1e3, out * area / 1e3]
    gathered = pixels * width * area / 1e3 if window > 1 else 0
    weights = width // groups * out * area
    # runs that lie together: channels of a pixel, or a row of a channel
    copies = gathered / (width // groups if has_channels_last else side)
    return [groups, pixels * weights / 1e3, gathered, copies, pixels * out / 1e3, weights / 1e3]


def far_thousands(weights, form, counts):
    """Of each product more, by rows of so many: as many weights as no cache holds, in thousands."""
    near = NEAR_BYTES / (4 if form == "packed_float" else 1)
    far = [count * weights * min(max(count * weights / near - 1, 0), 1) for count in counts]
    return (far[1] - far[0]) / (counts[1] - counts[0]) / 1e3


def fitted(facts, times):
    """Costs, none below 0, that explain the times with the least relative error; and the greatest error."""
    facts, times = np.asarray(facts), np.asarray(times)
    costs, _ = nnls(facts / times[:, None], np.ones(len(times)))
    return costs, float(np.abs(facts @ costs / times - 1).max())


def products(engine, session, folder, seconds):
    """By form and kind: costs of call (us) and of each fact (ns)."""
    found = {}
    for form, kinds in engine.FORMS.items():
        found[form] = {}
        for kind in kinds:
            facts, times, more = [], [], engine.MORE_SHAPES.get((form, kind), ())
            far = [FAR[kind]] if kind in FAR else []
            for shape, counts in (*((shape, COUNTS) for shape in (*SHAPES[kind], *more)), *far):
                least = []
                for count in counts:
                    engine.product_row(str(folder / "row"), form, kind, count, *shape)
                    least.append(least_us(session(folder / "row").run, seconds))
                width, out, *rest = shape
                is_last = engine.has_channels_last(form)
                pair = np.mean([facts_of(is_last, kind, width, out, *rest), facts_of(is_last, kind, out, width, *rest)], 0)
                if kind == "depthwise" and not more:
                    pair[2] = 0  # as many as results
                facts.append([*pair, far_thousands(pair[-1] * 1e3, form, counts)])
                times.append(max((least[1] - least[0]) / (counts[1] - counts[0]), 0.01))
            costs, worst = fitted(facts, times)
            found[form][kind] = dict(zip(COSTS, (round(float(each), 6) for each in costs)))
            print(f"{form} {kind}: {found[form][kind]}, off by up to {100 * worst:.0f} %", file=sys.stderr, flush=True)
    return found


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("engine", choices=("ort", "litert"))
    words.add_argument("-o", dest="output", type=Path, required=True)
    words.add_argument("--seconds", type=float, default=0.08, help="of each row")
    given = words.parse_args()
    engine = importlib.import_module(f"rates_{given.engine}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {"engine": given.engine, "products": products(engine, engine.session, folder, given.seconds), **engine.passes(folder, SIZES, given.seconds)}
    found["source"] = f"{common.engines.version_of(given.engine)}, one thread of {common.speed.provenance()['machine']}, {subprocess.run(['date', '-u', '+%Y-%m-%d'], capture_output=True, text=True).stdout.strip()}"
    given.output.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps({name: value for name, value in found.items() if name != "products"}, indent=1), file=sys.stderr)


if __name__ == "__main__":
    main()
