"""The operators of random quantized .tflite graphs, for litert_graphs.py and make_litert_graphs.py: one function per builtin, which adds it to a graph.

Needs: pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import numpy as np

from litert_graph import RandomGraph
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


def quantize(g, x=None):
    x = x or g.pick()
    to = OTHER_TYPE[g.dtype] if x is None and g.chance(0.2) else g.dtype
    g.emit("QUANTIZE", [x], [x.shape], g.quant(x.scale, x), (None, 0), 2, dtype=to)


def for_other_type(x, quant):
    """Less than twice the scale of x: beyond, LiteRT rounds the last elements of a tensor otherwise than those before (docs/numerics.md)."""
    return quant | {"scale": min(np.float32(quant["scale"]), np.float32(1.9) * np.float32(x.scale))}


def other_type(g):
    """Through the other 8-bit type and back."""
    x = g.pick()
    to = OTHER_TYPE[g.dtype]
    zero = x.zero + (128 if to == "u8" else -128)
    quant = {"scale": x.scale, "zero_point": zero} if g.chance(0.5) else {"scale": g.quant(x.scale)["scale"], "zero_point": g.zero(to)}
    g.emit("QUANTIZE", [x], [x.shape], for_other_type(x, quant), (None, 0), 2, dtype=to)
    middle = g.values[-1]
    g.emit("QUANTIZE", [middle], [x.shape], for_other_type(middle, g.quant(x.scale, x)), (None, 0), 2)


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
        g.emit(name, sides, [x.shape], g.quant(scale_of(float(x.scale), float(scale)), x), options, version)

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
    zeros = [0 if g.dtype == "s8" else g.zero(g.dtype) for _ in scales]
    info = np.iinfo(TYPES[g.dtype][1])
    data = g.rng.integers(-127 if g.dtype == "s8" else 0, info.max + 1, shape)
    return g.model.tensor(g.constant_name(), g.dtype, shape, scales, zeros, axis if many else 0, data), scales


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


# ---- movement


def resize_bilinear(g):
    x = g.pick(4)
    sizes, kind = [int(g.rng.integers(2, 12)), int(g.rng.integers(2, 12))], int(g.rng.integers(0, 3))
    options = filled("ResizeBilinearOptions", alignCorners=kind == 1, halfPixelCenters=kind == 2)
    g.emit("RESIZE_BILINEAR", [x, g.integers(sizes)], [[1, *sizes, x.shape[3]]], x.quant(), options, 3)


def resize_nearest(g):
    x = g.pick(4)
    sizes, kind = [int(g.rng.integers(2, 12)), int(g.rng.integers(2, 12))], int(g.rng.integers(0, 3))
    options = filled("ResizeNearestNeighborOptions", alignCorners=kind == 1, halfPixelCenters=kind == 2)
    g.emit("RESIZE_NEAREST_NEIGHBOR", [x, g.integers(sizes)], [[1, *sizes, x.shape[3]]], x.quant(), options, 3)


def concatenation(g):
    x = g.pick(4)
    fit = [v for v in g.values if v.dtype == x.dtype and len(v.shape) == 4 and v.shape[:3] == x.shape[:3]]
    same = [v for v in fit if v.quant() == x.quant()]
    # Parts of s8 have one scale; of u8 they need not.
    others = fit if g.dtype == "u8" and g.chance(0.5) else same
    parts = [x] + [g.one_of(*others) for _ in range(int(g.one_of(1, 1, 2)))]
    channels = sum(v.shape[3] for v in parts)
    options = filled("ConcatenationOptions", axis=int(g.one_of(3, -1)), fusedActivationFunction=0)
    g.emit("CONCATENATION", parts, [[*x.shape[:3], channels]], x.quant(), options, 2)


def pad(g):
    x = g.pick(4)
    amounts = [[0, 0], [int(g.rng.integers(0, 3)), int(g.rng.integers(0, 3))], [int(g.rng.integers(0, 3)), 1], [0, int(g.one_of(0, 0, 2))]]
    shape = [s + sum(a) for s, a in zip(x.shape, amounts)]
    kind = g.one_of("PAD", "PAD", "PADV2", "MIRROR_PAD")
    if kind == "PAD":
        return g.emit("PAD", [x, g.integers(amounts)], [shape], x.quant(), filled("PadOptions"), 2)
    if kind == "PADV2":
        return g.emit("PADV2", [x, g.integers(amounts), g.constant([1], x.quant())], [shape], x.quant(), filled("PadV2Options"), 2)
    amounts = [[0, 0], [1, 0], [1, 1], [0, 0]]
    shape = [s + sum(a) for s, a in zip(x.shape, amounts)]
    if min(x.shape[1:3]) < 2:
        return None
    return g.emit("MIRROR_PAD", [x, g.integers(amounts)], [shape], x.quant(), filled("MirrorPadOptions", mode=int(g.one_of(0, 1))), 2)


def transpose(g):
    x = g.pick(4)
    order = [0, *(1 + g.rng.permutation(3)).tolist()]
    g.emit("TRANSPOSE", [x, g.integers(order)], [[x.shape[i] for i in order]], x.quant(), filled("TransposeOptions"), 2)


def reshape(g):
    x = g.pick()
    count = int(np.prod(x.shape))
    halves = [1, x.shape[1], int(np.prod(x.shape[2:])), 1] if len(x.shape) == 4 else [1, 1, 1, count]
    shape = g.one_of([1, count], [1, 1, 1, count], halves)
    g.emit("RESHAPE", [x, g.integers(shape)], [shape], x.quant(), filled("ReshapeOptions", newShape=shape))


def expand_and_squeeze(g):
    x = g.pick(4)
    g.emit("EXPAND_DIMS", [x, g.integers([1])], [[1, 1, *x.shape[1:]]], x.quant(), filled("ExpandDimsOptions"))
    wide = g.values.pop()
    g.emit("SQUEEZE", [wide], [x.shape], x.quant(), filled("SqueezeOptions", squeezeDims=[1]))


def slices(g):
    x = g.pick(4)
    begin = [int(g.rng.integers(0, s)) for s in x.shape]
    begin[0] = 0
    sizes = [int(g.rng.integers(1, s - b + 1)) for s, b in zip(x.shape, begin)]
    if g.chance(0.5):
        return g.emit("SLICE", [x, g.integers(begin), g.integers(sizes)], [sizes], x.quant(), filled("SliceOptions"), 2)
    steps = [1, int(g.one_of(1, 2)), int(g.one_of(1, 2)), 1]
    end = [b + s for b, s in zip(begin, sizes)]
    shape = [-(-s // step) for s, step in zip(sizes, steps)]
    fields = ("beginMask", "endMask", "ellipsisMask", "newAxisMask", "shrinkAxisMask")
    options = filled("StridedSliceOptions", **{field: 0 for field in fields})
    return g.emit("STRIDED_SLICE", [x, *map(g.integers, (begin, end, steps))], [shape], x.quant(), options, 2)


def split(g):
    x = g.pick(4, lambda v: v.shape[3] % 2 == 0)
    if x is None or x.shape[3] % 2:
        return
    half = [*x.shape[:3], x.shape[3] // 2]
    axis = g.integers(np.int32(3)) if g.chance(0.5) else g.integers([3])
    if g.chance(0.5):
        g.emit("SPLIT", [axis, x], [half, half], x.quant(), filled("SplitOptions", numSplits=2), 2)
    else:
        sizes = [x.shape[3] // 2, x.shape[3] // 2]
        g.emit("SPLIT_V", [x, g.integers(sizes), g.integers(np.int32(3))], [half, half], x.quant(), filled("SplitVOptions", numSplits=2), 2)


def pack_and_unpack(g):
    x = g.pick(4)
    fit = [v for v in g.values if v.shape == x.shape and v.quant() == x.quant() and v.dtype == x.dtype]
    g.emit("PACK", [x, g.one_of(*fit)], [[2, *x.shape]], x.quant(), filled("PackOptions", valuesCount=2, axis=0), 2)
    packed = g.values.pop()
    g.emit("UNPACK", [packed], [x.shape, x.shape], x.quant(), filled("UnpackOptions", num=2, axis=0), 2)


def blocks(g):
    """Between depth and space, or space and batch."""
    x = g.pick(4, lambda v: v.shape[1] % 2 == 0 and v.shape[2] % 2 == 0)
    if x is None or x.shape[1] % 2 or x.shape[2] % 2:
        return
    small = [x.shape[1] // 2, x.shape[2] // 2]
    if g.chance(0.4):
        g.emit("SPACE_TO_DEPTH", [x], [[1, *small, 4 * x.shape[3]]], x.quant(), filled("SpaceToDepthOptions", blockSize=2), 2)
        if g.chance(0.5):
            deep = g.values[-1]
            g.emit("DEPTH_TO_SPACE", [deep], [x.shape], x.quant(), filled("DepthToSpaceOptions", blockSize=2), 2)
        return
    nothing = g.integers([[0, 0], [0, 0]])
    g.emit("SPACE_TO_BATCH_ND", [x, g.integers([2, 2]), nothing], [[4, *small, x.shape[3]]], x.quant(), filled("SpaceToBatchNDOptions"), 2)
    batch = g.values.pop()
    g.emit("BATCH_TO_SPACE_ND", [batch, g.integers([2, 2]), nothing], [x.shape], x.quant(), filled("BatchToSpaceNDOptions"), 2)


def arg_extreme(g):
    """An output of integers."""
    x = g.pick(4)
    name = g.one_of("ARG_MAX", "ARG_MIN")
    options = filled(f"Arg{name[4:].capitalize()}Options", outputType=TYPES["s32"][0])
    g.emit(name, [x, g.integers([3])], [x.shape[:3]], None, options, 2, dtype="s32", is_quantized=False)


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
}

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
}

# What LiteRT 2.3 does not take, by type.
MISSING = {"s8": set(), "u8": {"ABS", "ELU", "EXP"}}

# What a profile's kernels lack, or compute otherwise than docs/numerics.md says of them, which names each.
LEFT_OUT = {
    ("tflite-xnnpack", "s8"): {"DIV"},
    ("tflite-xnnpack", "u8"): {"DEPTHWISE_CONV_2D", "DIV"},
    ("tflite-double", "s8"): {"DIV", "ELU", "SUM"},
    ("tflite-double", "u8"): {"DIV"},
}

# What networks are made of comes more often.
COMMON = ["ADD", "CONV_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "MUL", "MEAN", "SUB", "squeeze_excite"]


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
        OPERATORS[g.one_of(*names)](g)
        if len(g.names) > before and g.values[-1].dtype == g.dtype and g.chance(0.5):
            last, name = g.values[-1], g.one_of(*activations)
            if name != "PRELU" or len(last.shape) == 4:
                ACTIVATIONS[name](g, last)
    g.finish()
    return g
