"""Random .tflite graphs with 16-bit activations and 8-bit weights, for litert_graphs.py --types 16x8 and make_litert_graphs.py.

Needs: pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import numpy as np

from litert_graph import RandomGraph
from litert_graph_movement import concatenation, expand_and_squeeze, pack_and_unpack, pad, reshape, resize_bilinear, resize_nearest, slices, split, transpose
from litert_graph_operators import FUSED, dequantize, extreme, leaky, partner, pool, window
from litert_operators import UNIT, filled, says_bias


class RandomGraph16x8(RandomGraph):
    """Activations have no zero point, and scales that make their ranges those of 8-bit ones."""

    def __init__(self, rng):
        super().__init__(rng, "s16")

    def zero(self, dtype):
        return 0 if dtype == "s16" else super().zero(dtype)

    def scale(self, low=0.01, high=0.1):
        return np.float32(super().scale(low, high) / 256)


# ---- functions of one value


def unary(name, version, options=None, scale=None, near=1.0):
    def add(g, x=None):
        x = x or g.pick()
        quant = g.quant(x.scale * near, x) if scale is None else {"scale": np.float32(scale(float(x.scale))), "zero_point": 0}
        g.emit(name, [x], [x.shape], quant, options(g) if options else (None, 0), version)

    return add


def root(name, version, scale):
    """Of values from 0 on: LiteRT refuses others."""

    def add(g, x=None):
        x = x or g.pick()
        g.emit("RELU", [x], [x.shape], x.quant(), (None, 0), 3)
        raised = g.values[-1]
        g.emit(name, [raised], [x.shape], {"scale": np.float32(scale(np.sqrt(float(x.scale)))), "zero_point": 0}, (None, 0), version)

    return add


def softmax(g, x=None):
    x = x or g.pick(None, lambda v: len(v.shape) <= 4)
    options = filled("SoftmaxOptions", beta=float(g.one_of(1.0, 1.0, 0.5, 2.0)))
    g.emit("SOFTMAX", [x], [x.shape], {"scale": UNIT, "zero_point": 0}, options, 3)


def through_bytes(g, x=None):
    """To s8, sometimes through an operator of s8, and back."""
    x = x or g.pick()
    g.emit("QUANTIZE", [x], [x.shape], {"scale": np.float32(x.scale * 256 * g.rng.uniform(0.5, 1.5)), "zero_point": g.zero("s8")}, (None, 0), 3, dtype="s8")
    byte = g.values[-1]
    if g.chance(0.4):
        g.emit("RELU", [byte], [x.shape], byte.quant(), (None, 0), 2, dtype="s8")
        byte = g.values[-1]
    g.emit("QUANTIZE", [byte], [x.shape], g.quant(x.scale, x), (None, 0), 3)


# ---- two values


def binary(name, kind, scale_of, version, **fields):
    def add(g):
        x = g.pick()
        other, scale = partner(g, x)
        sides = [x, other]
        if g.chance(0.4):
            sides.reverse()
        options = filled(kind, fusedActivationFunction=int(g.one_of(*FUSED)), **fields)
        near = scale_of(float(x.scale), float(scale))
        quant = g.quant(near, x)
        if near > 256 * quant["scale"]:  # LiteRT's sums and differences leave 32 bits
            quant = quant | {"scale": np.float32(near)}
        g.emit(name, sides, [x.shape], quant, options, version)

    return add


def comparison(g):
    """An output of truths."""
    x = g.pick()
    fit = [v for v in g.values if v.dtype == x.dtype and v.shape == x.shape and v.index != x.index]
    other = g.one_of(*fit) if fit and g.chance(0.6) else g.input(x.shape, quant={"scale": g.scale(), "zero_point": 0})
    name = g.one_of("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
    g.emit(name, [x, other], [x.shape], None, (None, 0), 3 if "EQUAL" in name[-9:] and name[0] in "EN" else 2, dtype="bool", is_quantized=False)


# ---- convolutions and products


def weights(g, shape, channels, axis):
    many = g.chance(0.8)
    scales = [np.float32(np.exp(g.rng.uniform(np.log(0.002), np.log(0.02)))) for _ in range(channels if many else 1)]
    data = g.rng.integers(-127, 128, shape)
    return g.model.tensor(g.constant_name(), "s8", shape, scales, [0] * len(scales), axis, data), scales


def bias(g, x, scales, channels, dtype):
    scaled, most = [x.scale * s for s in scales], 1 << int(g.rng.integers(4, 22))
    return g.model.tensor(g.constant_name(), dtype, [channels], scaled, [0] * len(scales), 0, g.rng.integers(-most, most, channels))


def result_quant(g, x, scales, taps):
    return g.quant(float(x.scale) * float(np.mean(scales)) * 60 * np.sqrt(taps), x if g.chance(0.15) else None)


def with_bias(g, x, scales, channels, options, types):
    dtype = g.one_of(*types)
    says_bias(options[0], dtype)
    return [bias(g, x, scales, channels, dtype)] if dtype else []


def conv(g):
    x = g.pick(4)
    out, kernel = int(g.one_of(3, 4, 8, 16, x.shape[3])), int(g.one_of(1, 1, 3))
    groups = int(g.one_of(*[n for n in (1, 1, 1, 2, 4) if x.shape[3] % n == 0 and out % n == 0]))
    fields, sizes = window(g, x, kernel)
    inner = x.shape[3] // groups
    w, scales = weights(g, [out, kernel, kernel, inner], out, 0)
    options = filled("Conv2DOptions", fusedActivationFunction=int(g.one_of(*FUSED)), **fields)
    inputs = [x, w, *with_bias(g, x, scales, out, options, ("s64", "s64", "s32"))]
    g.emit("CONV_2D", inputs, [[1, *sizes, out]], result_quant(g, x, scales, kernel * kernel * inner), options, 8)


def depthwise(g):
    x = g.pick(4)
    multiplier = int(g.one_of(1, 1, 1, 2))
    out, kernel = x.shape[3] * multiplier, int(g.one_of(1, 3, 3, 5))
    fields, sizes = window(g, x, kernel)
    w, scales = weights(g, [1, kernel, kernel, out], out, 3)
    options = filled("DepthwiseConv2DOptions", fusedActivationFunction=int(g.one_of(*FUSED)), depthMultiplier=multiplier, **fields)
    inputs = [x, w, *with_bias(g, x, scales, out, options, ("s64",))]
    g.emit("DEPTHWISE_CONV_2D", inputs, [[1, *sizes, out]], result_quant(g, x, scales, kernel * kernel), options, 5)


def transpose_conv(types):
    def add(g):
        x = g.pick(4)
        out, stride, kernel = int(g.one_of(3, 8)), int(g.one_of(1, 2)), int(g.one_of(2, 3))
        w, scales = weights(g, [out, kernel, kernel, x.shape[3]], out, 0)
        sizes = [1, x.shape[1] * stride, x.shape[2] * stride, out]
        options = filled("TransposeConvOptions", padding=0, strideH=stride, strideW=stride, fusedActivationFunction=0)
        inputs = [g.integers(sizes), w, x, *with_bias(g, x, scales, out, options, types)]
        g.emit("TRANSPOSE_CONV", inputs, [sizes], result_quant(g, x, scales, x.shape[3] * 3), options, 5)

    return add


def fully_connected(g):
    x = g.pick(2) or g.pick()
    inner, columns = x.shape[-1], int(g.one_of(1, 5, 8, 16))
    keeps = len(x.shape) > 2 and g.chance(0.5)
    w, scales = weights(g, [columns, inner], columns, 0)
    rows = int(np.prod(x.shape[:-1]))
    shape = [*x.shape[:-1], columns] if keeps else [rows, columns]
    options = filled("FullyConnectedOptions", fusedActivationFunction=int(g.one_of(*FUSED)), weightsFormat=0, keepNumDims=keeps)
    inputs = [x, w, *with_bias(g, x, scales, columns, options, ("s64", "s64", "s32", None))]
    g.emit("FULLY_CONNECTED", inputs, [shape], result_quant(g, x, scales, inner), options, 11)


def batch_matmul(g):
    """With a value of s16, or a constant of s8 or s16; turned or not."""
    x = g.pick(4)
    turns_x, turns_y = g.chance(0.3), g.chance(0.5)
    rows, inner = (x.shape[3], x.shape[2]) if turns_x else (x.shape[2], x.shape[3])
    columns = int(g.one_of(1, 4, 9))
    matrix = [columns, inner] if turns_y else [inner, columns]
    shape = g.one_of([*x.shape[:2], *matrix], [1, 1, *matrix], matrix)
    if g.chance(0.5):
        quant = {"scale": np.float32(g.rng.uniform(0.002, 0.02)), "zero_point": 0}
        other, largest = g.model.tensor(g.constant_name(), "s8", shape, **quant, data=g.rng.integers(-127, 128, shape)), 60
    else:
        quant = {"scale": g.scale(0.005, 0.05), "zero_point": 0}
        other, largest = g.constant(shape, quant) if g.chance(0.3) else g.input(shape, quant=quant), 10000
    options = filled("BatchMatMulOptions", adjX=turns_x, adjY=turns_y, asymmetricQuantizeInputs=False)
    near = float(x.scale) * float(quant["scale"]) * largest * np.sqrt(inner)
    g.emit("BATCH_MATMUL", [x, other], [[*x.shape[:2], rows, columns]], g.quant(near), options, 4)


def small_resize_nearest(g):
    """Of wide pictures the positions of half pixels may be others (docs/numerics.md)."""
    g.next = g.pick(4, lambda v: max(v.shape[1:3]) <= 12)
    if max(g.next.shape[1:3]) <= 12:
        resize_nearest(g)
    g.next = None


# ---- reductions


def reduction(name, near=1.0, version=3):
    def add(g):
        x = g.pick(4)
        axes = g.one_of([1, 2], [1, 2], [2, 1], [3], [1], [1, 2, 3])
        keep = g.chance(0.6)
        shape = [1 if i in axes else s for i, s in enumerate(x.shape) if keep or i not in axes]
        quant = x.quant() if name.startswith("REDUCE") else g.quant(float(x.scale) * near, x)
        g.emit(name, [x, g.integers(axes)], [shape], quant, filled("ReducerOptions", keepDims=keep), version)

    return add


def squeeze_excite(g):
    x = g.pick(4)
    shape = [1, 1, 1, x.shape[3]]
    g.emit("MEAN", [x, g.integers([1, 2])], [shape], g.quant(float(x.scale) * 0.3, x), filled("ReducerOptions", keepDims=True), 3)
    ACTIVATIONS["LOGISTIC"](g, g.values[-1])
    options = filled("MulOptions", fusedActivationFunction=int(g.one_of(*FUSED)))
    g.emit("MUL", [x, g.values[-1]], [x.shape], g.quant(float(x.scale) * 0.7, x), options, 4)


def larger(a, b):
    return max(a, b)


ACTIVATIONS = {
    "ABS": unary("ABS", 3, lambda g: filled("AbsOptions")),
    "EXP": unary("EXP", 2, lambda g: filled("ExpOptions"), scale=lambda s: 2e-4),
    "LEAKY_RELU": unary("LEAKY_RELU", 2, leaky),
    "LOG": unary("LOG", 2, scale=lambda s: 3e-4),
    "LOGISTIC": unary("LOGISTIC", 3, scale=lambda s: UNIT),
    "NEG": unary("NEG", 1),
    "QUANTIZE": unary("QUANTIZE", 3),
    "RELU": unary("RELU", 3),
    "RELU6": unary("RELU6", 3),
    "RSQRT": root("RSQRT", 3, lambda r: 0.01 / r),
    "SOFTMAX": softmax,
    "SQRT": root("SQRT", 1, lambda r: r / 150),
    "TANH": unary("TANH", 3, scale=lambda s: UNIT),
    "through_bytes": through_bytes,
}

OPERATORS = {
    "ADD": binary("ADD", "AddOptions", larger, 4, potScaleInt16=False),
    "AVERAGE_POOL_2D": pool("AVERAGE_POOL_2D"),
    "BATCH_MATMUL": batch_matmul,
    "CONCATENATION": concatenation,
    "CONV_2D": conv,
    "DEPTHWISE_CONV_2D": depthwise,
    "DEQUANTIZE": dequantize,
    "FULLY_CONNECTED": fully_connected,
    "MAXIMUM": extreme("MAXIMUM"),
    "MAX_POOL_2D": pool("MAX_POOL_2D"),
    "MEAN": reduction("MEAN", 0.3),
    "MINIMUM": extreme("MINIMUM"),
    "MUL": binary("MUL", "MulOptions", lambda a, b: a * b * 10000, 4),
    "PAD": pad,
    "REDUCE_MAX": reduction("REDUCE_MAX"),
    "REDUCE_MIN": reduction("REDUCE_MIN"),
    "RESHAPE": reshape,
    "RESIZE_BILINEAR": resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": small_resize_nearest,
    "SUB": binary("SUB", "SubOptions", larger, 5, potScaleInt16=False),
    "TRANSPOSE": transpose,
    "TRANSPOSE_CONV": transpose_conv(("s64", None, "s32")),
    "comparison": comparison,
    "expand_and_squeeze": expand_and_squeeze,
    "pack_and_unpack": pack_and_unpack,
    "slices": slices,
    "split": split,
    "squeeze_excite": squeeze_excite,
}

COMMON = ["ADD", "CONV_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MUL", "SUB", "squeeze_excite"]


def random_graph(seed, length=10):
    """The graph of a seed; every other operator has a stand-alone function behind it."""
    g = RandomGraph16x8(np.random.default_rng([seed, 16]))
    g.profiles = ["tflite-xnnpack", "tflite-double"]
    g.input(g.batch_shape)
    names = [*OPERATORS, *COMMON]
    while len(g.names) < length:
        before = len(g.names)
        OPERATORS[g.one_of(*names)](g)
        if len(g.names) > before and g.values[-1].dtype == "s16" and g.chance(0.5):
            ACTIVATIONS[g.one_of(*ACTIVATIONS)](g, g.values[-1])
    g.finish()
    return g
