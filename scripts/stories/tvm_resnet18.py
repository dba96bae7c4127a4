"""Story: ResNet-18 in TVM, which was the compiler for 8 bits once: fp32 and int8 take the same time. Why, and what is left of it.

    python scripts/stories/tvm_resnet18.py

Makes the network (octavo zoo, seeded weights), quantizes it by onnxruntime.quantization as pairs (QDQ), compiles both files by Relax's
importer and default pipeline, untuned, and times them in turns with Octavo. Then the virtual machine's calls are timed one by one, and
`octavo diagnose --engine tvm` reads both.
Needs: pip install apache-tvm onnxruntime onnx; build/bin/octavo
"""

import collections
import json
import re
import time

import common
import numpy as np


class TvmRun:
    """A file in Relax's virtual machine."""

    def __init__(self, path, shape):
        import onnx
        import tvm
        from tvm import relax
        from tvm.relax.frontend.onnx import from_onnx

        self.target = tvm.target.Target.from_device("cpu")
        began = time.perf_counter()
        module = from_onnx(onnx.load(path), keep_params_in_input=False)
        self.machine = relax.VirtualMachine(relax.build(module, self.target), tvm.cpu())
        self.build_s = time.perf_counter() - began
        self.x = tvm.runtime.tensor(np.random.default_rng(0).standard_normal(shape, dtype=np.float32))

    def run(self):
        return self.machine["main"](self.x).numpy()

    def report(self, path):
        """The calls of one run, in the form of TVM's own reports, which its virtual machine no longer writes: (function, ms) of each."""
        calls, began = [], []

        def instrument(_function, name, is_before, _result, *_arguments):
            if is_before:
                began.append(time.perf_counter())
            else:
                calls.append((name, (time.perf_counter() - began.pop()) * 1e3))

        self.machine.set_instrument(instrument)
        self.run()
        rows = [{"Name": {"string": name}, "Duration (us)": {"microseconds": ms * 1e3}, "Count": {"count": 1}} for name, ms in calls]
        path.write_text(json.dumps({"calls": rows, "device_metrics": {}}))
        return calls


def kinds_of(calls):
    """ms and calls by function, without the numbers that TVM puts behind names."""
    ms, counts = collections.Counter(), collections.Counter()
    for name, each in calls:
        kind = "the virtual machine's own" if name.startswith("vm.") else re.sub(r"\d+$", "", name)
        ms[kind] += each
        counts[kind] += 1
    return ms, counts


def main():
    given = common.arguments(__doc__, network={"default": "resnet18"})
    import tvm
    from onnxruntime.quantization import QuantType

    source, shape = given.folder / f"{given.network}.onnx", (1, 3, 224, 224)
    if not source.exists():
        common.octavo(given, "zoo", given.network, "-o", source)
    made = common.Quantized(given, source, shape)
    files = {"fp32": made.float_path, "QDQ u8": made.make(f"{given.network}_qdq", activation_type=QuantType.QUInt8)}
    runs = {f"TVM, {name}": TvmRun(path, shape) for name, path in files.items()}
    # One thread: TVM's untuned functions are not parallel.
    given.threads = 1
    own = {f"Octavo, {name}": common.OctavoRun(given, files[name], precision) for name, precision in (("fp32", "fp32"), ("QDQ u8", "int8"))}
    times = common.timed(given, {name: each.run for name, each in runs.items()}, own)

    print(f"apache-tvm {tvm.__version__}, untuned, {runs['TVM, fp32'].target}\n{given.network}, {common.told_machine(given.threads)}\n")
    fp32 = times["TVM, fp32"]["min_ms"]
    common.table(["run", "ms", "median", "to TVM's fp32"], [[name, f"{each['min_ms']:.2f}", f"{each['median_ms']:.2f}", f"{fp32 / each['min_ms']:.2f}x"] for name, each in times.items()])
    told = {name: runs[f"TVM, {name}"].report(given.folder / f"tvm_{name.split()[0]}.json") for name in files}
    before, after = kinds_of(told["fp32"]), kinds_of(told["QDQ u8"])
    kinds = sorted({*before[0], *after[0]}, key=lambda kind: -after[0][kind] - before[0][kind])
    rows = [[kind, before[1][kind], f"{before[0][kind]:.2f}", after[1][kind], f"{after[0][kind]:.2f}"] for kind in kinds[:10]]
    common.table(["function", "calls, fp32", "ms", "calls, QDQ", "ms"], rows)
    report = given.folder / "report.json"
    common.octavo(given, "diagnose", files["QDQ u8"], "--engine", "tvm", "--profile", given.folder / "tvm_QDQ.json", "--json", report)
    found = json.loads(report.read_text())
    profile = found["profile"]
    print(f"{found['verdict']}\n\nOf {profile['total_ms']:.0f} ms integer operators take {profile['integer_ms']:.0f}, products in floats "
          f"{profile['float_products_ms']:.0f}, conversions {profile['conversions_ms']:.0f}, all else {profile['others_ms']:.0f}.\n")
    common.table(["finding", "nodes", "ms", "sure"], [[each["cause"], len(each["nodes"]), f"{each['measured_ms'] or each['predicted_ms']:.1f}", each["sure"]] for each in found["findings"]])


if __name__ == "__main__":
    main()
