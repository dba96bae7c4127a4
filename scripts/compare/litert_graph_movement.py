"""Operators of random quantized .tflite graphs that move or choose elements, for litert_graph_operators.py.

Needs: pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import numpy as np

from litert_operators import TYPES, filled


def picture(g):
    """Now and then of one pixel, as pyramids of pooled features have it."""
    if not g.chance(0.2):
        return g.pick(4)
    fit = [v for v in g.values if v.dtype == g.dtype and len(v.shape) == 4 and v.shape[1:3] == [1, 1]]
    return g.one_of(*fit) if fit else g.input([1, 1, 1, g.batch_shape[3]])


def resize_bilinear(g):
    x = picture(g)
    sizes, kind = [int(g.rng.integers(1, 12)), int(g.rng.integers(1, 12))], int(g.rng.integers(0, 3))
    options = filled("ResizeBilinearOptions", alignCorners=kind == 1, halfPixelCenters=kind == 2)
    g.emit("RESIZE_BILINEAR", [x, g.integers(sizes)], [[1, *sizes, x.shape[3]]], x.quant(), options, 3)


def resize_nearest(g):
    x = picture(g)
    sizes, kind = [int(g.rng.integers(1, 12)), int(g.rng.integers(1, 12))], int(g.rng.integers(0, 3))
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
    if g.chance(0.15):
        quant = {"scale": g.scale(), "zero_point": g.zero(g.dtype)} if g.dtype == "u8" else x.quant()
        parts.append(g.constant([*x.shape[:3], 2], quant))
        channels += 2
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
