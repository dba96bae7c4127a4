"""Small TFLite files of one operator in a row, from which rates.py learns what LiteRT's operators cost."""

import time

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

OPERATOR, TYPE = schema.BuiltinOperator, schema.TensorType
TYPES = {np.float32: TYPE.FLOAT32, np.int8: TYPE.INT8, np.uint8: TYPE.UINT8, np.int16: TYPE.INT16, np.int32: TYPE.INT32, np.int64: TYPE.INT64}
# least versions of operators that take 8-bit and 16-bit tensors
VERSIONS = {OPERATOR.CONV_2D: 5, OPERATOR.DEPTHWISE_CONV_2D: 6, OPERATOR.FULLY_CONNECTED: 7, OPERATOR.MUL: 4, OPERATOR.ADD: 4, OPERATOR.LOGISTIC: 3, OPERATOR.MEAN: 3, OPERATOR.SOFTMAX: 3, OPERATOR.QUANTIZE: 3, OPERATOR.DEQUANTIZE: 3, OPERATOR.MAX_POOL_2D: 3, OPERATOR.RELU: 2, OPERATOR.TRANSPOSE: 3, OPERATOR.TANH: 3, OPERATOR.RELU6: 2, OPERATOR.AVERAGE_POOL_2D: 2}


class Row:
    """A file in the making."""

    def __init__(self):
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.buffers, self.model.operatorCodes, self.model.subgraphs = 3, [schema.BufferT()], [], [self.graph]
        self.graph.tensors, self.graph.operators, self.random = [], [], np.random.default_rng(1)

    def tensor(self, shape, dtype, values=None, scales=None, axis=0, zero=0):
        made = schema.TensorT()
        made.name, made.shape, made.type, made.buffer = f"t{len(self.graph.tensors)}", list(map(int, shape)), TYPES[dtype], 0
        if values is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(values, dtype).tobytes(), np.uint8)
            self.model.buffers.append(buffer)
            made.buffer = len(self.model.buffers) - 1
        if scales is not None:
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale, made.quantization.zeroPoint, made.quantization.quantizedDimension = list(scales), [zero] * len(scales), axis
        self.graph.tensors.append(made)
        return len(self.graph.tensors) - 1

    def activation(self, shape, dtype, scale=0.05, zero=0):
        return self.tensor(shape, dtype, None, None if dtype == np.float32 else [scale], zero=zero)

    def node(self, kind, inputs, output, options=None, options_type=0):
        codes = [code.builtinCode for code in self.model.operatorCodes]
        if kind not in codes:
            code = schema.OperatorCodeT()
            code.builtinCode, code.deprecatedBuiltinCode, code.version = kind, min(kind, 127), VERSIONS.get(kind, 1)
            self.model.operatorCodes.append(code)
            codes.append(kind)
        made = schema.OperatorT()
        made.opcodeIndex, made.inputs, made.outputs, made.builtinOptions, made.builtinOptionsType = codes.index(kind), inputs, [output], options, options_type
        self.graph.operators.append(made)
        return output

    def save(self, path, x, y):
        self.graph.inputs, self.graph.outputs = [x], [y] if isinstance(y, int) else y
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        with open(path, "wb") as file:
            file.write(bytes(builder.Output()))


def options_of(name, **values):
    made = getattr(schema, f"{name}T")()
    for key, value in values.items():
        setattr(made, key, value)
    return made, getattr(schema.BuiltinOptions, name)


def _product(row, x, form, kind, taken, made, window, stride, groups, shape):
    """One product of x, of that shape; its result, and the result's shape."""
    dtype = {"integer": np.int8, "wide": np.int16, "unsigned_slow": np.uint8}.get(form, np.float32)
    zero = 128 if dtype == np.uint8 else 0
    weights, axis = {"matmul": ([made, taken], 0), "depthwise": ([1, window, window, made], 3)}.get(kind, ([made, window, window, taken // groups], 0))
    if form == "packed_float":
        w = row.tensor(weights, np.float32, row.random.standard_normal(weights, np.float32) * 0.05)
        bias = row.tensor([made], np.float32, np.zeros(made))
    elif form == "unsigned_slow":
        w = row.tensor(weights, np.uint8, row.random.integers(0, 256, weights), [0.001], zero=zero)
        bias = row.tensor([made], np.int32, np.zeros(made), [0.05 * 0.001])
    else:
        w = row.tensor(weights, np.int8, row.random.integers(-127, 128, weights), [0.001] * made, axis)
        sums = np.float32 if form == "dynamic" else np.int64 if form == "wide" else np.int32
        bias = row.tensor([made], sums, np.zeros(made), None if form == "dynamic" else [0.05 * 0.001] * made)
    shape = [*(shape[:1] if kind == "matmul" else [1, *(each // stride for each in shape[1:3])]), made]
    y = row.activation(shape, dtype, zero=zero)
    if kind == "matmul":
        return row.node(OPERATOR.FULLY_CONNECTED, [x, w, bias], y, *options_of("FullyConnectedOptions")), shape
    strides = {"strideH": stride, "strideW": stride, "dilationHFactor": 1, "dilationWFactor": 1}
    if kind == "depthwise":
        return row.node(OPERATOR.DEPTHWISE_CONV_2D, [x, w, bias], y, *options_of("DepthwiseConv2DOptions", depthMultiplier=1, **strides)), shape
    return row.node(OPERATOR.CONV_2D, [x, w, bias], y, *options_of("Conv2DOptions", **strides)), shape


def product_row(path, form, kind, count, width, out, size, window, stride=1, groups=1):
    row = Row()
    dtype = {"integer": np.int8, "wide": np.int16, "unsigned_slow": np.uint8}.get(form, np.float32)
    shape = [size, width] if kind == "matmul" else [1, size, size, width]
    first = x = row.activation(shape, dtype, zero=128 if dtype == np.uint8 else 0)
    if form == "dynamic" and kind == "depthwise":
        # LiteRT's own kernel, of SSE, takes three times as long where XNNPACK's kernels of AVX-512 for the products before
        # left the upper halves of registers set: as in every network.
        x, shape = _product(row, x, form, "pointwise", width, width, 1, 1, 1, shape)
    ends = []
    for at in range(count):
        taken, made = (width, out) if at % 2 == 0 else (out, width)
        if stride > 1:  # beside each other
            ends.append(_product(row, x, form, kind, width, out, window, stride, groups, shape)[0])
        else:
            x, shape = _product(row, x, form, kind, taken, made, window, stride, groups, shape)
    row.save(path, first, ends or x)


KINDS = ("conv", "grouped", "pointwise", "depthwise", "matmul")
FORMS = {"packed_float": KINDS, "integer": KINDS, "unsigned_slow": KINDS, "dynamic": KINDS, "wide": KINDS}
# Inputs are quantized in the run: what that takes shows where they are more than results.
MORE_SHAPES = {("dynamic", "depthwise"): ((96, 96, 56, 3, 2), (144, 144, 28, 3, 2))}


def has_channels_last(_form):
    return True


class session:
    """A file on one thread."""

    def __init__(self, path):
        from ai_edge_litert.interpreter import Interpreter

        self._interpreter = Interpreter(model_path=str(path), num_threads=1)
        self._interpreter.allocate_tensors()
        given, random = self._interpreter.get_input_details()[0], np.random.default_rng(0)
        values = random.standard_normal(given["shape"]) if given["dtype"] == np.float32 else random.integers(-100, 100, given["shape"])
        self._interpreter.set_tensor(given["index"], values.astype(given["dtype"]))

    def run(self):
        self._interpreter.invoke()


def _operator(kind, *options, operands=1, scale=0.05, zero=0, **values):
    return lambda row, x, shape, dtype: row.node(kind, [x] * operands, row.activation(shape, dtype, scale, zero), *(options_of(*options, **values) if options else ()))


def _transpose(row, x, shape, dtype):
    return row.node(OPERATOR.TRANSPOSE, [x, row.tensor([4], np.int32, [0, 2, 1, 3])], row.activation(shape, dtype), *options_of("TransposeOptions"))


def _mean(row, x, shape, dtype):
    return row.node(OPERATOR.MEAN, [x, row.tensor([2], np.int32, [1, 2])], row.activation([1, 1, 1, shape[-1]], dtype), *options_of("ReducerOptions", keepDims=True))


def _converted(kind, dtype, scale=0.05):
    return lambda row, x, shape, _: row.node(kind, [x], row.activation(shape, dtype, scale))


POOL = {"strideH": 1, "strideW": 1, "filterHeight": 3, "filterWidth": 3}
# by the names of src/diagnose/engine_cost.h: (type of the input, what adds one)
PASSES = {
    "quantize": (np.float32, _converted(OPERATOR.QUANTIZE, np.int8)),
    "dequantize": (np.int8, _converted(OPERATOR.DEQUANTIZE, np.float32)),
    "quantize16": (np.float32, _converted(OPERATOR.QUANTIZE, np.int16)),
    "dequantize16": (np.int16, _converted(OPERATOR.DEQUANTIZE, np.float32)),
    "requantize": (np.int8, _converted(OPERATOR.QUANTIZE, np.int8, 0.06)),
    "add": (np.int8, _operator(OPERATOR.ADD, "AddOptions", operands=2, scale=0.1)),
    "mul": (np.int8, _operator(OPERATOR.MUL, "MulOptions", operands=2)),
    "sigmoid": (np.int8, _operator(OPERATOR.LOGISTIC, scale=1 / 256, zero=-128)),
    "max_pool": (np.int8, _operator(OPERATOR.MAX_POOL_2D, "Pool2DOptions", **POOL)),
    "transpose": (np.int8, _transpose),
    "average": (np.int8, _mean),
    "float_add": (np.float32, _operator(OPERATOR.ADD, "AddOptions", operands=2)),
    "float_mul": (np.float32, _operator(OPERATOR.MUL, "MulOptions", operands=2)),
    "float_sigmoid": (np.float32, _operator(OPERATOR.LOGISTIC)),
    "float_function": (np.float32, _operator(OPERATOR.HARD_SWISH)),
    "float_relu": (np.float32, _operator(OPERATOR.RELU)),
    "float_max_pool": (np.float32, _operator(OPERATOR.MAX_POOL_2D, "Pool2DOptions", **POOL)),
    "float_softmax": (np.float32, _operator(OPERATOR.SOFTMAX, "SoftmaxOptions", beta=1.0)),
    "float_transpose": (np.float32, _transpose),
    "float_average": (np.float32, _mean),
    "float_window": (np.float32, _operator(OPERATOR.AVERAGE_POOL_2D, "Pool2DOptions", **POOL)),
    "slow_relu": (np.int8, _operator(OPERATOR.RELU)),
    "slow_function": (np.int8, _operator(OPERATOR.HARD_SWISH)),
    "slow_softmax": (np.int8, _operator(OPERATOR.SOFTMAX, "SoftmaxOptions", beta=1.0, scale=1 / 256, zero=-128)),
    "slow_window": (np.int8, _operator(OPERATOR.AVERAGE_POOL_2D, "Pool2DOptions", **POOL)),
    "wide_add": (np.int16, _operator(OPERATOR.ADD, "AddOptions", operands=2, scale=0.1)),
    "wide_mul": (np.int16, _operator(OPERATOR.MUL, "MulOptions", operands=2)),
}


def pass_row(path, name, count, shape):
    """So many nodes that read one tensor: what stands behind each other might be made one."""
    dtype, add = PASSES[name]
    row = Row()
    x = row.activation(shape, dtype)
    row.save(path, x, [add(row, x, shape, dtype) for _ in range(count)])


def _node_us(name, folder, channels, size, seconds):
    """Of one more node."""
    least = []
    for count in (2, 10):
        pass_row(folder / "row", name, count, [1, size, size, channels])
        run, times = session(folder / "row").run, []
        run(), run()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        least.append(min(times))
    return max(least[1] - least[0], 0.0) / 8 * 1e6


def passes(folder, sizes, seconds):
    """ns of an element for what is no product, and us of a node whatever it does."""
    found = {}
    for name in PASSES:
        of_sizes = [_node_us(name, folder, channels, size, seconds) * 1e3 / (channels * size * size) for channels, size in sizes]
        found[name] = round(float(np.median(of_sizes)), 4)
    return {"passes_ns": found, "node_us": round(_node_us("float_relu", folder, 2, 1, seconds), 3)}
