"""Ten files that are slow in ONNX Runtime, repaired for ONNX Runtime: times before and after, and how far the answers are from fp32.

    python scripts/stories/repairs.py

Networks of tests/diagnose/spoil_networks.py, spoiled by tests/diagnose/spoil.py.
Needs: pip install torch torchvision timm onnx onnxruntime; build/bin/octavo
"""

import sys
from pathlib import Path

import common

sys.path.insert(0, str(common.SOURCES / "tests" / "diagnose"))

SLOW = (
    ("s8_activations", "regnet_x_400mf"),
    ("relu_apart_in_qoperator", "mnasnet0_5"),
    ("relu_apart_in_qoperator", "resnet26"),
    ("pair_before_relu", "vgg13_bn"),
    ("pair_before_relu", "resnet14t"),
    ("float_skip_connections", "resnet50"),
    ("float_skip_connections", "regnet_x_800mf"),
    ("norms_unfolded", "resnet34"),
    ("norms_unfolded", "googlenet"),
    ("float_means", "gated48"),
)


def main():
    given = common.arguments(__doc__, files={"type": Path, "help": "where tests/diagnose/spoil.py left fp32 files, which are used again"})
    import onnx
    import spoil

    maker = spoil.Maker(given.files or given.folder)
    print(f"{common.engines.version_of('ort')}, {common.told_machine(given.threads)}\n")
    rows = []
    for cause, network in SLOW:
        path = given.folder / f"{cause}_{network}.onnx"
        if not path.exists():
            onnx.save(getattr(spoil, cause)(maker, network), path)
        fixed, done = common.repaired(given, path)
        fp32 = maker.float_file(network)[0]
        sessions = {name: common.engines.OrtSession(str(each), given.threads) for name, each in (("fp32", fp32), ("slow", path), ("fixed", fixed or path))}
        answers = {name: session.run() for name, session in sessions.items()}
        times = common.timed(given, {name: session.run for name, session in sessions.items()})
        to_float = [common.engines.sqnr_db(answers["fp32"], answers[name]) for name in ("slow", "fixed")]
        before, after = times["slow"]["min_ms"], times["fixed"]["min_ms"]
        rows.append([network, ", ".join(each["name"] for each in done) or "none", *(f"{each['min_ms']:.2f} ({each['median_ms']:.2f})" for each in times.values()), f"{before / after:.2f}x", " and ".join(f"{each:.1f}" for each in to_float) + " dB"])
        print(rows[-1], file=sys.stderr)
    common.table(["network", "repairs", "fp32 ms", "slow ms", "repaired ms", "gain", "to fp32, slow and repaired"], rows)


if __name__ == "__main__":
    main()
