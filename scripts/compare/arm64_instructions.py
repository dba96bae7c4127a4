"""Instructions that Octavo, LiteRT and ONNX Runtime execute for one run, as processors of aarch64 under qemu-user: models of one operator, and whole networks.

    scripts/compare/arm64-peers.sh /tmp/peers
    python scripts/compare/arm64_instructions.py --octavo build/bin/octavo --peers /tmp/peers --work /tmp/counted [--cpu cortex-a76] [--only conv] [--model FILE ...]

One thread each. A run of Octavo is half the difference between a process that runs a model three times and one that does so once; a run of a peer what it executes after a first
one, between two system calls of Python that the plugin sees (some 10,000 of Python's own instructions are in it). A model
given by --model is counted instead of those of one operator: .tflite by LiteRT, .onnx by ONNX Runtime, both by Octavo. After make arm64, make build and gcc.
Needs, in any virtual environment: pip install ai-edge-litert==2.3.0 numpy onnx==1.22.0
"""

import argparse
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from litert_operators import CODE, Model, filled

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
TARGETS = {"cortex-a72": "arm64-neon", "cortex-a76": "arm64-dotprod", "max,sve=off": "arm64-i8mm"}
PARTS = {"cortex-a72": ("0xd08", ""), "cortex-a76": ("0xd0b", " asimdhp asimddp"), "max,sve=off": ("0xd49", " asimdhp asimddp i8mm bf16")}  # of /proc/cpuinfo
PROGRAM = """
import sys
sys.path.insert(0, {site!r})
import os
import numpy as np
TYPES = dict([("tensor(float)", np.float32), ("tensor(uint8)", np.uint8), ("tensor(int8)", np.int8), ("tensor(int64)", np.int64)])


def litert(path):
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(path, num_threads=1)
    interpreter.allocate_tensors()
    for tensor in interpreter.get_input_details():
        interpreter.set_tensor(tensor["index"], np.ones(tensor["shape"], tensor["dtype"]))
    return interpreter.invoke


def onnxruntime(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    inputs = dict((x.name, np.ones([d if isinstance(d, int) else 1 for d in x.shape], TYPES[x.type])) for x in session.get_inputs())
    return lambda: session.run(None, inputs)


for path in sys.argv[1:]:
    run = litert(path) if path.endswith(".tflite") else onnxruntime(path)
    run()
    os.getppid()
    run()
    os.getppid()
"""


class Operator:
    """One operator as both kinds of file: what makes the .tflite, the .onnx (or None), and multiply-accumulates or elements of one run."""

    def __init__(self, name, tflite, onnx_model, units, what):
        self.name, self.tflite, self.onnx, self.units, self.what = name, tflite, onnx_model, units, what


def weights(shape, axis):
    rng = np.random.default_rng(1)
    data = rng.integers(-127, 128, shape, dtype=np.int8)
    scale = rng.uniform(0.001, 0.002, shape[axis]).astype(np.float32)
    return data, scale, rng.integers(-1000, 1000, shape[axis], dtype=np.int32)


def convolution(size, ic, oc, kernel, stride=1, depthwise=False, dtype="s8"):
    out = (size + stride - 1) // stride
    taps = kernel * kernel * (1 if depthwise else ic)

    def tflite():
        model = Model()
        shape, axis = ([1, kernel, kernel, oc], 3) if depthwise else ([oc, kernel, kernel, ic], 0)
        data, scale, bias = weights(shape, axis)
        if dtype == "f32":
            x, w = model.input("x", "f32", [1, size, size, ic]), model.tensor("w", "f32", shape, data=data * 0.001)
            b, y = model.tensor("b", "f32", [oc], data=bias * 0.001), model.tensor("y", "f32", [1, out, out, oc])
        else:
            x = model.input("x", "s8", [1, size, size, ic], scale=0.02, zero_point=-3)
            w = model.tensor("w", "s8", shape, scale, np.zeros(oc), axis, data)
            b = model.tensor("b", "s32", [oc], scale * np.float32(0.02), np.zeros(oc), 0, bias)
            y = model.tensor("y", "s8", [1, out, out, oc], scale=0.05, zero_point=-128)
        kind = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
        fields = {"depthMultiplier": oc // ic} if depthwise else {}
        options = filled(kind, strideH=stride, strideW=stride, padding=0, dilationHFactor=1, dilationWFactor=1, **fields)
        model.operator(CODE.DEPTHWISE_CONV_2D if depthwise else CODE.CONV_2D, [x, w, b], y, *options, 3)
        return model

    def qdq():
        data, scale, bias = weights([oc, 1 if depthwise else ic, kernel, kernel], 0)
        pad = (kernel - 1) // 2
        attributes = {"kernel_shape": [kernel] * 2, "pads": [pad] * 4, "strides": [stride] * 2, "group": ic if depthwise else 1}
        return quantized("Conv", [1, ic, size, size], [1, oc, out, out], data, scale, bias, **attributes)

    name = f"{'depthwise' if depthwise else 'conv'} {kernel}x{kernel}{'/2' if stride == 2 else ''}, {size}x{size}x{ic} -> {oc}{', f32' if dtype == 'f32' else ''}"
    return Operator(name, tflite, qdq if dtype == "s8" else None, out * out * oc * taps, "MAC")


def quantized(op, x_shape, y_shape, data, scale, bias, **attributes):
    """x u8 -> op with constant s8 weights -> y u8, spelled by q/dq pairs."""
    node, tensor = onnx.helper.make_node, onnx.numpy_helper.from_array
    axis = 0 if op == "Conv" else 1
    constants = {"xs": np.float32(0.02), "xz": np.uint8(125), "w": data, "ws": scale, "wz": np.zeros(len(scale), np.int8), "b": bias,
                 "bs": scale * np.float32(0.02), "bz": np.zeros(len(scale), np.int32), "ys": np.float32(0.05), "yz": np.uint8(0)}
    nodes = [node("DequantizeLinear", ["x", "xs", "xz"], ["xd"]), node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=axis),
             node("DequantizeLinear", ["b", "bs", "bz"], ["bd"], axis=0), node(op, ["xd", "wd", "bd"], ["yd"], **attributes),
             node("QuantizeLinear", ["yd", "ys", "yz"], ["y"])]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "one", [value("x", onnx.TensorProto.UINT8, x_shape)], [value("y", onnx.TensorProto.UINT8, y_shape)],
                                   [tensor(np.asarray(array), name) for name, array in constants.items()])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)


def product(rows, ic, oc):
    def tflite():
        model = Model()
        data, scale, bias = weights([oc, ic], 0)
        x = model.input("x", "s8", [rows, ic], scale=0.02, zero_point=-3)
        w = model.tensor("w", "s8", [oc, ic], scale, np.zeros(oc), 0, data)
        b = model.tensor("b", "s32", [oc], scale * np.float32(0.02), np.zeros(oc), 0, bias)
        model.operator(CODE.FULLY_CONNECTED, [x, w, b], model.tensor("y", "s8", [rows, oc], scale=0.05, zero_point=3), *filled("FullyConnectedOptions"), 4)
        return model

    def qdq():
        data, scale, bias = weights([ic, oc], 1)
        return quantized("Gemm", [rows, ic], [rows, oc], data, scale, bias)

    return Operator(f"matmul {rows} x {ic} x {oc}", tflite, qdq, rows * ic * oc, "MAC")


def by_element(name, code, shape, kind=None, inputs=1, y_quant=(0.05, 3), **fields):
    def tflite():
        model = Model()
        x = [model.input(f"x{i}", "s8", shape, scale=0.04 + 0.01 * i, zero_point=2) for i in range(inputs)]
        model.operator(code, x, model.tensor("y", "s8", shape, scale=y_quant[0], zero_point=y_quant[1]), *(filled(kind, **fields) if kind else (None, 0)), 2)
        return model

    return Operator(f"{name} {'x'.join(map(str, shape))}", tflite, None, int(np.prod(shape)), "element")


def pool(shape):
    def tflite():
        model = Model()
        x = model.input("x", "s8", shape, scale=0.04, zero_point=2)
        out = [shape[0], shape[1] // 2, shape[2] // 2, shape[3]]
        options = filled("Pool2DOptions", padding=0, strideH=2, strideW=2, filterHeight=3, filterWidth=3)
        model.operator(CODE.MAX_POOL_2D, [x], model.tensor("y", "s8", out, scale=0.04, zero_point=2), *options, 2)
        return model

    return Operator(f"max pool 3x3/2 {'x'.join(map(str, shape))}", tflite, None, int(np.prod(shape)) // 4, "element")


OPERATORS = [
    convolution(28, 128, 128, 3), convolution(28, 128, 256, 1), convolution(7, 512, 512, 3), convolution(28, 128, 128, 3, dtype="f32"),
    convolution(28, 192, 192, 3, depthwise=True), convolution(56, 96, 96, 3, stride=2, depthwise=True), product(64, 384, 1536), product(1, 1024, 1024),
    pool([1, 56, 56, 64]), by_element("add", CODE.ADD, [1, 28, 28, 128], "AddOptions", 2), by_element("logistic", CODE.LOGISTIC, [1, 28, 28, 128], y_quant=(1 / 256, -128)),
    by_element("softmax", CODE.SOFTMAX, [64, 256], "SoftmaxOptions", y_quant=(1 / 256, -128), beta=1.0),
]


class Counter:
    def __init__(self, arguments):
        self.work, self.peers, self.octavo = arguments.work, arguments.peers, arguments.octavo
        self.work.mkdir(parents=True, exist_ok=True)
        self.plugin, self.program = self.work / "count.so", self.work / "peer.py"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", self.plugin, HERE / "count_instructions.c"], check=True)
        self.program.write_text(PROGRAM.format(site=str(self.peers / "site")))

    def counts(self, cpu, root, command):
        """Lines of the plugin: (what, count)."""
        log = self.work / "count.log"
        done = subprocess.run(["qemu-aarch64", "-cpu", cpu, "-L", root, "-d", "plugin", "-D", log, "-plugin", self.plugin, *map(str, command)], capture_output=True, text=True)
        if done.returncode:
            print(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr[-500:]}", file=sys.stderr)
        return [(what, int(count)) for what, count in re.findall(r"^(\w+) (\d+)$", log.read_text(), re.M)]

    def octavo_run(self, cpu, model, options=()):
        compiled = self.work / "model.octv"
        subprocess.run([self.octavo, "compile", model, "--target", TARGETS[cpu], "-o", compiled, *options], check=True, capture_output=True)
        picture = self.work / "picture.bmp"
        picture.write_bytes(b"BM" + bytes(8) + (54).to_bytes(4, "little") + (40).to_bytes(4, "little") + (4).to_bytes(4, "little") * 2 + bytes([1, 0, 24]) + bytes(25 + 48))
        program = [ROOT / "build/arm64/bin/answer_picture", compiled, picture, self.work / "outputs.bin"]
        once, thrice = (dict(self.counts(cpu, ROOT / "build/arm64-root", [*program, runs])).get("instructions") for runs in (1, 3))
        return (thrice - once) / 2

    def peer_runs(self, cpu, models):
        """What each model's second run executes; None where there is no model. One process, as Python takes long to start under qemu."""
        part, features = PARTS[cpu]
        text = f"processor\t: 0\nFeatures\t: fp asimd crc32 atomics{features}\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: {part}\nCPU revision\t: 0\n"
        (self.peers / "root/proc/cpuinfo").write_text(text)  # what programs see instead of this machine's
        given = [model for model in models if model]
        counts = [count for what, count in self.counts(cpu, self.peers / "root", [self.peers / "root/usr/bin/python3.11", self.program, *given]) if what == "between"]
        runs = iter(counts[1::2])
        return [next(runs, None) if model else None for model in models]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--peers", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--cpu", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--only", default="", help="names of operators that contain this")
    parser.add_argument("--model", nargs="*", default=[], help="files to count instead; FILE=OPTIONS gives options to octavo compile")
    arguments = parser.parse_args()
    counter = Counter(arguments)
    print("| model | as | per | Octavo | LiteRT | ONNX Runtime |\n| --- | --- | --- | --- | --- | --- |")

    def row(name, cpu, what, *counts):
        print(f"| {name} | {cpu} | {what} | " + " | ".join("" if count is None else f"{count:.2f}" if count < 100 else f"{count:.0f}" for count in counts) + " |", flush=True)

    cases = []  # name, file, options of octavo compile, what the peers read, divisor, its name
    for given in arguments.model:
        path, _, options = given.partition("=")
        peers = [path if path.endswith(ending) else None for ending in (".tflite", ".onnx")]
        cases.append((pathlib.Path(path).name, path, options.split(), peers, 1e6, "10^6"))
    for number, operator in enumerate([] if arguments.model else OPERATORS):
        if arguments.only not in operator.name:
            continue
        tflite, qdq = counter.work / f"{number}.tflite", counter.work / f"{number}.onnx"
        operator.tflite().save(tflite)
        if operator.onnx:
            onnx.save(operator.onnx(), qdq)
        per, what = (operator.units / 1000, "1,000 MACs") if operator.what == "MAC" else (operator.units, "element")
        options = ["--precision", "fp32"] if operator.name.endswith("f32") else []
        cases.append((operator.name, tflite, options, [tflite, qdq if operator.onnx else None], per, what))
    for cpu in arguments.cpu:
        own = [counter.octavo_run(cpu, path, options) for _, path, options, *_ in cases]
        peers = [counter.peer_runs(cpu, [case[3][kind] for case in cases]) for kind in (0, 1)]
        for case, *counts in zip(cases, own, *peers):
            row(case[0], cpu, case[5], *(count and count / case[4] for count in counts))


main()
