#!/usr/bin/env python3
"""Measures which formulas ONNX Runtime's quantized operators follow, bit for bit, on random and on tie-prone parameters.

Development only. Needs numpy, onnx and onnxruntime; the figures in docs/numerics.md are from onnxruntime 1.31, x86-64 with AVX-512 VNNI.

    python3 scripts/measure_ort_formulas.py [name ...]      prints, per operator and formula, how many of the values differ
"""
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

f32 = np.float32
rng = np.random.default_rng(20)
TYPES = {np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8, np.dtype(np.float32): TensorProto.FLOAT}
counts = {}  # operator -> formula -> [differing, total]


def fma(a, b, c):
    """One rounding: the f64 product of two f32 is exact and the sum is rounded twice only where it needs more than 53 bits, which small integers times f32 never do."""
    return (np.asarray(a, np.float64) * np.asarray(b, np.float64) + np.asarray(c, np.float64)).astype(f32)


def saturate(values, dtype):
    info = np.iinfo(dtype)
    return np.clip(values, info.min, info.max).astype(np.int64)


def note(operator, formula, got, expected):
    entry = counts.setdefault(operator, {}).setdefault(formula, [0, 0])
    entry[0] += int((np.asarray(got) != np.asarray(expected)).sum())
    entry[1] += int(np.asarray(expected).size)


def run_model(nodes, inputs, constants, outputs, optimize=True):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in inputs.items()],
        [helper.make_tensor_value_info(k, t, None) for k, t in outputs.items()],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if not optimize:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(list(outputs), inputs)


def run_op(op, args, out_type, domain="com.microsoft", **attrs):
    """args: list of (name, value, is_input) or None."""
    names = [a[0] if a else "" for a in args]
    node = helper.make_node(op, names, ["y"], domain=domain, **attrs)
    inputs = {a[0]: a[1] for a in args if a and a[2]}
    constants = {a[0]: a[1] for a in args if a and not a[2]}
    return run_model([node], inputs, constants, {"y": out_type})[0]


def run_qdq(nodes, inputs, quants, out, optimize=True):
    """inputs: name -> (data, scale, zero point), each dequantized before `nodes`; `out`: (value name, scale, zero point) quantized after."""
    pre, feeds, constants = [], {}, {}
    for name, (data, scale, zero) in inputs.items():
        feeds[name + "_q"] = data
        constants |= {name + "_s": scale, name + "_z": zero}
        pre.append(helper.make_node("DequantizeLinear", [name + "_q", name + "_s", name + "_z"], [name]))
    value, scale, zero = out
    constants |= quants | {"y_s": scale, "y_z": zero}
    post = [helper.make_node("QuantizeLinear", [value, "y_s", "y_z"], ["y"])]
    return run_model(pre + nodes + post, feeds, constants, {"y": TYPES[np.asarray(zero).dtype]}, optimize)[0]


def random_scales(count, trial):
    kind = trial // 2 % 4
    if kind == 0:  # powers of two: many ties
        return [f32(2.0 ** rng.integers(-6, -2)) for _ in range(count)]
    if kind == 1:
        return [f32(rng.integers(1, 64) / 256) for _ in range(count)]
    if kind == 2:  # all alike: ties that rounding errors break
        return [f32(rng.uniform(0.003, 0.1))] * count
    return [f32(v) for v in rng.uniform(0.003, 0.1, count)]


def random_zero(dtype):
    info = np.iinfo(dtype)
    return np.asarray(rng.integers(info.min, info.max + 1), dtype)


def random_tensor(shape, dtype):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


# ---- average pooling ----


def window_values(x, kernel, stride, pads, ceil_mode):
    """[n, c, h, w] -> values [n, c, oh, ow, taps] with NaN outside, and the output sizes."""
    sizes = []
    for i in range(2):
        room = x.shape[2 + i] + pads[i] + pads[2 + i] - kernel[i]
        size = room // stride[i] + 1
        if ceil_mode and room % stride[i] and size * stride[i] < x.shape[2 + i] + pads[i]:
            size += 1
        sizes.append(size)
    big = np.full((*x.shape[:2], x.shape[2] + 99, x.shape[3] + 99), np.nan)
    big[:, :, 40:40 + x.shape[2], 40:40 + x.shape[3]] = x
    out = np.empty((*x.shape[:2], *sizes, kernel[0] * kernel[1]))
    for oh in range(sizes[0]):
        for ow in range(sizes[1]):
            h, w = 40 + oh * stride[0] - pads[0], 40 + ow * stride[1] - pads[1]
            out[:, :, oh, ow] = big[:, :, h:h + kernel[0], w:w + kernel[1]].reshape(*x.shape[:2], -1)
    return out


def average_formulas(values, count, xs, xz, ys, yz, dtype):
    inside = ~np.isnan(values)
    centred = np.where(inside, values - int(xz), 0)
    total = centred.sum(-1).astype(f32)
    sequential = np.zeros(values.shape[:-1], f32)
    for t in range(values.shape[-1]):
        sequential = np.where(inside[..., t], sequential + xs * centred[..., t].astype(f32), sequential)
    count = np.asarray(count, f32)
    zero = f32(int(yz))
    return {
        "rne(sequential f32 sum of xs*(x-xz) / count / ys + yz)": saturate(np.rint(sequential / count / ys + zero), dtype),
        "rne(xs*sum / count / ys + yz)": saturate(np.rint(total * xs / count / ys + zero), dtype),
        "rne(sum * (xs/(ys*count))) + yz": saturate(np.rint(total * (xs / (ys * count))) + zero, dtype),
        "rne(sum * (xs/(ys*count)) + yz)": saturate(np.rint(total * (xs / (ys * count)) + zero), dtype),
    }


POOL_CASES = [((2, 2), (2, 2), (0, 0, 0, 0), 0, 0), ((3, 3), (1, 1), (1, 1, 1, 1), 0, 0), ((3, 3), (1, 1), (1, 1, 1, 1), 1, 0),
              ((3, 2), (2, 3), (1, 0, 1, 1), 0, 1), ((3, 3), (2, 2), (1, 1, 0, 0), 1, 1), ((5, 5), (3, 3), (0, 0, 0, 0), 0, 1)]


def measure_average_pool():
    for trial in range(192):
        dtype = np.uint8 if trial % 2 else np.int8
        kernel, stride, pads, include, ceil_mode = POOL_CASES[trial // 8 % len(POOL_CASES)]
        last = trial // 48 % 2
        x = random_tensor((2, 8, 12, 12), dtype)
        xs, ys = random_scales(2, trial)
        xz, yz = random_zero(dtype), random_zero(dtype)
        values = window_values(x.astype(float), kernel, stride, pads, ceil_mode)
        inside = (~np.isnan(values)).sum(-1)
        attrs = dict(kernel_shape=kernel, strides=stride, pads=pads, count_include_pad=include, ceil_mode=ceil_mode)
        fed = np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if last else x
        y = run_op("QLinearAveragePool", [("x", fed, True), ("xs", xs, False), ("xz", xz, False), ("ys", ys, False), ("yz", yz, False)], TYPES[x.dtype],
                   channels_last=last, **attrs)
        y = y.transpose(0, 3, 1, 2) if last else y
        # Where padding counts, it is the whole kernel that divides, in the ceil tail too.
        count = kernel[0] * kernel[1] if include else inside
        for name, got in average_formulas(values, count, xs, xz, ys, yz, dtype).items():
            note("QLinearAveragePool", name, got, y)
        qdq = run_qdq([helper.make_node("AveragePool", ["x"], ["p"], **attrs)], {"x": (x, xs, xz)}, {}, ("p", ys, yz))
        for name, got in average_formulas(values, count, xs, xz, ys, yz, dtype).items():
            note("QDQ AveragePool", name, got, qdq)


def measure_global_average_pool():
    for trial in range(96):
        dtype = np.uint8 if trial % 2 else np.int8
        last = trial // 8 % 2
        size = (7, 7) if trial // 16 % 2 else (4, 4)
        x = random_tensor((2, 40, *size), dtype)
        xs, ys = random_scales(2, trial)
        ys = f32(ys / 4)
        xz, yz = random_zero(dtype), random_zero(dtype)
        values = x.reshape(2, 40, 1, 1, -1).astype(float)
        fed = np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if last else x
        args = [("x", fed, True), ("xs", xs, False), ("xz", xz, False), ("ys", ys, False), ("yz", yz, False)]
        y = run_op("QLinearGlobalAveragePool", args, TYPES[x.dtype], channels_last=last)
        y = y.transpose(0, 3, 1, 2) if last else y
        whole = run_op("QLinearAveragePool", args, TYPES[x.dtype], channels_last=last, kernel_shape=size)
        whole = whole.transpose(0, 3, 1, 2) if last else whole
        qdq = run_qdq([helper.make_node("GlobalAveragePool", ["x"], ["p"])], {"x": (x, xs, xz)}, {}, ("p", ys, yz))
        mean = run_qdq([helper.make_node("ReduceMean", ["x"], ["p"], axes=[2, 3], keepdims=1)], {"x": (x, xs, xz)}, {}, ("p", ys, yz))
        for name, got in average_formulas(values, size[0] * size[1], xs, xz, ys, yz, dtype).items():
            note("QLinearGlobalAveragePool", name, got, y)
            note("QLinearAveragePool over the whole image", name, got, whole)
            note("QDQ GlobalAveragePool", name, got, qdq)
            note("QDQ ReduceMean (not fused)", name, got, mean)


MEASUREMENTS = {name.removeprefix("measure_"): function for name, function in list(globals().items()) if name.startswith("measure_")}

if __name__ == "__main__":
    for name in sys.argv[1:] or MEASUREMENTS:
        MEASUREMENTS[name]()
    for operator, formulas in counts.items():
        print(operator)
        for formula, (wrong, total) in sorted(formulas.items(), key=lambda item: item[1][0]):
            print(f"    {wrong:8} of {total:8}  {formula}")
