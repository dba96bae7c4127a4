#!/usr/bin/env python3
"""Measures kernels on this machine and writes the tuning log that comes with Octavo: src/select/data/MACHINE.json.

    python3 scripts/tuning.py --octavo build/bin/octavo [--passes 3] [MODEL.onnx ...]

Without models: the networks of bench/peers that `octavo zoo` has. Every pass measures all calls anew, the log keeps the least time of
each kernel, and only calls for which there is a choice. Times of a log that is there already count as another pass; after a change that makes
a kernel slower, --anew forgets them.
"""

import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NETWORKS = ("densenet121 efficientnet_b0 efficientnet_v2_s mobilenet_v2 mobilenet_v3_large regnet_y_400mf resnet18 resnet50 "
            "shufflenet_v2_x1_0 squeezenet1_1 vgg16").split()


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def models_of_zoo(octavo, folder):
    known = run(octavo, "zoo", "--list").split()
    for name in NETWORKS:
        if name in known:
            path = folder / f"{name}.onnx"
            run(octavo, "zoo", name, "-o", path)
            yield path
        else:
            print(f"{name}: not in the zoo, give its file", file=sys.stderr)


def measured(octavo, model, batches, log):
    """One compilation. Quantization does not matter for the shapes: the fastest is taken."""
    run(octavo, "compile", model, "--calibrate", "random", "--samples", "1", "--weights", "max", "--batch", batches, "--tune", "quick",
        "--tuning-log", log, "-o", log.with_suffix(".octv"))


def merge(machines, other):
    for machine, calls in other.items():
        for call, kernels in calls.items():
            best = machines.setdefault(machine, {}).setdefault(call, {})
            for kernel, ns in kernels.items():
                best[kernel] = min(ns, best.get(kernel, ns))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--octavo", required=True, type=pathlib.Path)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--batch", default="1")
    parser.add_argument("--anew", action="store_true")
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    machines = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = arguments.models or list(models_of_zoo(arguments.octavo, folder))
        for turn in range(arguments.passes):
            log = folder / f"{turn}.json"
            for model in models:
                print(f"pass {turn + 1}: {model.name}", file=sys.stderr)
                measured(arguments.octavo, model, arguments.batch, log)
            merge(machines, json.loads(log.read_text())["machines"])
    for machine, calls in machines.items():
        write(machine, {call: kernels for call, kernels in calls.items() if len(kernels) > 1}, arguments)


def write(machine, calls, arguments):
    slug = re.sub(r"[^a-z0-9]+", "_", machine.split(";")[0].lower()).strip("_")
    path = ROOT / "src/select/data" / f"{slug}.json"
    machines = {}
    if path.exists() and not arguments.anew:
        machines = json.loads(path.read_text())["machines"]
    merge(machines, {machine: calls})
    about = f"measured {datetime.date.today()} on {machine.split(';')[0]} by scripts/tuning.py, the least of several passes"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"about": about, "format": "octavo tuning log 1", "machines": machines}, indent=1, sort_keys=True) + "\n")
    print(f"{path}: {len(machines[machine])} calls")


if __name__ == "__main__":
    main()
