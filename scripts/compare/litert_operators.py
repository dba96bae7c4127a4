"""Writes .tflite files of one quantized operator each, with random scales, for litert.py to compare.

    python scripts/compare/litert_operators.py --output FOLDER [--count N] [--seed S] [--size small|large] [OPERATOR...]

Needs, in any virtual environment: pip install ai-edge-litert==2.3.0 numpy
"""

import argparse
import pathlib

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

TYPES = {"s8": (schema.TensorType.INT8, np.int8), "u8": (schema.TensorType.UINT8, np.uint8), "f32": (schema.TensorType.FLOAT32, np.float32),
         "s16": (schema.TensorType.INT16, np.int16), "s32": (schema.TensorType.INT32, np.int32), "s64": (schema.TensorType.INT64, np.int64),
         "bool": (schema.TensorType.BOOL, np.bool_)}


class Model:
    """One operator and its tensors."""

    def __init__(self):
        self.subgraph = schema.SubGraphT()
        self.subgraph.tensors, self.subgraph.inputs, self.subgraph.outputs, self.subgraph.operators = [], [], [], []
        self.model = schema.ModelT()
        self.model.version, self.model.subgraphs, self.model.buffers, self.model.operatorCodes = 3, [self.subgraph], [schema.BufferT()], []

    def tensor(self, name, dtype, shape, scale=None, zero_point=None, axis=0, data=None):
        made = schema.TensorT()
        made.name, made.type, made.shape, made.buffer = name, TYPES[dtype][0], list(shape), 0
        if scale is not None:
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale = np.atleast_1d(np.asarray(scale, np.float32)).tolist()
            made.quantization.zeroPoint = np.atleast_1d(np.asarray(zero_point, np.int64)).tolist()
            made.quantization.quantizedDimension = axis
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data, TYPES[dtype][1]).tobytes(), np.uint8)
            made.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        self.subgraph.tensors.append(made)
        return len(self.subgraph.tensors) - 1

    def input(self, *arguments, **named):
        index = self.tensor(*arguments, **named)
        self.subgraph.inputs.append(index)
        return index

    def operator(self, code, inputs, output, options=None, kind=0, version=1, custom=None, custom_options=None):
        """`custom` names an operator whose code is CODE.CUSTOM; `custom_options` are its bytes."""
        entry = schema.OperatorCodeT()
        entry.builtinCode, entry.deprecatedBuiltinCode, entry.version, entry.customCode = code, min(code, 127), version, custom
        self.model.operatorCodes.append(entry)
        op = schema.OperatorT()
        op.opcodeIndex, op.inputs, op.outputs = len(self.model.operatorCodes) - 1, inputs, list(np.atleast_1d(output))
        op.builtinOptions, op.builtinOptionsType = options, kind
        if custom_options is not None:
            op.customOptions = list(custom_options)
        self.subgraph.operators.append(op)
        self.subgraph.outputs = op.outputs

    def save(self, path):
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        path.write_bytes(bytes(builder.Output()))


class Draw:
    """Random parameters of one model."""

    def __init__(self, rng, dtype, is_large):
        self.rng, self.dtype, self.is_large = rng, dtype, is_large
        self.info = np.iinfo(TYPES[dtype][1])

    def scale(self, low=0.002, high=0.2):
        return np.float32(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def zero(self):
        return int(self.rng.integers(self.info.min, self.info.max + 1))

    def quant(self, **bounds):
        return {"scale": self.scale(**bounds), "zero_point": self.zero()}

    def image(self, channels=None):
        sizes = self.rng.integers(12, 20, 2) if self.is_large else self.rng.integers(3, 6, 2)
        return [1, int(sizes[0]), int(sizes[1]), channels or (int(self.rng.integers(5, 40)) if self.is_large else 3)]

    def bytes(self, shape, lowest=None):
        return self.rng.integers(self.info.min if lowest is None else lowest, self.info.max + 1, shape)

    def like(self, value):
        """A scale near `value`, so that results cover their range."""
        return np.float32(value * self.rng.uniform(0.5, 1.5))


def filled(kind, **fields):
    options = getattr(schema, kind + "T")()
    for name, value in fields.items():
        setattr(options, name, value)
    return options, getattr(schema.BuiltinOptions, kind)


CODE = schema.BuiltinOperator
UNIT = 1 / 32768  # the scale of s16 values between -1 and 1


def says_bias(options, bias_type):
    """LiteRT takes the numbers for s64 ones where the options do not say another type."""
    if bias_type == "s32":
        options.quantizedBiasType = TYPES["s32"][0]


def unary(code, version=1, kind=None, fixed=None, **fields):
    def make(draw):
        model = Model()
        shape = draw.image()
        x = draw.quant(low=0.01, high=0.1)
        y = fixed(draw) if fixed else {"scale": draw.like(x["scale"]), "zero_point": draw.zero()}
        options, number = filled(kind, **{k: v(draw) if callable(v) else v for k, v in fields.items()}) if kind else (None, 0)
        model.operator(code, [model.input("x", draw.dtype, shape, **x)], model.tensor("y", draw.dtype, shape, **y), options, number, version)
        return model

    return make


def sigmoid_quant(draw):
    return {"scale": 1 / 256, "zero_point": -128 if draw.dtype == "s8" else 0}


def tanh_quant(draw):
    return {"scale": 1 / 128, "zero_point": 0 if draw.dtype == "s8" else 128}


def binary(code, kind, scale_of, version=2):
    def make(draw):
        model = Model()
        shape = draw.image()
        a, b = draw.quant(), draw.quant()
        y = {"scale": draw.like(scale_of(a["scale"], b["scale"])), "zero_point": draw.zero()}
        options, number = filled(kind, fusedActivationFunction=int(draw.rng.choice([0, 0, 1, 3])))
        inputs = [model.input("a", draw.dtype, shape, **a), model.input("b", draw.dtype, shape, **b)]
        model.operator(code, inputs, model.tensor("y", draw.dtype, shape, **y), options, number, version)
        return model

    return make


def prelu(draw):
    model = Model()
    shape = draw.image()
    x, slope = draw.quant(low=0.01), draw.quant(low=0.002, high=0.01)
    y = {"scale": draw.like(x["scale"]), "zero_point": draw.zero()}
    alpha = model.tensor("alpha", draw.dtype, [1, 1, shape[3]], **slope, data=draw.bytes([1, 1, shape[3]]))
    model.operator(CODE.PRELU, [model.input("x", draw.dtype, shape, **x), alpha], model.tensor("y", draw.dtype, shape, **y))
    return model


def convolution(code, kind, is_depthwise=False):
    def make(draw):
        model = Model()
        shape = draw.image()
        out = shape[3] if is_depthwise else int(draw.rng.integers(3, 20))
        kernel = int(draw.rng.choice([1, 3]))
        w_shape = [1, kernel, kernel, out] if is_depthwise else [out, kernel, kernel, shape[3]]
        x = draw.quant(low=0.01)
        channels = out if draw.dtype == "s8" else 1
        scales = [draw.scale(low=0.002, high=0.02) for _ in range(channels)]
        zeros = [0] * channels if draw.dtype == "s8" else [draw.zero()]
        w = draw.bytes(w_shape, -127 if draw.dtype == "s8" else 0)
        taps = np.prod(w_shape) / out
        y = {"scale": draw.like(x["scale"] * np.mean(scales) * 60 * np.sqrt(taps)), "zero_point": draw.zero()}
        bias = draw.rng.integers(-2000, 2000, out)
        stride = int(draw.rng.integers(1, 3))
        sizes = [1, -(-shape[1] // stride), -(-shape[2] // stride), out]
        options, number = window_options(draw, kind, stride, is_depthwise)
        inputs = [model.input("x", draw.dtype, shape, **x),
                  model.tensor("w", draw.dtype, w_shape, scales, zeros, 3 if is_depthwise else 0, w),
                  model.tensor("bias", "s32", [out], [x["scale"] * s for s in scales], [0] * channels, 0, bias)]
        model.operator(code, inputs, model.tensor("y", draw.dtype, sizes, **y), options, number, 3)
        return model

    return make


def window_options(draw, kind, stride, is_depthwise):
    fields = {"padding": 0, "strideH": stride, "strideW": stride, "fusedActivationFunction": int(draw.rng.choice([0, 0, 1, 3])),
              "dilationHFactor": 1, "dilationWFactor": 1}
    return filled(kind, **fields, **({"depthMultiplier": 1} if is_depthwise else {}))


def transpose_conv(draw):
    model = Model()
    shape = draw.image()
    out, stride = int(draw.rng.integers(3, 9)), int(draw.rng.integers(1, 3))
    x = draw.quant(low=0.01)
    channels = out if draw.dtype == "s8" else 1
    scales = [draw.scale(low=0.002, high=0.02) for _ in range(channels)]
    zeros = [0] * channels if draw.dtype == "s8" else [draw.zero()]
    w = draw.bytes([out, 3, 3, shape[3]], -127 if draw.dtype == "s8" else 0)
    sizes = [1, shape[1] * stride, shape[2] * stride, out]
    y = {"scale": draw.like(x["scale"] * np.mean(scales) * 60 * np.sqrt(shape[3] * 3)), "zero_point": draw.zero()}
    options, number = filled("TransposeConvOptions", padding=0, strideH=stride, strideW=stride, fusedActivationFunction=0)
    inputs = [model.tensor("size", "s32", [4], data=sizes), model.tensor("w", draw.dtype, [out, 3, 3, shape[3]], scales, zeros, 0, w),
              model.input("x", draw.dtype, shape, **x)]
    model.operator(CODE.TRANSPOSE_CONV, inputs, model.tensor("y", draw.dtype, sizes, **y), options, number, 3)
    return model


def fully_connected(draw):
    model = Model()
    rows, inner, columns = (1, 200, 90) if draw.is_large else (1, 7, 5)
    x = draw.quant(low=0.01)
    w_scale = draw.scale(low=0.002, high=0.02)
    y = {"scale": draw.like(x["scale"] * w_scale * 60 * np.sqrt(inner)), "zero_point": draw.zero()}
    w = draw.bytes([columns, inner], -127 if draw.dtype == "s8" else 0)
    options, number = filled("FullyConnectedOptions", fusedActivationFunction=int(draw.rng.choice([0, 1])), weightsFormat=0, keepNumDims=False)
    inputs = [model.input("x", draw.dtype, [rows, inner], **x),
              model.tensor("w", draw.dtype, [columns, inner], [w_scale], [0 if draw.dtype == "s8" else draw.zero()], 0, w),
              model.tensor("bias", "s32", [columns], [x["scale"] * w_scale], [0], 0, draw.rng.integers(-2000, 2000, columns))]
    model.operator(CODE.FULLY_CONNECTED, inputs, model.tensor("y", draw.dtype, [rows, columns], **y), options, number, 4)
    return model


def hybrid(code, kind, is_depthwise=False, has_one_scale=False):
    """Floats by integer weights: dynamic range."""

    def make(draw):
        model = Model()
        shape = draw.image(None if draw.is_large else 4)
        out = shape[3] if is_depthwise else int(draw.rng.integers(3, 20))
        kernel = int(draw.rng.choice([1, 3, 5]))
        w_shape = [1, kernel, kernel, out] if is_depthwise else [out, kernel, kernel, shape[3]]
        stride = int(draw.rng.integers(1, 3))
        sizes = [1, -(-shape[1] // stride), -(-shape[2] // stride), out]
        options, number = window_options(draw, kind, stride, is_depthwise)
        scales = [draw.scale(low=0.002, high=0.02) for _ in range(1 if has_one_scale else out)]
        inputs = [model.input("x", "f32", shape),
                  model.tensor("w", "s8", w_shape, scales, [0] * len(scales), 3 if is_depthwise else 0, draw.rng.integers(-127, 128, w_shape)),
                  model.tensor("bias", "f32", [out], data=draw.rng.normal(0, 3, out))]
        model.operator(code, inputs, model.tensor("y", "f32", sizes), options, number, 6 if is_depthwise else 5)
        return model

    return make


def hybrid_fully_connected(draw, is_asymmetric=True):
    model = Model()
    rows, inner, columns = (1, 200, 90) if draw.is_large else (2, 9, 5)
    options, number = filled("FullyConnectedOptions", fusedActivationFunction=int(draw.rng.choice([0, 1])), weightsFormat=0, keepNumDims=False,
                             asymmetricQuantizeInputs=is_asymmetric)
    inputs = [model.input("x", "f32", [rows, inner]),
              model.tensor("w", "s8", [columns, inner], [draw.scale(low=0.002, high=0.02)], [0], 0, draw.rng.integers(-127, 128, [columns, inner])),
              model.tensor("bias", "f32", [columns], data=draw.rng.normal(0, 3, columns))]
    model.operator(CODE.FULLY_CONNECTED, inputs, model.tensor("y", "f32", [rows, columns]), options, number, 9)
    return model


def float_depthwise(draw):
    model = Model()
    shape = draw.image(None if draw.is_large else 4)
    kernel, stride = int(draw.rng.choice([1, 3, 5, 7])), int(draw.rng.integers(1, 3))
    fields = {"padding": 0, "strideH": stride, "strideW": stride, "fusedActivationFunction": int(draw.rng.choice([0, 1, 3])),
              "dilationHFactor": 1, "dilationWFactor": 1, "depthMultiplier": 1}
    options, number = filled("DepthwiseConv2DOptions", **fields)
    w_shape = [1, kernel, kernel, shape[3]]
    inputs = [model.input("x", "f32", shape), model.tensor("w", "f32", w_shape, data=draw.rng.normal(0, 1, w_shape)),
              model.tensor("bias", "f32", [shape[3]], data=draw.rng.normal(0, 1, shape[3]))]
    model.operator(CODE.DEPTHWISE_CONV_2D, inputs, model.tensor("y", "f32", [1, -(-shape[1] // stride), -(-shape[2] // stride), shape[3]]), options, number)
    return model


def reduction(code):
    def make(draw):
        model = Model()
        shape = draw.image()
        axes = [[1, 2], [2, 1], [3], [1, 2, 3]][int(draw.rng.integers(0, 4))]
        keep = bool(draw.rng.integers(0, 2))
        sizes = [1 if i in axes else s for i, s in enumerate(shape) if keep or i not in axes]
        count = np.prod([shape[i] for i in axes])
        x = draw.quant()
        y = {"scale": draw.like(x["scale"] * (0.3 if code == CODE.MEAN else np.sqrt(count))), "zero_point": draw.zero()}
        options, number = filled("ReducerOptions", keepDims=keep)
        inputs = [model.input("x", draw.dtype, shape, **x), model.tensor("axes", "s32", [len(axes)], data=axes)]
        model.operator(code, inputs, model.tensor("y", draw.dtype, sizes, **y), options, number, 2)
        return model

    return make


def average_pool(draw):
    model = Model()
    shape = draw.image()
    quant = draw.quant()
    options, number = filled("Pool2DOptions", padding=0, strideH=2, strideW=2, filterHeight=3, filterWidth=3, fusedActivationFunction=0)
    sizes = [1, -(-shape[1] // 2), -(-shape[2] // 2), shape[3]]
    inputs = [model.input("x", draw.dtype, shape, **quant)]
    model.operator(CODE.AVERAGE_POOL_2D, inputs, model.tensor("y", draw.dtype, sizes, **quant), options, number, 2)
    return model


def softmax(draw):
    model = Model()
    shape = [1, 100, int(draw.rng.integers(2, 60))] if draw.is_large else [1, 3, 5]
    options, number = filled("SoftmaxOptions", beta=float(draw.rng.choice([1.0, 1.0, 0.5, 2.0])))
    inputs = [model.input("x", draw.dtype, shape, **draw.quant(low=0.01, high=0.3))]
    model.operator(CODE.SOFTMAX, inputs, model.tensor("y", draw.dtype, shape, **sigmoid_quant(draw)), options, number, 2)
    return model


def l2_normalization(draw):
    model = Model()
    shape = [1, 50, int(draw.rng.integers(2, 60))] if draw.is_large else [1, 3, 5]
    options, number = filled("L2NormOptions", fusedActivationFunction=0)
    inputs = [model.input("x", draw.dtype, shape, **draw.quant())]
    model.operator(CODE.L2_NORMALIZATION, inputs, model.tensor("y", draw.dtype, shape, **tanh_quant(draw)), options, number, 2)
    return model


def resize_bilinear(draw):
    model = Model()
    shape, quant = draw.image(), draw.quant()
    sizes = [int(draw.rng.integers(2, 30)), int(draw.rng.integers(2, 30))] if draw.is_large else [7, 4]
    kind = int(draw.rng.integers(0, 3))
    options, number = filled("ResizeBilinearOptions", alignCorners=kind == 1, halfPixelCenters=kind == 2)
    inputs = [model.input("x", draw.dtype, shape, **quant), model.tensor("size", "s32", [2], data=sizes)]
    model.operator(CODE.RESIZE_BILINEAR, inputs, model.tensor("y", draw.dtype, [1, *sizes, shape[3]], **quant), options, number, 3)
    return model


def concatenation(draw):
    model = Model()
    shape = draw.image()
    y = draw.quant()
    others = [draw.quant(), y] if draw.dtype == "u8" else [y, y]
    options, number = filled("ConcatenationOptions", axis=3, fusedActivationFunction=0)
    inputs = [model.input(name, draw.dtype, shape, **quant) for name, quant in zip("ab", others)]
    model.operator(CODE.CONCATENATION, inputs, model.tensor("y", draw.dtype, [*shape[:3], 2 * shape[3]], **y), options, number, 2)
    return model


def quantize(other):
    def make(draw):
        model = Model()
        shape = draw.image()
        x = draw.quant()
        to = {"same": draw.dtype, "other": "u8" if draw.dtype == "s8" else "s8"}[other]
        zero = draw.zero() + (0 if to == draw.dtype else (128 if to == "u8" else -128))
        y = {"scale": x["scale"] if other == "other" and draw.rng.integers(0, 2) else draw.like(x["scale"]), "zero_point": zero}
        model.operator(CODE.QUANTIZE, [model.input("x", draw.dtype, shape, **x)], model.tensor("y", to, shape, **y), version=2)
        return model

    return make


def quantize_floats(draw):
    model = Model()
    shape = draw.image()
    model.operator(CODE.QUANTIZE, [model.input("x", "f32", shape)], model.tensor("y", draw.dtype, shape, **draw.quant()), version=1)
    return model


def largest_sum(a, b):
    return max(a, b)


OPERATORS = {
    "add": binary(CODE.ADD, "AddOptions", largest_sum),
    "average_pool": average_pool,
    "concatenation": concatenation,
    "conv": convolution(CODE.CONV_2D, "Conv2DOptions"),
    "depthwise_conv": convolution(CODE.DEPTHWISE_CONV_2D, "DepthwiseConv2DOptions", is_depthwise=True),
    "elu": unary(CODE.ELU),
    "fully_connected": fully_connected,
    "hard_swish": unary(CODE.HARD_SWISH),
    "l2_normalization": l2_normalization,
    "leaky_relu": unary(CODE.LEAKY_RELU, 2, "LeakyReluOptions", alpha=lambda draw: float(draw.rng.uniform(0.01, 0.9))),
    "logistic": unary(CODE.LOGISTIC, 2, fixed=sigmoid_quant),
    "mean": reduction(CODE.MEAN),
    "mul": binary(CODE.MUL, "MulOptions", lambda a, b: a * b * 60),
    "prelu": prelu,
    "quantize": quantize("same"),
    "quantize_floats": quantize_floats,
    "quantize_sign": quantize("other"),
    "relu": unary(CODE.RELU, 2),
    "relu6": unary(CODE.RELU6, 2),
    "resize_bilinear": resize_bilinear,
    "softmax": softmax,
    "sub": binary(CODE.SUB, "SubOptions", largest_sum),
    "sum": reduction(CODE.SUM),
    "tanh": unary(CODE.TANH, 2, fixed=tanh_quant),
    "transpose_conv": transpose_conv,
}

# Of floats, whatever the type that is asked for.
FLOAT_OPERATORS = {
    "float_depthwise": float_depthwise,
    "hybrid_conv": hybrid(CODE.CONV_2D, "Conv2DOptions"),
    "hybrid_depthwise": hybrid(CODE.DEPTHWISE_CONV_2D, "DepthwiseConv2DOptions", is_depthwise=True),
    "hybrid_fully_connected": hybrid_fully_connected,
    "hybrid_symmetric_conv": hybrid(CODE.CONV_2D, "Conv2DOptions", has_one_scale=True),
    "hybrid_symmetric_fully_connected": lambda draw: hybrid_fully_connected(draw, is_asymmetric=False),
}


def number_of(name):
    """For seeds: a list that grows leaves the models of the other as they were."""
    return sorted(OPERATORS).index(name) if name in OPERATORS else 1000 + sorted(FLOAT_OPERATORS).index(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help=", ".join([*OPERATORS, *FLOAT_OPERATORS]))
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=8, help="models per operator and type")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", choices=["small", "large"], default="large")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    every = OPERATORS | FLOAT_OPERATORS
    for name in arguments.operators or OPERATORS:
        for dtype in ("s8", "u8"):
            for i in range(arguments.count):
                rng = np.random.default_rng([arguments.seed, number_of(name), dtype == "s8", i])
                every[name](Draw(rng, dtype, arguments.size == "large")).save(arguments.output / f"{name}_{dtype}_{i}.tflite")


if __name__ == "__main__":
    main()
