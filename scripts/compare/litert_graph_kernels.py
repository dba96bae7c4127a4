"""Operators of random quantized .tflite graphs that LiteRT's own kernels compute in the default interpreter, too, for litert_graph_operators.py.

Needs: pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import numpy as np

from litert_operators import TYPES, filled


def lowest_of(dtype):
    return int(np.iinfo(TYPES[dtype][1]).min)


def result_scale(a, b, taps):
    return float(a) * float(b) * 60 * np.sqrt(taps)


# ---- functions of one value


def own_unary(name, version=1, options=None, near=1.0):
    def add(g, x=None):
        x = x or g.pick()
        g.emit(name, [x], [x.shape], g.quant(float(x.scale) * near, x), options() if options else (None, 0), version)

    return add


def gelu(g, x=None):
    own_unary("GELU", 2, lambda: filled("GeluOptions", approximate=g.chance(0.5)))(g, x)


def log_softmax(g, x=None):
    x = x or g.pick()
    quant = {"scale": 16 / 256, "zero_point": 127 if g.dtype == "s8" else 255}
    g.emit("LOG_SOFTMAX", [x], [x.shape], quant, filled("LogSoftmaxOptions"), 2)


def root(name, version, near):
    """Of values from 0 on: LiteRT refuses others."""

    def add(g, x=None):
        x = x or g.pick(None, lambda v: v.zero == lowest_of(v.dtype))
        if x is None or x.zero != lowest_of(x.dtype):
            x = g.input(g.batch_shape, quant={"scale": g.scale(), "zero_point": lowest_of(g.dtype)})
        g.emit(name, [x], [x.shape], g.quant(near(np.sqrt(float(x.scale)))), (None, 0), version)

    return add


# ---- two values


def squared_difference(g):
    x = g.pick()
    fit = [v for v in g.values if v.dtype == x.dtype and v.shape == x.shape and v.index != x.index]
    other = g.one_of(*fit) if fit and g.chance(0.6) else g.input(x.shape, quant=g.quant(x.scale, x))
    g.emit("SQUARED_DIFFERENCE", [x, other], [x.shape], g.quant(float(x.scale) * float(other.scale) * 100), (None, 0), 2)


def comparison(g):
    """An output of truths."""
    x = g.pick()
    fit = [v for v in g.values if v.dtype == x.dtype and v.shape == x.shape and v.index != x.index]
    other = g.one_of(*fit) if fit and g.chance(0.6) else g.input(x.shape, quant={"scale": g.scale(), "zero_point": g.zero(g.dtype)})
    name = g.one_of("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
    g.emit(name, [x, other], [x.shape], None, (None, 0), 2, dtype="bool", is_quantized=False)


def floored(name):
    """By a constant: LiteRT refuses divisors of 0."""

    def add(g):
        x = g.pick()
        divisor = g.rng.choice([q for q in range(-128, 128) if q != 0], x.shape)
        quant = g.quant(x.scale, x)
        made = g.model.tensor(g.constant_name(), g.dtype, x.shape, **quant, data=divisor)
        g.emit(name, [x, made], [x.shape], g.quant(x.scale, x), (None, 0), 2)

    return add


# ---- products of two activations


def product_of_activations(g):
    """FULLY_CONNECTED, whose weights are a value."""
    x = g.pick(2) or g.pick()
    inner, columns = x.shape[-1], int(g.one_of(1, 5, 8, 17))
    middle = 0 if g.dtype == "s8" else 128
    zero = middle if g.chance(0.5) else g.zero(g.dtype)
    w = g.input([columns, inner], quant={"scale": g.scale(0.005, 0.05), "zero_point": zero})
    rows = int(np.prod(x.shape[:-1]))
    options = filled("FullyConnectedOptions", fusedActivationFunction=int(g.one_of(0, 0, 1, 3)), weightsFormat=0, keepNumDims=False)
    g.emit("FULLY_CONNECTED", [x, w], [[rows, columns]], g.quant(result_scale(x.scale, w.scale, inner)), options, 5)


def batch_matmul(g):
    """With a value or a constant, turned or not, broadcast or not; XNNPACK takes it where the second zero point is 0."""
    x = g.pick(4)
    turns_x, turns_y = g.chance(0.3), g.chance(0.5)
    rows, inner = (x.shape[3], x.shape[2]) if turns_x else (x.shape[2], x.shape[3])
    columns = int(g.one_of(1, 4, 9))
    matrix = [columns, inner] if turns_y else [inner, columns]
    quant = {"scale": g.scale(0.005, 0.05), "zero_point": 0 if g.chance(0.5) else g.zero(g.dtype)}
    shape = g.one_of([*x.shape[:2], *matrix], [1, 1, *matrix], matrix)
    other = g.constant(shape, quant) if g.chance(0.4) else g.input(shape, quant=quant)
    options = filled("BatchMatMulOptions", adjX=turns_x, adjY=turns_y, asymmetricQuantizeInputs=False)
    quant = g.quant(result_scale(x.scale, quant["scale"], inner))
    g.emit("BATCH_MATMUL", [x, other], [[*x.shape[:2], rows, columns]], quant, options, 2)


# ---- conversions that others move


def converted_concatenation(g):
    """A QUANTIZE to the scale of what it is joined with, as networks of encoder and decoder have it."""
    x = g.pick(4)
    fit = [v for v in g.values if v.dtype == x.dtype and len(v.shape) == 4 and v.shape[:3] == x.shape[:3] and v.quant() != x.quant()]
    other = g.one_of(*fit) if fit else g.input(x.shape, quant={"scale": g.scale(), "zero_point": g.zero(g.dtype)})
    g.emit("QUANTIZE", [other], [other.shape], x.quant(), (None, 0), 2)
    parts = [x, g.values[-1]] if g.chance(0.5) else [g.values[-1], x]
    options = filled("ConcatenationOptions", axis=3, fusedActivationFunction=0)
    g.emit("CONCATENATION", parts, [[*x.shape[:3], x.shape[3] + other.shape[3]]], x.quant(), options, 2)


OWN_ACTIVATIONS = {
    "GELU": gelu,
    "LOG": own_unary("LOG", 2),
    "LOG_SOFTMAX": log_softmax,
    "NEG": own_unary("NEG"),
}

OWN_OPERATORS = {
    "BATCH_MATMUL": batch_matmul,
    "FLOOR_DIV": floored("FLOOR_DIV"),
    "FLOOR_MOD": floored("FLOOR_MOD"),
    "RSQRT": root("RSQRT", 2, lambda r: 0.05 / r),
    "SQRT": root("SQRT", 1, lambda r: r / 12),
    "SQUARED_DIFFERENCE": squared_difference,
    "comparison": comparison,
    "converted_concatenation": converted_concatenation,
    "product_of_activations": product_of_activations,
}
