"""Octavo and its peers on the same networks, in turns in one run; prints a Markdown table and writes every figure as JSON.

    python3 bench/peers/run.py --octavo build/bin/octavo [--networks resnet18 vgg16] [--batch 1 64] [--threads 1 2] [--engines octavo onnxruntime]

Needs nothing but Python: it makes a virtual environment per engine in the work folder (build/peers) from requirements/, exports the networks
with `octavo zoo`, and quantizes them with each engine's own tools. Every variant is a process of its own, stopped (SIGSTOP) while another runs;
the first runs after a pause are not counted, and the order rotates. Settings of the engines: engines/*_worker.py.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import sys

from models import ENGINES, Models
from variant import Variant

NETWORKS = ["resnet18", "mobilenet_v2", "efficientnet_v2_s", "vgg16"]


def measure(variants, rounds, seconds):
    for turn in range(rounds):
        shift = turn % len(variants)
        for variant in variants[shift:] + variants[:shift]:
            variant.take_turn(seconds)


def cpu_name():
    with open("/proc/cpuinfo") as info:
        return next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.processor())


def best(results, precision, of_octavo):
    times = [r["min_ms"] for r in results if r["precision"] == precision and (r["engine"] == "octavo") == of_octavo]
    return min(times, default=None)


def row(network, batch, threads, results, columns):
    def cell(column):
        found = [r for r in results if (r["engine"], r["precision"]) == column]
        return f"{found[0]['min_ms']:.2f} ({found[0]['median_ms']:.2f})" if found else ""

    own, peer, peer_fp32 = best(results, "int8", True), best(results, "int8", False), best(results, "fp32", False)
    ratios = [f"{other / own:.2f}x" if own and other else "" for other in (peer, peer_fp32)]
    return f"| {network} | {batch} | {threads} | " + " | ".join([*map(cell, columns), *ratios]) + " |"


def head(columns):
    names = ["network", "batch", "threads", *(f"{engine} {precision}" for engine, precision in columns), "to the best int8", "to the best fp32"]
    return "| " + " | ".join(names) + " |\n|" + " --- |" * len(names)


def compare(arguments, models, network, batch, threads):
    variants = []
    try:
        for engine in arguments.engines:
            for precision in arguments.precisions:
                command = models.worker(engine, network, precision, batch, threads)
                if command:
                    variants.append(Variant(engine, precision, command, threads))
        measure(variants, arguments.rounds, arguments.seconds)
        return [variant.result() for variant in variants]
    finally:
        for variant in variants:
            variant.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octavo", type=pathlib.Path, default="build/bin/octavo")
    parser.add_argument("--work", type=pathlib.Path, default="build/peers", help="environments and models, kept for the next run")
    parser.add_argument("--networks", nargs="+", default=NETWORKS, help="names of `octavo zoo`")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--precisions", nargs="+", default=["fp32", "int8"], choices=["fp32", "int8"])
    parser.add_argument("--batch", nargs="+", type=int, default=[1])
    parser.add_argument("--threads", nargs="+", type=int, default=[len(os.sched_getaffinity(0))])
    parser.add_argument("--rounds", type=int, default=8, help="turns of every variant")
    parser.add_argument("--seconds", type=float, default=0.5, help="of a turn")
    parser.add_argument("--json", type=pathlib.Path, help="every figure; default: results.json in the work folder")
    arguments = parser.parse_args()
    models = Models(arguments.octavo.resolve(), arguments.work.resolve())
    columns = [(engine, precision) for engine in arguments.engines for precision in arguments.precisions]
    machine = {"cpu": cpu_name(), "cores": len(os.sched_getaffinity(0)), "date": datetime.date.today().isoformat()}
    versions = {engine: models.version(engine) for engine in arguments.engines}
    print(f"{machine['cpu']}, {machine['cores']} cores, {machine['date']}; " + ", ".join(f"{name} {version}" for name, version in versions.items()))
    print("Minima (medians) in ms.\n\n" + head(columns), flush=True)
    report = {"machine": machine, "versions": versions, "runs": []}
    for network in arguments.networks:
        for batch in arguments.batch:
            for threads in arguments.threads:
                results = compare(arguments, models, network, batch, threads)
                print(row(network, batch, threads, results, columns), flush=True)
                report["runs"].append({"network": network, "batch": batch, "threads": threads, "results": results})
    target = arguments.json or arguments.work / "results.json"
    target.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\nwritten: {target}", file=sys.stderr)


if __name__ == "__main__":
    main()
