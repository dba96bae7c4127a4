"""Single operators with 16-bit activations and 8-bit weights: how many values differ between Octavo and LiteRT, per operator and profile.

    python scripts/compare/litert_operators_16x8.py --octavo build/bin/octavo [--count N] [--seed S] [--keep FOLDER] [OPERATOR...]

Each operator is answered by LiteRT's default interpreter and by its reference kernels, and by `octavo run` in the rounding profiles of both
(tflite-xnnpack, tflite-double), for the host and for the scalar target. A dash stands where LiteRT does not take the operator. Exit 1 where an answer differs.
Needs, in any virtual environment: pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import argparse
import collections
import pathlib
import sys
import tempfile

import numpy as np

from litert_graph import sample_inputs_of
from litert_graphs import RESOLVERS, TARGETS, litert_answers, octavo_answers
from litert_operators import CODE, UNIT, Draw, Model, filled, says_bias, window_options

FAR = 2.0**9


def chosen(draw, *values):
    return values[int(draw.rng.integers(0, len(values)))]


def function(code, version=2, kind=None, x=None, y=None, to="s16", source="s16", is_positive=False, **fields):
    """`x`, `y`: the scale of the operand, and of the result by that of the operand; `is_positive`: of values from 0 on."""

    def make(draw):
        model, shape = Model(), draw.image()
        x_scale = np.float32(x(draw) if x else draw.scale(2e-5, 2e-3))
        y_scale = np.float32(y(float(x_scale)) if y else x_scale)
        y_scale = y_scale if y and y(1.0) == y(2.0) else chosen(draw, y_scale, draw.like(y_scale))
        zeros = [int(draw.rng.integers(-128, 128)) if t == "s8" else int(draw.rng.integers(0, 256)) if t == "u8" else 0 for t in (source, to)]
        options, number = filled(kind, **{k: v(draw) if callable(v) else v for k, v in fields.items()}) if kind else (None, 0)
        result = model.tensor("y", to, shape, None if to == "f32" else y_scale, zeros[1])
        operand = model.input("x", source, shape, None if source == "f32" else x_scale, zeros[0])
        if is_positive:
            raised = model.tensor("raised", source, shape, x_scale, 0)
            model.operator(CODE.RELU, [operand], raised, version=3)
            operand = raised
        model.operator(code, [operand], result, options, number, version)
        return model

    return make


def power(low, high):
    return lambda draw: 2.0 ** int(draw.rng.integers(low, high + 1))


def pair(code, kind, near, version=2, is_power=False, takes_activation=True, to="s16", **fields):
    def make(draw):
        model, shape = Model(), draw.image()
        scales = [np.float32(2.0 ** draw.rng.integers(-15, -9)) if is_power else draw.scale(2e-5, 2e-3) for _ in "ab"]
        y = np.float32(2.0 ** np.round(np.log2(near(*scales)))) if is_power else draw.like(near(*scales))
        activation = {"fusedActivationFunction": int(draw.rng.choice([0, 0, 1, 3]))} if takes_activation else {}
        options, number = filled(kind, **activation, **fields) if kind else (None, 0)
        other = chosen(draw, shape, [1, 1, 1, shape[3]], [1])
        inputs = [model.input("a", "s16", shape, scales[0], 0), model.input("b", "s16", other, scales[1], 0)]
        result = model.tensor("y", "bool", shape) if to == "bool" else model.tensor("y", "s16", shape, y, 0)
        model.operator(code, inputs, result, options, number, version)
        return model

    return make


def same_scale(code, kind=None):
    def make(draw):
        model, shape, scale = Model(), draw.image(), draw.scale(2e-5, 2e-3)
        options, number = filled(kind) if kind else (None, 0)
        inputs = [model.input(name, "s16", shape, scale, 0) for name in "ab"]
        model.operator(code, inputs, model.tensor("y", "s16", shape, scale, 0), options, number, 3)
        return model

    return make


def weights(draw, shape, channels):
    """Scales, values."""
    many = draw.rng.random() < 0.7
    return [draw.scale(0.002, 0.02) for _ in range(channels if many else 1)], draw.rng.integers(-127, 128, shape)


def bias(draw, model, dtype, channels, x_scale, scales):
    most = 1 << 20
    return model.tensor("bias", dtype, [channels], [x_scale * s for s in scales], [0] * len(scales), 0, draw.rng.integers(-most, most, channels))


def result_scale(draw, x_scale, scales, taps):
    """Some results saturate."""
    return draw.like(x_scale * np.mean(scales) * 60 * np.sqrt(taps))


def convolution(code, kind, bias_type, is_depthwise=False, groups=1):
    def make(draw):
        model = Model()
        shape = draw.image(groups * int(draw.rng.integers(1, 9)) if groups > 1 else None)
        out = shape[3] if is_depthwise else groups * int(draw.rng.integers(3, 20))
        kernel = int(draw.rng.choice([1, 3]))
        w_shape = [1, kernel, kernel, out] if is_depthwise else [out, kernel, kernel, shape[3] // groups]
        x_scale = draw.scale(2e-5, 2e-3)
        scales, w = weights(draw, w_shape, out)
        y_scale = result_scale(draw, x_scale, scales, np.prod(w_shape) / out)
        stride = int(draw.rng.integers(1, 3))
        sizes = [1, -(-shape[1] // stride), -(-shape[2] // stride), out]
        options, number = window_options(draw, kind, stride, is_depthwise)
        says_bias(options, bias_type)
        inputs = [model.input("x", "s16", shape, x_scale, 0),
                  model.tensor("w", "s8", w_shape, scales, [0] * len(scales), 3 if is_depthwise else 0, w),
                  bias(draw, model, bias_type, out, x_scale, scales)]
        model.operator(code, inputs, model.tensor("y", "s16", sizes, y_scale, 0), options, number, 5)
        return model

    return make


def transpose_conv(bias_type):
    def make(draw):
        model = Model()
        shape = draw.image()
        out, stride = int(draw.rng.integers(3, 9)), int(draw.rng.integers(1, 3))
        x_scale = draw.scale(2e-5, 2e-3)
        w_shape = [out, 3, 3, shape[3]]
        scales, w = weights(draw, w_shape, out)
        sizes = [1, shape[1] * stride, shape[2] * stride, out]
        options, number = filled("TransposeConvOptions", padding=0, strideH=stride, strideW=stride, fusedActivationFunction=0)
        says_bias(options, bias_type)
        inputs = [model.tensor("size", "s32", [4], data=sizes), model.tensor("w", "s8", w_shape, scales, [0] * len(scales), 0, w),
                  model.input("x", "s16", shape, x_scale, 0)]
        if bias_type:
            inputs.append(bias(draw, model, bias_type, out, x_scale, scales))
        y_scale = result_scale(draw, x_scale, scales, shape[3] * 3)
        model.operator(CODE.TRANSPOSE_CONV, inputs, model.tensor("y", "s16", sizes, y_scale, 0), options, number, 4)
        return model

    return make


def fully_connected(bias_type, is_per_channel=False):
    def make(draw):
        model = Model()
        rows, inner, columns = (3, 200, 90) if draw.is_large else (2, 7, 5)
        x_scale = draw.scale(2e-5, 2e-3)
        scales = [draw.scale(0.002, 0.02) for _ in range(columns if is_per_channel else 1)]
        w = draw.rng.integers(-127, 128, [columns, inner])
        options, number = filled("FullyConnectedOptions", fusedActivationFunction=int(draw.rng.choice([0, 1])), weightsFormat=0, keepNumDims=False)
        says_bias(options, bias_type)
        inputs = [model.input("x", "s16", [rows, inner], x_scale, 0), model.tensor("w", "s8", [columns, inner], scales, [0] * len(scales), 0, w)]
        if bias_type:
            inputs.append(bias(draw, model, bias_type, columns, x_scale, scales))
        y_scale = result_scale(draw, x_scale, scales, inner)
        model.operator(CODE.FULLY_CONNECTED, inputs, model.tensor("y", "s16", [rows, columns], y_scale, 0), options, number, 11)
        return model

    return make


def batch_matmul(draw):
    model, rows, inner, columns = Model(), 9, 16, 11
    scales = [draw.scale(2e-5, 2e-3) for _ in "ab"]
    y_scale = draw.like(scales[0] * scales[1] * 1e4 * np.sqrt(inner))
    options, number = filled("BatchMatMulOptions", adjX=False, adjY=False, asymmetricQuantizeInputs=False)
    inputs = [model.input("a", "s16", [1, 3, rows, inner], scales[0], 0), model.input("b", "s16", [1, 3, inner, columns], scales[1], 0)]
    model.operator(CODE.BATCH_MATMUL, inputs, model.tensor("y", "s16", [1, 3, rows, columns], y_scale, 0), options, number, 3)
    return model


def reduction(code, version=3, keeps_scale=False, near=1.0):
    def make(draw):
        model = Model()
        shape = draw.image()
        axes = [[1, 2], [2, 1], [3], [1, 2, 3], [1]][int(draw.rng.integers(0, 5))]
        keep = bool(draw.rng.integers(0, 2))
        sizes = [1 if i in axes else s for i, s in enumerate(shape) if keep or i not in axes]
        x = draw.scale(2e-5, 2e-3)
        y = x if keeps_scale else chosen(draw, x, draw.like(x * near))
        options, number = filled("ReducerOptions", keepDims=keep)
        inputs = [model.input("x", "s16", shape, x, 0), model.tensor("axes", "s32", [len(axes)], data=axes)]
        model.operator(code, inputs, model.tensor("y", "s16", sizes, y, 0), options, number, version)
        return model

    return make


def pool(code):
    def make(draw):
        model, shape, scale = Model(), draw.image(), draw.scale(2e-5, 2e-3)
        activation = int(draw.rng.choice([0, 0, 1, 3]))
        options, number = filled("Pool2DOptions", padding=0, strideH=2, strideW=2, filterHeight=3, filterWidth=3, fusedActivationFunction=activation)
        sizes = [1, -(-shape[1] // 2), -(-shape[2] // 2), shape[3]]
        model.operator(code, [model.input("x", "s16", shape, scale, 0)], model.tensor("y", "s16", sizes, scale, 0), options, number, 3)
        return model

    return make


def softmax(draw):
    model = Model()
    shape = [1, 20, int(draw.rng.integers(2, 60))] if draw.is_large else [1, 3, 5]
    options, number = filled("SoftmaxOptions", beta=float(draw.rng.choice([1.0, 1.0, 0.5, 2.0])))
    inputs = [model.input("x", "s16", shape, draw.scale(2e-5, 2e-3), 0)]
    model.operator(CODE.SOFTMAX, inputs, model.tensor("y", "s16", shape, UNIT, 0), options, number, 3)
    return model


def resize(code, kind):
    def make(draw):
        model, shape, scale = Model(), draw.image(), draw.scale(2e-5, 2e-3)
        sizes = [int(draw.rng.integers(2, 30)), int(draw.rng.integers(2, 30))] if draw.is_large else [7, 4]
        place = int(draw.rng.integers(0, 3))
        options, number = filled(kind, alignCorners=place == 1, halfPixelCenters=place == 2)
        inputs = [model.input("x", "s16", shape, scale, 0), model.tensor("size", "s32", [2], data=sizes)]
        model.operator(code, inputs, model.tensor("y", "s16", [1, *sizes, shape[3]], scale, 0), options, number, 4)
        return model

    return make


def concatenation(draw):
    model, shape, scale = Model(), draw.image(), draw.scale(2e-5, 2e-3)
    options, number = filled("ConcatenationOptions", axis=3, fusedActivationFunction=0)
    inputs = [model.input(name, "s16", shape, scale, 0) for name in "ab"]
    model.operator(CODE.CONCATENATION, inputs, model.tensor("y", "s16", [*shape[:3], 2 * shape[3]], scale, 0), options, number, 3)
    return model


def moved(code, kind, constant, sizes_of, **fields):
    def make(draw):
        model, shape, scale = Model(), draw.image(), draw.scale(2e-5, 2e-3)
        options, number = filled(kind, **fields)
        numbers = np.asarray(constant)
        inputs = [model.input("x", "s16", shape, scale, 0), model.tensor("numbers", "s32", list(numbers.shape), data=numbers)]
        model.operator(code, inputs, model.tensor("y", "s16", sizes_of(shape), scale, 0), options, number, 2)
        return model

    return make


def larger(a, b):
    return max(a, b)


def product(a, b):
    return a * b * 10000


CONV, DEPTHWISE = (CODE.CONV_2D, "Conv2DOptions"), (CODE.DEPTHWISE_CONV_2D, "DepthwiseConv2DOptions")
COMPARISONS = {"equal": "EqualOptions", "greater": "GreaterOptions", "greater_equal": "GreaterEqualOptions", "less": "LessOptions",
               "less_equal": "LessEqualOptions", "not_equal": "NotEqualOptions"}

OPERATORS = {
    "abs": function(CODE.ABS, 3, "AbsOptions"),
    "add": pair(CODE.ADD, "AddOptions", larger, 4, potScaleInt16=False),
    "average_pool": pool(CODE.AVERAGE_POOL_2D),
    "batch_matmul": batch_matmul,
    "concatenation": concatenation,
    "conv": convolution(*CONV, "s64"),
    "conv_bias_s32": convolution(*CONV, "s32"),
    "conv_groups": convolution(*CONV, "s64", groups=3),
    "depthwise_conv": convolution(*DEPTHWISE, "s64", is_depthwise=True),
    "depthwise_conv_bias_s32": convolution(*DEPTHWISE, "s32", is_depthwise=True),
    "dequantize": function(CODE.DEQUANTIZE, 3, to="f32"),
    "div": pair(CODE.DIV, "DivOptions", lambda a, b: a / b / 100),
    "elu": function(CODE.ELU, 1),
    "exp": function(CODE.EXP, 2, "ExpOptions", y=lambda scale: 2e-4),
    "floor_div": same_scale(CODE.FLOOR_DIV),
    "fully_connected": fully_connected("s64"),
    "fully_connected_bias_s32": fully_connected("s32"),
    "fully_connected_no_bias": fully_connected(None),
    "fully_connected_per_channel": fully_connected("s64", True),
    "fully_connected_per_channel_bias_s32": fully_connected("s32", True),
    "gelu": function(CODE.GELU, 2, "GeluOptions", approximate=lambda draw: bool(draw.rng.integers(0, 2))),
    "hard_swish": function(CODE.HARD_SWISH, 1, "HardSwishOptions"),
    "leaky_relu": function(CODE.LEAKY_RELU, 2, "LeakyReluOptions", alpha=lambda draw: float(draw.rng.uniform(0.01, 0.9))),
    "log": function(CODE.LOG, 2, y=lambda scale: 3e-4),
    "logistic": function(CODE.LOGISTIC, 3, y=lambda scale: UNIT),
    "logistic_power_of_2": function(CODE.LOGISTIC, 3, x=power(-12, -12), y=lambda scale: UNIT),
    "max_pool": pool(CODE.MAX_POOL_2D),
    "maximum": same_scale(CODE.MAXIMUM, "MaximumMinimumOptions"),
    "mean": reduction(CODE.MEAN, near=0.3),
    "minimum": same_scale(CODE.MINIMUM, "MaximumMinimumOptions"),
    "mirror_pad": moved(CODE.MIRROR_PAD, "MirrorPadOptions", [[0, 0], [1, 1], [1, 0], [0, 0]], lambda s: [1, s[1] + 2, s[2] + 1, s[3]], mode=0),
    "mul": pair(CODE.MUL, "MulOptions", product, 4),
    "neg": function(CODE.NEG, 1, "NegOptions"),
    "pad": moved(CODE.PAD, "PadOptions", [[0, 0], [1, 2], [0, 1], [0, 0]], lambda s: [1, s[1] + 3, s[2] + 1, s[3]]),
    "quantize": function(CODE.QUANTIZE, 3),
    "quantize_far": function(CODE.QUANTIZE, 3, y=lambda scale: scale / FAR),
    "quantize_floats": function(CODE.QUANTIZE, 3, source="f32", y=lambda scale: 1e-4),
    "quantize_from_s8": function(CODE.QUANTIZE, 3, x=lambda draw: draw.scale(0.01, 0.1), y=lambda scale: scale / 200, source="s8"),
    "quantize_from_u8": function(CODE.QUANTIZE, 3, x=lambda draw: draw.scale(0.01, 0.1), y=lambda scale: scale / 200, source="u8"),
    "quantize_to_s32": function(CODE.QUANTIZE, 3, to="s32", y=lambda scale: scale / 1000),
    "quantize_to_s8": function(CODE.QUANTIZE, 3, to="s8", y=lambda scale: scale * 200),
    "quantize_to_u8": function(CODE.QUANTIZE, 3, to="u8", y=lambda scale: scale * 200),
    "reduce_max": reduction(CODE.REDUCE_MAX, keeps_scale=True),
    "reduce_min": reduction(CODE.REDUCE_MIN, keeps_scale=True),
    "reduce_prod": reduction(CODE.REDUCE_PROD, 2, near=1e3),
    "relu": function(CODE.RELU, 3),
    "relu6": function(CODE.RELU6, 3),
    "relu_0_to_1": function(CODE.RELU_0_TO_1, 1),
    "relu_n1_to_1": function(CODE.RELU_N1_TO_1, 1),
    "reshape": moved(CODE.RESHAPE, "ReshapeOptions", [-1], lambda s: [int(np.prod(s))], newShape=[-1]),
    "resize_bilinear": resize(CODE.RESIZE_BILINEAR, "ResizeBilinearOptions"),
    "resize_nearest": resize(CODE.RESIZE_NEAREST_NEIGHBOR, "ResizeNearestNeighborOptions"),
    "rsqrt": function(CODE.RSQRT, 3, y=lambda scale: 0.01 / np.sqrt(scale), is_positive=True),
    "softmax": softmax,
    "sqrt": function(CODE.SQRT, 1, y=lambda scale: np.sqrt(scale) / 150, is_positive=True),
    "squared_difference": pair(CODE.SQUARED_DIFFERENCE, "SquaredDifferenceOptions", product, 2, takes_activation=False),
    "sub": pair(CODE.SUB, "SubOptions", larger, 5, potScaleInt16=False),
    "sum": reduction(CODE.SUM, 2, near=10),
    "tanh": function(CODE.TANH, 3, y=lambda scale: UNIT),
    "tanh_power_of_2": function(CODE.TANH, 3, x=power(-12, -11), y=lambda scale: UNIT),
    "transpose": moved(CODE.TRANSPOSE, "TransposeOptions", [0, 2, 1, 3], lambda s: [1, s[2], s[1], s[3]]),
    "transpose_conv": transpose_conv("s64"),
    "transpose_conv_bias_s32": transpose_conv("s32"),
    "transpose_conv_no_bias": transpose_conv(None),
} | {name: pair(getattr(CODE, name.upper()), kind, larger, 3 if "equal" == name[-5:] and name[0] in "en" else 2, takes_activation=False, to="bool") for name, kind in COMPARISONS.items()}


# What docs/numerics.md says Octavo computes otherwise.
OTHERWISE = {"sum"}


def number_of(name):
    """For seeds."""
    return 3000 + sum(ord(c) * 31**i % 1000003 for i, c in enumerate(name))


def made(name, index, seed=0, is_large=True):
    rng = np.random.default_rng([seed, number_of(name), index])
    return OPERATORS[name](Draw(rng, "s16", is_large))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help=", ".join(OPERATORS))
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--count", type=int, default=8, help="models per operator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=pathlib.Path, help="where models go whose answers differ")
    arguments = parser.parse_args()
    total = 0
    with tempfile.TemporaryDirectory() as work:
        for name in arguments.operators or OPERATORS:
            cells = compared(arguments, name, pathlib.Path(work))
            total += sum(cell.differing + len(cell.errors) for cell in cells.values())
            print(f"{name:40}" + "".join(f"{profile} {cell}   " for profile, cell in cells.items()), flush=True)
    sys.exit(1 if total else 0)


class Cell:
    """What was seen of one operator in one profile."""

    def __init__(self):
        self.differing, self.values, self.most, self.errors = 0, 0, 0.0, collections.Counter()

    def __str__(self):
        if self.errors:
            return " | ".join(self.errors)
        return f"{self.differing} of {self.values}" + (f" (by up to {self.most:g})" if self.differing else "") if self.values else "-"


def compared(arguments, name, work):
    cells = {profile: Cell() for profile in RESOLVERS}
    for index in range(arguments.count):
        model = work / f"{name}_{index}.tflite"
        made(name, index, arguments.seed).save(model)
        content = model.read_bytes()
        inputs = sample_inputs_of(content)
        for profile, cell in cells.items():
            theirs = litert_answers(content, profile, inputs)
            if theirs is None:
                continue
            before = cell.differing + len(cell.errors)
            for target in TARGETS:
                error = octavo_answers(arguments.octavo, model, profile, target, inputs, work)
                if error:
                    cell.errors[error] += 1
                    continue
                for output, value in theirs.items():
                    apart = np.abs(np.load(work / f"{output}.npy").astype(np.float64) - value.astype(np.float64))
                    cell.differing += np.count_nonzero(apart)
                    cell.values += apart.size
                    cell.most = max(cell.most, apart.max(initial=0))
            if arguments.keep and cell.differing + len(cell.errors) > before:
                arguments.keep.mkdir(parents=True, exist_ok=True)
                (arguments.keep / f"{name}_{index}_{profile}.tflite").write_bytes(content)
    return cells


if __name__ == "__main__":
    main()
