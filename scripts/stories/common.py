"""What the stories share: files made, engines timed in turns, profiles told by kind of node, tables in Markdown.

Times are of the engines as their users run them (python/octavo/_engines.py), interleaved; minima and medians.
"""

import argparse
import importlib.util
import json
import logging
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

SOURCES = Path(__file__).resolve().parents[2]


def _load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


engines = _load(SOURCES / "python" / "octavo" / "_engines.py")
speed = _load(SOURCES / "scripts" / "compare" / "speed.py")


def arguments(story, **more):
    """Of the command line; quiet libraries, and a folder for what is made."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(description=story.split("\n")[0])
    parser.add_argument("--octavo", default=str(SOURCES / "build" / "bin" / "octavo"), help="the program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each variant in each turn")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--folder", type=Path, help="where files are made and kept (default: a temporary one)")
    for name, options in more.items():
        parser.add_argument("--" + name, **options)
    given = parser.parse_args()
    if given.folder is None:
        given.kept = tempfile.TemporaryDirectory()
        given.folder = Path(given.kept.name)
    given.folder.mkdir(parents=True, exist_ok=True)
    return given


def octavo(given, *words, codes=(0,)):
    """Runs a verb; what it prints."""
    done = subprocess.run([given.octavo, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"octavo {' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def repaired(given, path, names=None):
    """The file after the repairs of these names (all where there are none), and what each did; None where there is nothing to do."""
    fixed = path.with_suffix(f".fixed{'' if names is None else '-' + '-'.join(names)}{path.suffix}")
    report = fixed.with_suffix(".json")
    words = ["diagnose", path, "--write-fixed", fixed, "--json", report, *([] if names is None else ["--repairs", ",".join(names)])]
    octavo(given, *words, codes=(0, 1))
    done = json.loads(report.read_text())["repairs"]
    return (fixed if done else None), done


class Quantized:
    """Static quantization of a file by ONNX Runtime's own tool, ranges from seeded random pictures: good for speed only."""

    def __init__(self, given, source, shape):
        from onnxruntime.quantization import quant_pre_process

        self.given, self.shape = given, shape
        self.float_path = source.with_suffix(".float.onnx")
        if not self.float_path.exists():
            quant_pre_process(str(source), str(self.float_path), skip_symbolic_shape=True)

    def make(self, name, **options):
        import onnx
        from onnxruntime import quantization

        path = self.float_path.with_name(f"{name}.onnx")
        if path.exists():
            return path
        value = onnx.load(self.float_path, load_external_data=False).graph.input[0].name
        shape = self.shape

        class Samples(quantization.CalibrationDataReader):
            left = [{value: np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)} for seed in range(4)]

            def get_next(self):
                return self.left.pop() if self.left else None

        given = {"quant_format": quantization.QuantFormat.QDQ, "weight_type": quantization.QuantType.QInt8, "per_channel": True, **options}
        quantization.quantize_static(str(self.float_path), str(path), Samples(), **given)
        return path


class OctavoRun:
    """A compiled file, timed by a program of its own."""

    def __init__(self, given, path, precision, batch=1):
        self.given, self.batch = given, batch
        self.path = speed.compile_octavo(given.octavo, str(path), precision, batch, given.folder, [])

    def times(self, seconds):
        found = speed.time_octavo(self.given.octavo, self.path, self.batch, self.given.threads, seconds)
        return [found["min"], found["median"]]


def timed(given, runs, octavo_runs=None):
    """Minima and medians in ms by name, of engines and, in the same turns, of Octavo."""
    times = {name: [] for name in [*runs, *(octavo_runs or {})]}
    names = list(times)
    for turn in range(given.turns):
        at = turn % len(names)
        for name in names[at:] + names[:at]:
            if name in runs:
                times[name] += engines.in_turns({name: runs[name]}, given.seconds, 1, least=1)[name]
            else:
                times[name] += octavo_runs[name].times(given.seconds)
    return {name: engines.summary(values) for name, values in times.items()}


def profiled(given, path, run_ms, runs=40):
    """What `octavo diagnose` makes of ONNX Runtime's profile: ms of a run in all and by kind of node, those between nodes, and what the profiler itself took, by how long a run takes without it."""
    session = engines.OrtSession(str(path), given.threads, is_profiled=True)
    for _ in range(runs):
        session.run()
    report = given.folder / "profiled.json"
    octavo(given, "diagnose", path, "--profile", session.end_profile(), "--run-ms", run_ms, "--json", report)
    return json.loads(report.read_text())["profile"]


def told_machine(threads):
    found = speed.provenance()
    return f"{found['machine']}, {threads} threads, commit {found['commit']}, {subprocess.run(['date', '-u', '+%Y-%m-%d'], capture_output=True, text=True).stdout.strip()}"


def table(heads, rows):
    print("| " + " | ".join(heads) + " |")
    print("| " + " | ".join("---" for _ in heads) + " |")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
    print()
