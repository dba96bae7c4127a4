"""`octavo diagnose` in Python, and what it cannot do alone: run the engine that a file is for."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from typing import Any, Sequence

from . import _command
from ._compile import as_file, temporary_folder
from ._engines import PACKAGES, SESSIONS, engine_of, in_turns, sqnr_db, summary, version_of
from ._errors import usage
from ._progress import Progress
from ._report import Report
from ._sources import source_of
from ._words import words_of


def diagnose(
    model: Any,
    *,
    against: Any = None,
    engine: str | None = None,
    measure: bool = False,
    threads: int | None = None,
    seconds: float = 0.5,
    progress: Progress = None,
    **options: Any,
) -> Report:
    """What makes a quantized ONNX or TFLite file faster in its own engine: `octavo diagnose` (docs/cli.md), whose options these are
    (`write_fixed=`, `repairs=`). `report["repairs"]` is what was found to repair.

    `measure`: the engine itself ("ort" or "litert", by default the one of the file's format) runs the file in fp32 (`against`), the
    file as it is and after one repair more each, in turns; `report["measured"]` has the times and what each
    repair gained. Raises what `compile` raises, and ImportError where the engine's package is not installed."""
    with ExitStack() as stack:
        folder = temporary_folder(stack)
        path = as_file(source_of(model), stack)
        chosen = engine or engine_of(path)
        if measure and chosen not in PACKAGES:
            raise usage("diagnose", f"measure with engine '{chosen}'", "one of " + ", ".join(PACKAGES))
        report_path = os.path.join(folder, "report.json")
        words = words_of({"write_fixed": os.path.join(folder, "fixed" + suffix_of(path)), "json": report_path, **options})
        text = _command.run(["diagnose", path, *words], progress).text
        with open(report_path, encoding="utf-8") as file:
            values = json.load(file)
        if measure:
            fp32 = None if against is None else as_file(source_of(against), stack)
            names = [each["name"] for each in values.get("repairs", [])]
            values["measured"] = measured(path, fp32, chosen, names, threads or len(os.sched_getaffinity(0)), seconds, folder)
            text += told(values["measured"])
        return Report(values, "diagnose", text)


def suffix_of(path: str) -> str:
    """Of a repaired file: engines' packages tell formats by it."""
    return ".tflite" if engine_of(path) == "litert" else ".onnx"


def measured(path: str, fp32: str | None, engine: str, repairs: Sequence[str], threads: int, seconds: float, folder: str) -> dict[str, Any]:
    """Times of the engine: of the file in fp32, as it is, and after one of these repairs more each."""
    files = {"as it is": path} if fp32 is None else {"fp32": fp32, "as it is": path}
    for count, name in enumerate(repairs, 1):
        files[name] = os.path.join(folder, f"repaired{count}{suffix_of(path)}")
        _command.run(["diagnose", path, "--write-fixed", files[name], "--repairs", ",".join(repairs[:count])], False)
    sessions = {name: SESSIONS[engine](file, threads) for name, file in files.items()}
    answers = {name: session.run() for name, session in sessions.items()}
    times = in_turns({name: session.run for name, session in sessions.items()}, seconds)
    rows = [{"name": name, **summary(times[name]), "sqnr_db": sqnr_db(answers["as it is"], answers[name])} for name in files]
    for before, row in zip(rows, rows[1:]):
        if row["name"] in repairs:
            row["gained_ms"] = before["min_ms"] - row["min_ms"]
    return {"engine": version_of(engine), "threads": threads, "rows": rows}


def told(found: dict[str, Any]) -> str:
    """The table of `measured` for people."""
    lines = [f"measured with {found['engine']}, {found['threads']} threads, in turns:"]
    for row in found["rows"]:
        gained = f", gained {row['gained_ms']:.2f} ms" if "gained_ms" in row else ""
        lines.append(f"  {row['name']:<28} {row['min_ms']:9.2f} ms (median {row['median_ms']:.2f}){gained}")
    return "\n".join(lines) + "\n"


def main(words: Sequence[str]) -> int:
    """`octavo diagnose MODEL --measure` of the command line."""
    import argparse
    import sys

    from ._errors import OctavoError

    parser = argparse.ArgumentParser(prog="octavo diagnose", description="the engine itself, before and after every repair")
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--measure", action="store_true", required=True)
    parser.add_argument("--against", metavar="FP32", help="the file in fp32, which is measured beside it")
    parser.add_argument("--engine", choices=list(PACKAGES), help="default: the one of the file's format")
    parser.add_argument("--threads", type=int, metavar="N")
    parser.add_argument("--seconds", type=float, default=0.5, metavar="S", help="of each file in each of six turns")
    parser.add_argument("--repairs", metavar="NAMES")
    parser.add_argument("--write-fixed", metavar="F")
    parser.add_argument("--json", metavar="F")
    given = vars(parser.parse_args(words))
    to = given.pop("json")
    try:
        report = diagnose(given.pop("model"), **{name: value for name, value in given.items() if value is not None})
    except OctavoError as error:
        sys.stderr.write(f"octavo: {error}\n")
        return next((code for code, kind in _command.KINDS.items() if error.errors and kind == error.errors[0].kind), 70)
    except ImportError as error:
        sys.stderr.write(f"octavo: --measure: found no package of the engine ({error}), expected it installed\n")
        return 5
    sys.stdout.write(report.text)
    if to:
        with open(to, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
            file.write("\n")
    return 0
