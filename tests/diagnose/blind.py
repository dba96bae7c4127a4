"""The blind test of `octavo diagnose`: is the cause that it names first the one by which spoil.py spoiled the file?

    python tests/diagnose/blind.py FOLDER [--octavo build/bin/octavo]

FOLDER is what spoil.py wrote. Prints every file that is told wrongly, the confusion matrix, and two counts; ends with 1 where fewer than 27 of
30 causes are named first, or more than one of 15 healthy files has a finding. `--json F` has to give {"findings": [{"cause": NAME, ...}, ...]},
worst first.
"""

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# Names of causes (src/diagnose/finding.h) that say what spoil.py says in words.
MEANT = {
    "s8 activations on x86": {"signed-activations"},
    "QOperator form with the ReLU apart": {"unfused-activation"},
    "activations in floats": {"dynamic-range", "float-island"},
    "pair between a convolution and its activation": {"redundant-pairs", "unfused-activation"},
    "skip connections in floats": {"float-island", "missing-output-pair"},
    "SiLU in pieces": {"qdq-around-silu"},
    "activations of 16 bits": {"sixteen-bit-activations"},
    "dynamic quantization": {"dynamic-quantize", "dynamic-range"},
    "channels of one scale 10^4 apart": {"wide-channels"},
    "scale that is broken": {"zero-scale", "denormal-scale"},
    "mask in a range": {"mask-in-range"},
    "batch norms left unfolded": {"batch-norm-unfolded"},
    "means in floats": {"qdq-around-mean"},
    "resizing in floats": {"qdq-around-resize"},
    "ranges that were never calibrated": {"uncalibrated-range"},
}


def first_cause(octavo, path, engine):
    """ "" where nothing is found."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        done = subprocess.run([octavo, "diagnose", str(path), "--engine", engine, "--json", report.name], capture_output=True, text=True)
        if done.returncode > 1:
            sys.exit(f"{path}: {done.stderr}")
        findings = json.loads(Path(report.name).read_text())["findings"]  # another file by now: reports are put in the place of old ones
    return findings[0]["cause"] if findings else ""


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("folder", type=Path)
    words.add_argument("--octavo", default="build/bin/octavo")
    given = words.parse_args()
    matrix = collections.defaultdict(collections.Counter)
    right = alarms = spoiled = healthy = 0
    for line in (given.folder / "truth.tsv").read_text().splitlines()[1:]:
        file, engine, network, cause = line.split("\t")
        named = first_cause(given.octavo, given.folder / file, engine)
        matrix[cause or "healthy"][named or "nothing"] += 1
        is_right = named in MEANT[cause] if cause else not named
        spoiled, healthy = spoiled + bool(cause), healthy + (not cause)
        right, alarms = right + (bool(cause) and is_right), alarms + (not cause and not is_right)
        if not is_right:
            print(f"{file}, {network}: named '{named or 'nothing'}', is '{cause or 'healthy'}'")
    print("\n| is | named first |\n| --- | --- |")
    for cause, counts in matrix.items():
        print(f"| {cause} | {', '.join(f'{count} {named}' for named, count in counts.most_common())} |")
    print(f"\n{right} of {spoiled} causes are named first, {alarms} false alarms on {healthy} healthy files")
    return 0 if right >= 0.9 * spoiled and alarms <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
