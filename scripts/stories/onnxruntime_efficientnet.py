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
        explain(given, name, files, times)


def explain(given, name, files, times):
    """Where the time between the two is, by kind of node."""
    slow, fast = ({"run_ms": times[each]["min_ms"], **common.profiled(given, files[each], times[each]["min_ms"])} for each in (name, f"{name}, repaired"))
    nothing = {"nodes": 0, "ms": 0.0}
    kinds = [(kind, slow["operators"].get(kind, nothing), fast["operators"].get(kind, nothing)) for kind in sorted({*slow["operators"], *fast["operators"]})]
    kinds.append(("between nodes", {"nodes": "", "ms": slow["between_ms"]}, {"nodes": "", "ms": fast["between_ms"]}))
    kinds.sort(key=lambda row: row[2]["ms"] - row[1]["ms"])
    common.table(
        ["kind of node", "nodes", "ms", "nodes repaired", "ms repaired", "lost"],
        [[kind, a["nodes"], f"{a['ms']:.2f}", b["nodes"], f"{b['ms']:.2f}", f"{a['ms'] - b['ms']:+.2f}"] for kind, a, b in kinds],
    )
    lost = slow["run_ms"] - fast["run_ms"]
    of_nodes = sum(a["ms"] - b["ms"] for kind, a, b in kinds if kind != "between nodes")
    profiler = ", ".join(f"{each['profiler_ms']:.2f}" for each in (slow, fast))
    print(f"{name}: lost {lost:.2f} ms a run (minima), of which nodes explain {of_nodes:.2f} ms, {100 * of_nodes / lost:.0f} %. The profiler's own time, taken off alike from all nodes: {profiler} ms\n")


if __name__ == "__main__":
    main()
