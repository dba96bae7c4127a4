"""More .tflite files for make_litert_vectors.py: what LiteRT's own kernels compute by default, too, and groups of operators that lowering moves or merges.

Needs, in any virtual environment: pip install ai-edge-litert==2.3.0 numpy
"""

import numpy as np

from litert_operators import CODE, Model, filled


def lowest(draw):
    return int(draw.info.min)


def function(code, version=1, kind=None, near=None, is_positive=False, far=False, **fields):
    """`near`: the result's scale by the operand's; `far`: beyond what XNNPACK takes."""

    def make(draw):
        model, shape = Model(), draw.image()
        x = draw.quant(low=0.01, high=0.1) | ({"zero_point": lowest(draw)} if is_positive else {})
        scale = draw.like(near(float(x["scale"])) if near else x["scale"]) * np.float32(float(draw.rng.choice([2.0**-9, 2.0**9])) if far else 1.0)
        options, number = filled(kind, **fields) if kind else (None, 0)
        inputs = [model.input("x", draw.dtype, shape, **x)]
        model.operator(code, inputs, model.tensor("y", draw.dtype, shape, scale, draw.zero()), options, number, version)
        return model

    return make


def pair(code, near):
    def make(draw):
        model, shape = Model(), draw.image()
        a, b = draw.quant(), draw.quant()
        y = {"scale": draw.like(near(float(a["scale"]), float(b["scale"]))), "zero_point": draw.zero()}
        inputs = [model.input("a", draw.dtype, shape, **a), model.input("b", draw.dtype, shape, **b)]
        model.operator(code, inputs, model.tensor("y", draw.dtype, shape, **y), version=2)
        return model

    return make


def division(code):
    """Of the stored integers."""

    def make(draw):
        model, shape = Model(), draw.image()
        divisor = draw.rng.choice([q for q in range(-128, 128) if q], shape)
        inputs = [model.input("x", draw.dtype, shape, **draw.quant()), model.tensor("divisor", draw.dtype, shape, **draw.quant(), data=divisor)]
        model.operator(code, inputs, model.tensor("y", draw.dtype, shape, **draw.quant()), version=2)
        return model

    return make


def quotient(draw):
    """By a constant without zeros."""
    model, shape, b = Model(), draw.image(), draw.quant()
    x = draw.quant()
    divisor = draw.rng.choice([q for q in range(draw.info.min, draw.info.max + 1) if q != b["zero_point"]], shape)
    y = {"scale": draw.like(float(x["scale"]) / float(b["scale"]) / 10), "zero_point": draw.zero()}
    options, number = filled("DivOptions", fusedActivationFunction=int(draw.rng.choice([0, 1, 3])))
    inputs = [model.input("x", draw.dtype, shape, **x), model.tensor("divisor", draw.dtype, shape, **b, data=divisor)]
    model.operator(CODE.DIV, inputs, model.tensor("y", draw.dtype, shape, **y), options, number, 2)
    return model


def product_of_activations(draw):
    model, rows, inner, columns = Model(), 19, 32, 17
    a, b = draw.quant(low=0.01), draw.quant(low=0.01) | {"zero_point": 0 if draw.dtype == "s8" else 128}
    y = {"scale": draw.like(a["scale"] * b["scale"] * 60 * np.sqrt(inner)), "zero_point": draw.zero()}
    options, number = filled("FullyConnectedOptions", fusedActivationFunction=0, weightsFormat=0, keepNumDims=False)
    inputs = [model.input("a", draw.dtype, [rows, inner], **a), model.input("b", draw.dtype, [columns, inner], **b)]
    model.operator(CODE.FULLY_CONNECTED, inputs, model.tensor("y", draw.dtype, [rows, columns], **y), options, number, 5)
    return model


def batch_matmul(has_zero_point, is_constant=False):
    """XNNPACK takes it where the second zero point is 0."""

    def make(draw):
        model, rows, inner, columns = Model(), 9, 16, 11
        a, b = draw.quant(low=0.01), draw.quant(low=0.01)
        b["zero_point"] = b["zero_point"] or 5 if has_zero_point else 0
        turned = bool(draw.rng.integers(0, 2))
        shape = [1, 3, columns, inner] if turned else [1, 3, inner, columns]
        y = {"scale": draw.like(a["scale"] * b["scale"] * 60 * np.sqrt(inner)), "zero_point": draw.zero()}
        options, number = filled("BatchMatMulOptions", adjX=False, adjY=turned, asymmetricQuantizeInputs=False)
        other = model.tensor("b", draw.dtype, shape, **b, data=draw.bytes(shape)) if is_constant else None
        inputs = [model.input("a", draw.dtype, [1, 3, rows, inner], **a), model.input("b", draw.dtype, shape, **b) if other is None else other]
        model.operator(CODE.BATCH_MATMUL, inputs, model.tensor("y", draw.dtype, [1, 3, rows, columns], **y), options, number, 2)
        return model

    return make


def quantize_concatenation(draw):
    """A conversion in front of a concatenation that joins values of one scale."""
    model, shape = Model(), draw.image()
    x, y = draw.quant(), draw.quant()
    y["scale"] = draw.like(x["scale"])
    converted = model.tensor("converted", draw.dtype, shape, **y)
    model.operator(CODE.QUANTIZE, [model.input("x", draw.dtype, shape, **x)], converted, version=2)
    options, number = filled("ConcatenationOptions", axis=3, fusedActivationFunction=0)
    inputs = [model.input("other", draw.dtype, shape, **y), converted]
    model.operator(CODE.CONCATENATION, inputs, model.tensor("y", draw.dtype, [*shape[:3], 2 * shape[3]], **y), options, number, 2)
    return model


def reduce_prod(draw):
    model, x = Model(), draw.quant(low=0.02, high=0.1)
    shape, axis = [3, 5, 4], int(draw.rng.integers(0, 3))
    options, number = filled("ReducerOptions", keepDims=False)
    terms = float(x["scale"] * 40) ** shape[axis]
    inputs = [model.input("x", draw.dtype, shape, **x), model.tensor("axes", "s32", [1], data=[axis])]
    y = model.tensor("y", draw.dtype, [n for i, n in enumerate(shape) if i != axis], draw.like(terms / 60), draw.zero())
    model.operator(CODE.REDUCE_PROD, inputs, y, options, number, 2)
    return model


def two_average_pools(draw):
    """Of one value, to one scale, one of them with an activation; the first is what is compared."""
    model, shape, quant = Model(), [1, 4, 6, 4], draw.quant()
    x = model.input("x", draw.dtype, shape, **quant)
    made = []
    for activation in (0, 1):
        options, number = filled("Pool2DOptions", padding=1, strideH=2, strideW=2, filterHeight=2, filterWidth=2, fusedActivationFunction=activation)
        made.append(model.tensor(f"y{activation}", draw.dtype, [1, 2, 3, 4], **quant))
        model.operator(CODE.AVERAGE_POOL_2D, [x], made[-1], options, number, 2)
    model.subgraph.outputs = made
    return model


BOTH, SIGNED, UNSIGNED = ("s8", "u8"), ("s8",), ("u8",)

KERNEL_OPERATORS = {
    "abs": (SIGNED, function(CODE.ABS, 2, "AbsOptions")),
    "batch_matmul": (SIGNED, batch_matmul(True)),
    "batch_matmul_constant": (SIGNED, batch_matmul(True, is_constant=True)),
    "batch_matmul_symmetric": (SIGNED, batch_matmul(False)),
    "div": (BOTH, quotient),
    "exp": (SIGNED, function(CODE.EXP, 2, "ExpOptions", near=lambda scale: 0.05)),
    "floor_div": (SIGNED, division(CODE.FLOOR_DIV)),
    "floor_mod": (SIGNED, division(CODE.FLOOR_MOD)),
    "gelu": (BOTH, function(CODE.GELU, 2, "GeluOptions", approximate=False)),
    "leaky_relu_far": (BOTH, function(CODE.LEAKY_RELU, 2, "LeakyReluOptions", alpha=0.002)),
    "log": (SIGNED, function(CODE.LOG, 2)),
    "neg": (SIGNED, function(CODE.NEG)),
    "product_of_activations": (BOTH, product_of_activations),
    "quantize_concatenation": (BOTH, quantize_concatenation),
    "quantize_far": (BOTH, function(CODE.QUANTIZE, 2, far=True)),
    "reduce_prod": (SIGNED, reduce_prod),
    "rsqrt": (SIGNED, function(CODE.RSQRT, 2, near=lambda scale: 0.05 / np.sqrt(scale), is_positive=True)),
    "sqrt": (SIGNED, function(CODE.SQRT, near=lambda scale: np.sqrt(scale) / 12, is_positive=True)),
    "squared_difference": (SIGNED, pair(CODE.SQUARED_DIFFERENCE, lambda a, b: 100 * a * b)),
    "two_average_pools": (BOTH, two_average_pools),
}


def kernel_number_of(name):
    """For seeds."""
    return 2000 + sorted(KERNEL_OPERATORS).index(name)
