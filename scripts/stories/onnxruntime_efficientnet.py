"""Story: EfficientNetV2-S, quantized for ONNX Runtime, is slower there than in fp32. Why, and what makes it fast, in ONNX Runtime.

    python scripts/stories/onnxruntime_efficientnet.py

Makes the network (octavo zoo, seeded weights), quantizes it by onnxruntime.quantization as QDQ and as QOperator with s8 activations, has
`octavo diagnose --write-fixed` repair both, and times all of it in turns.
Needs: pip install onnxruntime onnx; build/bin/octavo
"""

import common


def main():
    given = common.arguments(__doc__, network={"default": "efficientnet_v2_s"}, batch={"type": int, "default": 1})
    from onnxruntime.quantization import QuantFormat, QuantType

    source = given.folder / f"{given.network}.onnx"
    if not source.exists():
        common.octavo(given, "zoo", given.network, "-o", source)
    made = common.Quantized(given, source, (given.batch, 3, 224, 224))
    files = {
        "fp32": made.float_path,
        "QDQ s8": made.make("qdq_s8", activation_type=QuantType.QInt8),
        "QOperator s8": made.make("qoperator_s8", activation_type=QuantType.QInt8, quant_format=QuantFormat.QOperator),
    }
    done = {}
    for name in ("QDQ s8", "QOperator s8"):
        files[f"{name}, repaired"], done[name] = common.repaired(given, files[name])
    sessions = {name: common.engines.OrtSession(str(path), given.threads, given.batch) for name, path in files.items()}
    answers = {name: session.run() for name, session in sessions.items()}
    own = {f"Octavo of {name}": common.OctavoRun(given, files[name], precision, given.batch) for name, precision in (("fp32", "fp32"), ("QDQ s8", "int8"))}
    times = common.timed(given, {name: session.run for name, session in sessions.items()}, own)

    print(f"{common.engines.version_of('ort')}, {given.network}, batch {given.batch}, {common.told_machine(given.threads)}\n")
    fp32 = times["fp32"]["min_ms"]
    common.table(["file", "ms", "median", "to fp32"], [[name, f"{each['min_ms']:.2f}", f"{each['median_ms']:.2f}", f"{fp32 / each['min_ms']:.2f}x"] for name, each in times.items()])
    for name, repairs in done.items():
        to_float = [common.engines.sqnr_db(answers["fp32"], answers[each]) for each in (name, f"{name}, repaired")]
        print(f"{name}: ONNX Runtime's answers are {to_float[0]:.1f} dB from those of fp32, repaired {to_float[1]:.1f} dB. What was repaired:\n")
        common.table(["repair", "places", "what"], [[each["name"], each["places"], each["what"]] for each in repairs])
        explain(given, name, files[name], files[f"{name}, repaired"])


def explain(given, name, slow, fast):
    """Where the time between the two is, by kind of node."""
    before, before_counts, before_ms = common.profiled(given, slow)
    after, after_counts, after_ms = common.profiled(given, fast)
    kinds = sorted({*before, *after}, key=lambda kind: after[kind] - before[kind])
    rows = [[kind, before_counts[kind], f"{before[kind]:.2f}", after_counts[kind], f"{after[kind]:.2f}", f"{before[kind] - after[kind]:+.2f}"] for kind in kinds]
    common.table(["kind of node", "nodes", "ms", "nodes repaired", "ms repaired", "lost"], rows)
    lost, explained = before_ms - after_ms, sum(before.values()) - sum(after.values())
    print(f"{name}: while it is profiled a run takes {before_ms:.2f} ms, repaired {after_ms:.2f} ms: lost {lost:.2f} ms, of which the nodes explain {explained:.2f} ms, {100 * explained / lost:.0f} %\n")


if __name__ == "__main__":
    main()
