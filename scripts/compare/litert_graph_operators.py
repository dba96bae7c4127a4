"""The operators of random quantized .tflite graphs, for litert_graphs.py and make_litert_graphs.py: one function per builtin, which adds it to a graph.

Needs: pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import numpy as np

from litert_graph import RandomGraph
from litert_graph_kernels import OWN_ACTIVATIONS, OWN_OPERATORS
from litert_graph_movement import (
    arg_extreme,
    blocks,
    concatenation,
    expand_and_squeeze,
    pack_and_unpack,
    pad,
    reshape,
    resize_bilinear,
    resize_nearest,
    slices,
    split,
    transpose,
)
from litert_operators import TYPES, filled

FUSED = (0, 0, 0, 1, 2, 3)  # none, RELU, RELU_N1_TO_1, RELU6
OTHER_TYPE = {"s8": "u8", "u8": "s8"}


# ---- activations and other functions of one value


def unary(name, version=1, options=None, scale=None, low=None):
    def add(g, x=None):
        x = x or g.pick()
        if scale is None:
            quant = g.quant(x.scale, x)
        else:
            step, zero = scale
            quant = {"scale": np.float32(step), "zero_point": zero if g.dtype == "s8" else zero + 128}
        made = options(g) if options else (None, 0)
        g.emit(name, [x], [x.shape], quant, made, version)

    return add


def leaky(g):
    return filled("LeakyReluOptions", alpha=float(g.one_of(0.01, 0.1, 0.5, 1.0, g.rng.uniform(0.01, 0.9))))


def prelu(g, x=None):
    x = x or g.pick(4)
    slope = {"scale": g.scale(0.002, 0.01), "zero_point": g.zero(g.dtype)}
    g.emit("PRELU", [x, g.constant([1, 1, x.shape[3]], slope)], [x.shape], g.quant(x.scale, x))


def exponential(g, x=None):
    x = x or g.pick()
    g.emit("EXP", [x], [x.shape], g.quant(0.05), filled("ExpOptions"), 2)


def softmax(g, x=None):
    x = x or g.pick()
    options = filled("SoftmaxOptions", beta=float(g.one_of(1.0, 1.0, 0.5, 2.0)))
    g.emit("SOFTMAX", [x], [x.shape], {"scale": 1 / 256, "zero_point": -128 if g.dtype == "s8" else 0}, options, 2)


def l2_normalization(g):
    x = g.pick()
    quant = {"scale": 1 / 128, "zero_point": 0 if g.dtype == "s8" else 128}
    g.emit("L2_NORMALIZATION", [x], [x.shape], quant, filled("L2NormOptions", fusedActivationFunction=0), 2)


def far(g, quant, smallest):
    """Sometimes a scale that is far from its operands': XNNPACK leaves such ones to LiteRT's own kernels."""
    return quant | {"scale": np.float32(quant["scale"] * 2.0 ** g.rng.integers(smallest, 12))} if g.chance(0.08) else quant


def quantize(g, x=None):
    x = x or g.pick()
    to = OTHER_TYPE[g.dtype] if x is None and g.chance(0.2) else g.dtype
    g.emit("QUANTIZE", [x], [x.shape], far(g, g.quant(x.scale, x), -10), (None, 0), 2, dtype=to)


def other_type(g):
    """Through the other 8-bit type and back."""
    x = g.pick()
    to = OTHER_TYPE[g.dtype]
    zero = x.zero + (128 if to == "u8" else -128)
    quant = {"scale": x.scale, "zero_point": zero} if g.chance(0.5) else {"scale": g.quant(x.scale)["scale"], "zero_point": g.zero(to)}
    g.emit("QUANTIZE", [x], [x.shape], quant | {"scale": np.float32(quant["scale"] * g.one_of(1, 1, 3))}, (None, 0), 2, dtype=to)
    middle = g.values[-1]
    g.emit("QUANTIZE", [middle], [x.shape], g.quant(x.scale, x), (None, 0), 2)


def dequantize(g):
    """An output of floats."""
    x = g.pick()
    g.emit("DEQUANTIZE", [x], [x.shape], None, (None, 0), 2, dtype="f32", is_quantized=False)


# ---- two values


def partner(g, x):
    """Another value of x's shape, one per channel, or a constant."""
    kind = g.one_of("same", "same", "same", "input", "constant", "channels", "self", "number")
    fit = [v for v in g.values if v.dtype == x.dtype and v.shape == x.shape and v.index != x.index]
    quant = g.quant(x.scale, x)
    if kind == "same" and fit:
        found = g.one_of(*fit)
        return found, found.scale
    if kind == "self":
        return x, x.scale
    if kind == "constant":
        return g.constant(x.shape, quant), quant["scale"]
    if kind == "channels" and len(x.shape) == 4:
        gates = [v for v in g.values if v.dtype == x.dtype and v.shape == [1, 1, 1, x.shape[3]]]
        found = g.one_of(*gates) if gates else g.input([1, 1, 1, x.shape[3]], quant=quant)
        return found, found.scale
    if kind == "number":
        return g.constant([1], quant), quant["scale"]
    return g.input(x.shape, quant=quant), quant["scale"]


def binary(name, kind, scale_of, version=2):
    def add(g):
        x = g.pick()
        other, scale = partner(g, x)
        sides = [x, other]
        if g.chance(0.4):
            sides.reverse()
        options = filled(kind, fusedActivationFunction=int(g.one_of(*FUSED)))
        g.emit(name, sides, [x.shape], far(g, g.quant(scale_of(float(x.scale), float(scale)), x), -5), options, version)

    return add


def division(g):
    """By a constant: LiteRT refuses divisors of 0."""
    x = g.pick()
    zero = g.zero(g.dtype)
    info = np.iinfo(TYPES[g.dtype][1])
    others = [q for q in range(info.min, info.max + 1) if q != zero]
    shape = x.shape if g.chance(0.5) else [1]
    scale = g.scale()
    divisor = g.model.tensor(g.constant_name(), g.dtype, shape, scale, zero, data=g.rng.choice(others, shape))
    options = filled("DivOptions", fusedActivationFunction=int(g.one_of(*FUSED)))
    g.emit("DIV", [x, divisor], [x.shape], g.quant(float(x.scale) / float(scale) / 10), options, 2)


def extreme(name):
    def add(g):
        x = g.pick()
        fit = [v for v in g.values if v.dtype == x.dtype and v.shape == x.shape and v.quant() == x.quant()]
        other = g.one_of(*fit) if g.chance(0.5) else g.constant([1] if g.chance(0.5) else x.shape, x.quant())
        g.emit(name, [x, other], [x.shape], x.quant(), filled("MaximumMinimumOptions"), 2)

    return add


# ---- convolutions and products


def weights(g, shape, channels, axis):
    """Index, scales; per channel for most s8 ones, with a zero point for u8 ones."""
    many = g.dtype == "s8" and g.chance(0.8)
    scales = [g.scale(0.002, 0.02) for _ in range(channels if many else 1)]
    # XNNPACK does not take depthwise ones of u8 whose one scale is said to lie along the channels.
    axis = axis if many or g.chance(0.5) else 0
    zeros = [0 if g.dtype == "s8" else g.zero(g.dtype) for _ in scales]
    info = np.iinfo(TYPES[g.dtype][1])
    data = g.rng.integers(-127 if g.dtype == "s8" else 0, info.max + 1, shape)
    return g.model.tensor(g.constant_name(), g.dtype, shape, scales, zeros, axis, data), scales


def bias(g, x, scales, channels):
    scaled = [x.scale * s for s in scales]
    return g.model.tensor(g.constant_name(), "s32", [channels], scaled, [0] * len(scales), 0, g.rng.integers(-2000, 2000, channels))


def result_quant(g, x, scales, taps):
    return g.quant(float(x.scale) * float(np.mean(scales)) * 60 * np.sqrt(taps), x if g.chance(0.15) else None)


def window(g, x, kernel):
    """Padding, strides, dilations and the sizes of the result."""
    is_same = g.chance(0.5) or kernel > min(x.shape[1:3])
    stride = int(g.one_of(1, 1, 2))
    dilation = 2 if stride == 1 and kernel > 1 and is_same and g.chance(0.2) else 1
    reach = kernel if is_same else kernel
    sizes = [-(-n // stride) if is_same else (n - reach) // stride + 1 for n in x.shape[1:3]]
    fields = {"padding": 0 if is_same else 1, "strideH": stride, "strideW": stride, "dilationHFactor": dilation, "dilationWFactor": dilation}
    return fields, sizes


def conv(g):
    x = g.pick(4)
    out, kernel = int(g.one_of(3, 4, 8, 16, x.shape[3])), int(g.one_of(1, 1, 3))
    fields, sizes = window(g, x, kernel)
    w, scales = weights(g, [out, kernel, kernel, x.shape[3]], out, 0)
    options = filled("Conv2DOptions", fusedActivationFunction=int(g.one_of(*FUSED)), **fields)
    inputs = [x, w, bias(g, x, scales, out)]
    g.emit("CONV_2D", inputs, [[1, *sizes, out]], result_quant(g, x, scales, kernel * kernel * x.shape[3]), options, 3)


def depthwise(g):
    x = g.pick(4)
    multiplier = int(g.one_of(1, 1, 1, 2))
    out, kernel = x.shape[3] * multiplier, int(g.one_of(1, 3, 3, 5))
    fields, sizes = window(g, x, kernel)
    w, scales = weights(g, [1, kernel, kernel, out], out, 3)
    options = filled("DepthwiseConv2DOptions", fusedActivationFunction=int(g.one_of(*FUSED)), depthMultiplier=multiplier, **fields)
    g.emit("DEPTHWISE_CONV_2D", [x, w, bias(g, x, scales, out)], [[1, *sizes, out]], result_quant(g, x, scales, kernel * kernel), options, 3)


def transpose_conv(g):
    x = g.pick(4)
    out, stride, kernel = int(g.one_of(3, 8)), int(g.one_of(1, 2)), int(g.one_of(2, 3))
    w, scales = weights(g, [out, kernel, kernel, x.shape[3]], out, 0)
    sizes = [1, x.shape[1] * stride, x.shape[2] * stride, out]
    options = filled("TransposeConvOptions", padding=0, strideH=stride, strideW=stride, fusedActivationFunction=0)
    inputs = [g.integers(sizes), w, x]
    g.emit("TRANSPOSE_CONV", inputs, [sizes], result_quant(g, x, scales, x.shape[3] * 3), options, 3)


def fully_connected(g):
    x = g.pick(2) or g.pick()
    inner, columns = x.shape[-1], int(g.one_of(1, 5, 8, 16))
    keeps = len(x.shape) > 2 and g.chance(0.5)
    w, scales = weights(g, [columns, inner], columns, 0)
    rows = int(np.prod(x.shape[:-1]))
    shape = [*x.shape[:-1], columns] if keeps else [rows, columns]
    options = filled("FullyConnectedOptions", fusedActivationFunction=int(g.one_of(*FUSED)), weightsFormat=0, keepNumDims=keeps)
    inputs = [x, w, bias(g, x, scales, columns)]
    g.emit("FULLY_CONNECTED", inputs, [shape], result_quant(g, x, scales, inner), options, 5)


# ---- pools and reductions


def pool(name):
    def add(g):
        x = g.pick(4)
        size, stride, is_same = int(g.one_of(2, 3)), int(g.one_of(1, 2)), g.chance(0.5)
        if not is_same and size > min(x.shape[1:3]):
            is_same = True
        sizes = [-(-n // stride) if is_same else (n - size) // stride + 1 for n in x.shape[1:3]]
        fields = {"strideH": stride, "strideW": stride, "filterHeight": size, "filterWidth": size}
        options = filled("Pool2DOptions", padding=0 if is_same else 1, fusedActivationFunction=int(g.one_of(*FUSED)), **fields)
        g.emit(name, [x], [[1, *sizes, x.shape[3]]], x.quant(), options, 2)

    return add


def reduction(name, version=2):
    def add(g):
        x = g.pick(4)
        axes = g.one_of([1, 2], [1, 2], [2, 1], [3], [1], [1, 2, 3])
        keep = g.chance(0.6)
        shape = [1 if i in axes else s for i, s in enumerate(x.shape) if keep or i not in axes]
        count = np.prod([x.shape[i] for i in axes])
        options = filled("ReducerOptions", keepDims=keep)
        keeps_quant = name in ("REDUCE_MAX", "REDUCE_MIN")
        near = float(x.scale) * (0.3 if name == "MEAN" else np.sqrt(count))
        g.emit(name, [x, g.integers(axes)], [shape], x.quant() if keeps_quant else g.quant(near, x), options, version)

    return add


def squeeze_excite(g):
    """The gate of a mean: the pattern of many networks."""
    x = g.pick(4)
    shape = [1, 1, 1, x.shape[3]]
    g.emit("MEAN", [x, g.integers([1, 2])], [shape], g.quant(float(x.scale) * 0.3, x), filled("ReducerOptions", keepDims=True), 2)
    unary("LOGISTIC", 2, scale=(1 / 256, -128))(g, g.values[-1])
    gate = g.values[-1]
    sides = [x, gate] if g.chance(0.7) else [gate, x]
    g.emit("MUL", sides, [x.shape], g.quant(float(x.scale) * 0.7, x), filled("MulOptions", fusedActivationFunction=int(g.one_of(*FUSED))), 2)


def largest(a, b):
    return max(a, b)


def product(a, b):
    return a * b * 60


ACTIVATIONS = {
    "ABS": unary("ABS", 2, lambda g: filled("AbsOptions")),
    "ELU": unary("ELU"),
    "HARD_SWISH": unary("HARD_SWISH", 1, lambda g: filled("HardSwishOptions")),
    "LEAKY_RELU": unary("LEAKY_RELU", 2, leaky),
    "LOGISTIC": unary("LOGISTIC", 2, scale=(1 / 256, -128)),
    "PRELU": prelu,
    "QUANTIZE": quantize,
    "RELU": unary("RELU", 2),
    "RELU6": unary("RELU6", 2),
    "RELU_0_TO_1": unary("RELU_0_TO_1"),
    "RELU_N1_TO_1": unary("RELU_N1_TO_1"),
    "TANH": unary("TANH", 2, scale=(1 / 128, 0)),
} | OWN_ACTIVATIONS

OPERATORS = {
    "ADD": binary("ADD", "AddOptions", largest),
    "AVERAGE_POOL_2D": pool("AVERAGE_POOL_2D"),
    "CONCATENATION": concatenation,
    "CONV_2D": conv,
    "DEPTHWISE_CONV_2D": depthwise,
    "DEQUANTIZE": dequantize,
    "DIV": division,
    "EXP": exponential,
    "FULLY_CONNECTED": fully_connected,
    "L2_NORMALIZATION": l2_normalization,
    "MAXIMUM": extreme("MAXIMUM"),
    "MAX_POOL_2D": pool("MAX_POOL_2D"),
    "MEAN": reduction("MEAN"),
    "MINIMUM": extreme("MINIMUM"),
    "MUL": binary("MUL", "MulOptions", product),
    "PAD": pad,
    "REDUCE_MAX": reduction("REDUCE_MAX"),
    "REDUCE_MIN": reduction("REDUCE_MIN"),
    "RESHAPE": reshape,
    "RESIZE_BILINEAR": resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": resize_nearest,
    "SOFTMAX": softmax,
    "SUB": binary("SUB", "SubOptions", largest),
    "SUM": reduction("SUM"),
    "TRANSPOSE": transpose,
    "TRANSPOSE_CONV": transpose_conv,
    "arg_extreme": arg_extreme,
    "blocks": blocks,
    "expand_and_squeeze": expand_and_squeeze,
    "other_type": other_type,
    "pack_and_unpack": pack_and_unpack,
    "slices": slices,
    "split": split,
    "squeeze_excite": squeeze_excite,
} | OWN_OPERATORS

# What LiteRT 2.3 does not take, by type.
MISSING = {"s8": set(), "u8": {"ABS", "BATCH_MATMUL", "ELU", "EXP", "FLOOR_DIV", "FLOOR_MOD", "LOG", "NEG", "RSQRT", "SQRT", "SQUARED_DIFFERENCE"}}

# What a profile's kernels lack, or compute otherwise than docs/numerics.md says of them, which names each.
LEFT_OUT = {
    ("tflite-xnnpack", "s8"): set(),
    ("tflite-xnnpack", "u8"): set(),
    ("tflite-double", "s8"): {"ELU", "SUM"},
    ("tflite-double", "u8"): set(),
}

# What networks are made of comes more often.
COMMON = ["ADD", "CONV_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "MUL", "MEAN", "SUB", "squeeze_excite"]


def twins(g, names):
    """Two of one operator, with other options and results, that read one value."""
    name, x = g.one_of(*names), g.pick(4)
    before = len(g.values)
    for _ in range(2):
        g.next = x
        OPERATORS[name](g)
        g.next = None
    made = [v for v in g.values[before:] if v.dtype == g.dtype]
    for value in made:
        if g.chance(0.5):
            ACTIVATIONS[g.one_of("QUANTIZE", "RELU", "RELU6")](g, value)


def random_graph(seed, length=10):
    """The graph of a seed: even seeds s8, odd ones u8; one profile or both; every other operator has a stand-alone activation behind it."""
    rng = np.random.default_rng([seed, 20])
    g = RandomGraph(rng, "u8" if seed % 2 else "s8")
    g.profiles = g.one_of(["tflite-xnnpack"], ["tflite-double"], ["tflite-xnnpack", "tflite-double"], ["tflite-xnnpack", "tflite-double"])
    left_out = MISSING[g.dtype].union(*(LEFT_OUT[profile, g.dtype] for profile in g.profiles))
    names = [n for n in [*OPERATORS, *COMMON] if n not in left_out]
    activations = [n for n in ACTIVATIONS if n not in left_out]
    g.input(g.batch_shape)
    while len(g.names) < length:
        before = len(g.names)
        if g.chance(0.12):
            twins(g, names)
            continue
        OPERATORS[g.one_of(*names)](g)
        if len(g.names) > before and g.values[-1].dtype == g.dtype and g.chance(0.5):
            last, name = g.values[-1], g.one_of(*activations)
            if name != "PRELU" or len(last.shape) == 4:
                ACTIVATIONS[name](g, last)
    g.finish()
    return g
