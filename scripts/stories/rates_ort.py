"""Small ONNX files of one operator in a row, from which rates.py learns what ONNX Runtime's operators cost."""

import collections
import json
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"


class Row:
    """A file in the making: nodes after each other."""

    def __init__(self, shape, dtype=np.float32):
        self.shape, self.dtype, self.nodes, self.constants, self.random = shape, dtype, [], [], np.random.default_rng(1)

    def constant(self, values):
        self.constants.append(numpy_helper.from_array(np.asarray(values), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, op, inputs, outputs=1, domain="", **attributes):
        names = [f"{op}_{len(self.nodes)}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def scale(self, value=0.02):
        return self.constant(np.float32(value))

    def zero(self, dtype):
        return self.constant(dtype(128 if dtype == np.uint8 else 32768 if dtype == np.uint16 else 0))

    def pair(self, x, dtype=np.uint8):
        scale, zero = self.scale(), self.zero(dtype)
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, scale, zero]), scale, zero])

    def stored(self, shape, dtype):
        limits = (0, 256) if dtype == np.uint8 else (-127, 128)
        return self.constant(self.random.integers(*limits, shape).astype(dtype))

    def scales(self, channels):
        return self.constant(np.full(channels, 0.001, np.float32))

    def dequantized(self, shape, axis):
        """Weights in bytes that a node makes floats of."""
        channels = shape[axis]
        return self.node("DequantizeLinear", [self.stored(shape, np.int8), self.scales(channels), self.constant(np.zeros(channels, np.int8))], axis=axis)

    def bias(self, channels):
        """As files of pairs have it: a pass more over the results of a convolution in floats."""
        return self.node("DequantizeLinear", [self.constant(np.zeros(channels, np.int32)), self.constant(np.full(channels, 0.02 * 0.001, np.float32)), self.constant(np.zeros(channels, np.int32))], axis=0)

    def save(self, path, y):
        names = {np.float32: TensorProto.FLOAT, np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}
        made = helper.make_graph(self.nodes, "row", [helper.make_tensor_value_info("x", names[self.dtype], self.shape)], [helper.make_empty_tensor_value_info(y)], self.constants)
        model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)], ir_version=10)
        onnx.save(model, path)


def product(row, x, form, kind, width, out, window, groups=1):
    """One product behind another, in a form of src/diagnose/engine_cost.h."""
    is_matmul = kind == "matmul"
    groups = width if kind == "depthwise" else groups
    shape = (width, out) if is_matmul else (out, width // groups, window, window)
    attributes = {} if is_matmul else {"pads": [window // 2] * 4, "group": groups}
    op, axis = ("MatMul", 1) if is_matmul else ("Conv", 0)
    if form == "packed_float":
        bias = [] if is_matmul else [row.constant(np.zeros(out, np.float32))]
        return row.node(op, [x, row.constant(row.random.standard_normal(shape, np.float32) * 0.05), *bias], **attributes)
    if form == "loose_float":
        return row.node(op, [x, row.dequantized(shape, axis), *([] if is_matmul else [row.bias(out)])], **attributes)
    if form == "integer":
        return row.pair(row.node(op, [x, row.dequantized(shape, axis), *([] if is_matmul else [row.bias(out)])], **attributes))
    if form == "dynamic":
        bytes_of, scale, zero = row.node("DynamicQuantizeLinear", [x], 3)
        sums = row.node(f"{op}Integer", [bytes_of, row.stored(shape, np.int8 if is_matmul else np.uint8), zero, *([] if is_matmul else [row.constant(np.uint8(128))])], **attributes)
        return row.node("Mul", [row.node("Cast", [sums], to=TensorProto.FLOAT), row.node("Mul", [scale, row.scale(0.001)])])
    dtype, weights = (np.int8, np.int8) if form == "signed_slow" else (np.uint8, np.uint8)
    scale, zero = row.scale(), row.zero(dtype)
    rest = [row.stored(shape, weights), row.scale(0.001), row.constant(weights(0)), scale, zero]
    rest += [] if is_matmul else [row.constant(np.zeros(out, np.int32))]
    return row.node(f"QLinear{op}", [x, scale, zero, *rest], **attributes)


def product_row(path, form, kind, count, width, out, size, window, _stride=1, groups=1):
    """`size`: pixels of a side, or rows of a matrix. Widths alternate between `width` and `out`. Strides are 1."""
    row = Row([size, width] if kind == "matmul" else [1, width, size, size], {"signed_slow": np.int8, "unsigned_slow": np.uint8}.get(form, np.float32))
    x = row.pair("x") if form == "integer" else "x"
    for at in range(count):
        widths = (width, out) if at % 2 == 0 else (out, width)
        x = product(row, x, form, kind, *widths, window, groups)
    row.save(path, x)


def _integers(op, inputs, **attributes):
    """An operator of com.microsoft on bytes, whose result has the scale that its operands have."""

    def add(row, x):
        scale, zero = row.scale(), row.zero(np.uint8)
        return row.node(op, [x, scale, zero] * inputs + [scale, zero], domain=MICROSOFT, **attributes)

    return add


def _floats(op, inputs=1, **attributes):
    return lambda row, x: row.node(op, [x] * inputs, **attributes)


def _pairs(dtype):
    return lambda row, x: row.pair(x, dtype)


# by the names of src/diagnose/engine_cost.h: (type of the input, what adds one)
PASSES = {
    "pair": (np.float32, _pairs(np.uint8)),
    "pair16": (np.float32, _pairs(np.uint16)),
    "add": (np.uint8, _integers("QLinearAdd", 2)),
    "mul": (np.uint8, _integers("QLinearMul", 2)),
    "sigmoid": (np.uint8, _integers("QLinearSigmoid", 1)),
    "float_add": (np.float32, _floats("Add", 2)),
    "float_mul": (np.float32, _floats("Mul", 2)),
    "float_sigmoid": (np.float32, _floats("Sigmoid")),
    "float_function": (np.float32, _floats("HardSwish")),
    "float_relu": (np.float32, _floats("Relu")),
    "slow_max_pool": (np.uint8, _floats("MaxPool", kernel_shape=[3, 3], pads=[1] * 4)),
    "float_max_pool": (np.float32, _floats("MaxPool", kernel_shape=[3, 3], pads=[1] * 4)),
    "float_softmax": (np.float32, _floats("Softmax")),
    "transpose": (np.uint8, _floats("Transpose", perm=[0, 2, 3, 1])),
    "float_transpose": (np.float32, _floats("Transpose", perm=[0, 2, 3, 1])),
}


def pass_row(path, name, count, channels, size):
    dtype, add = PASSES[name]
    row, x = Row([1, channels, size, size], dtype), "x"
    for _ in range(count):
        x = add(row, x)
    row.save(path, x)


def mean_row(path, is_integer, count, channels, size):
    """Means of one input by several nodes."""
    row = Row([1, channels, size, size], np.uint8 if is_integer else np.float32)
    means = []
    for _ in range(count):
        scale, zero = row.scale(), row.zero(np.uint8)
        means.append(row.node("QLinearGlobalAveragePool", ["x", scale, zero, scale, zero], domain=MICROSOFT) if is_integer else row.node("GlobalAveragePool", ["x"]))
    row.save(path, row.node("Concat", means, axis=0))


KINDS = ("conv", "grouped", "pointwise", "depthwise", "matmul")
FORMS = {form: KINDS for form in ("packed_float", "loose_float", "integer", "signed_slow", "unsigned_slow", "dynamic")}
MORE_SHAPES = {}


def has_channels_last(form):
    """Of operators on bytes, which ONNX Runtime brings into that order."""
    return form in ("integer", "signed_slow", "unsigned_slow")


class session:
    """A file on one thread."""

    def __init__(self, path, is_profiled=False, is_optimized=True):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.enable_profiling, options.log_severity_level = 1, is_profiled, 3
        options.profile_file_prefix = str(path)
        if not is_optimized:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        value = self._session.get_inputs()[0]
        dtype = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8}[value.type]
        random = np.random.default_rng(0)
        self._inputs = {value.name: random.standard_normal(value.shape, np.float32) if dtype == np.float32 else random.integers(0, 100, value.shape).astype(dtype)}

    def run(self):
        return self._session.run(None, self._inputs)

    def kernels_us(self, runs=20):
        """The least time of every node, by operator, after so many runs; and of the whole run."""
        for _ in range(runs):
            self.run()
        nodes, wholes = collections.defaultdict(list), []
        for event in json.loads(Path(self._session.end_profiling()).read_text()):
            if event["name"] == "model_run":
                wholes.append(event["dur"])
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                nodes[event["name"], event["args"]["op_name"]].append(event["dur"])
        kinds = collections.defaultdict(list)
        for (_, op), times in nodes.items():
            kinds[op].append(min(times))
        return kinds


def passes(folder, sizes, seconds):
    """ns of an element for what is no product, and us of a node whatever it does."""
    rows = {"quantize": ("pair", "QuantizeLinear"), "dequantize": ("pair", "DequantizeLinear"), "quantize16": ("pair16", "QuantizeLinear"), "dequantize16": ("pair16", "DequantizeLinear")}
    rows |= {name: (name, None) for name in PASSES if name not in ("pair", "pair16")}
    found = {}
    for name, (row, op) in rows.items():
        elements, times = [], []
        for channels, size in sizes:
            pass_row(str(folder / "row"), row, 4, channels, size)
            kernels = session(folder / "row", True, False).kernels_us(max(20, int(seconds * 400)))
            elements.append([channels * size * size])
            times.append(np.mean([each for kind, every in kernels.items() if op in (None, kind) for each in every]))
        found[name] = round(float(fitted_through(elements, times)), 4)
    means = lambda is_integer: lambda path, *of: mean_row(path, is_integer, *of)
    for name, make, op, is_optimized in (
        ("average", means(True), "QLinearGlobalAveragePool", False),
        ("float_average", means(False), "GlobalAveragePool", False),
        ("max_pool", pool_row, "NhwcMaxPool", True),
        ("slow_average", slow_mean_row, "ReduceMean", True),
    ):
        elements, times = [], []
        for channels, size in sizes:
            make(str(folder / "row"), 4, channels, size)
            kernels = session(folder / "row", True, is_optimized).kernels_us(max(20, int(seconds * 400)))
            elements.append([channels * size * size])
            times.append(np.mean(kernels[op]))
        found[name] = round(float(fitted_through(elements, times)), 4)
    return {"passes_ns": found, "node_us": round(node_us(folder), 3)}


def pool_row(path, count, channels, size):
    """Max pools behind a convolution on bytes, which has channels last, as they then have."""
    row = Row([1, channels, size, size], np.uint8)
    x = product(row, "x", "unsigned_slow", "pointwise", channels, channels, 1)
    for _ in range(count):
        x = row.node("MaxPool", [x], kernel_shape=[3, 3], pads=[1] * 4)
    row.save(path, x)


def slow_mean_row(path, count, channels, size):
    """Means in floats between operators on bytes, as in gates of all pixels: they have the order of channels of these, and are slow by it."""
    row, x = Row([1, channels, size, size], np.uint8), "x"
    for _ in range(count):
        x = product(row, x, "unsigned_slow", "pointwise", channels, channels, 1)
        scale, zero = row.scale(), row.zero(np.uint8)
        mean = row.node("ReduceMean", [row.node("DequantizeLinear", [x, scale, zero]), row.constant(np.array([2, 3], np.int64))], keepdims=1)
        x = row.node("QLinearMul", [x, scale, zero, row.node("QuantizeLinear", [mean, scale, zero]), scale, zero, scale, zero], domain=MICROSOFT)
    row.save(path, x)


def fitted_through(elements, times):
    """ns of an element: the median of times over sizes."""
    return np.median(np.asarray(times) * 1e3 / np.asarray(elements)[:, 0])


def node_us(folder):
    """Of a node that does next to nothing."""
    least = []
    for count in (20, 120):
        pass_row(str(folder / "row"), "float_relu", count, 1, 2)
        made, times = session(folder / "row", is_optimized=False), []
        for _ in range(300):
            start = time.perf_counter()
            made.run()
            times.append(time.perf_counter() - start)
        least.append(min(times) * 1e6)
    return (least[1] - least[0]) / 100
