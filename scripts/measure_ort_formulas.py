#!/usr/bin/env python3
"""Measures which formulas ONNX Runtime's quantized operators follow, bit for bit, on random and on tie-prone parameters.

Development only. Needs numpy, onnx and onnxruntime; the figures in docs/numerics.md are from onnxruntime 1.31, x86-64 with AVX-512 VNNI.

    python3 scripts/measure_ort_formulas.py [name ...]      prints, per operator and formula, how many of the values differ
"""
import math
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

f32 = np.float32
rng = np.random.default_rng(20)
TYPES = {np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8, np.dtype(np.float32): TensorProto.FLOAT}
counts = {}  # operator -> formula -> [differing, total]
ran = {}  # (operators of a q/dq group, type) -> operators that ONNX Runtime makes of it


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
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        options.optimized_model_filepath = file.name
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        before = [n.op_type for n in nodes if n.op_type not in ("QuantizeLinear", "DequantizeLinear")]
        if len(before) < len(nodes):
            after = sorted(n.op_type for n in onnx.load(file.name).graph.node)
            ran.setdefault((" ".join(before), next(iter(inputs.values())).dtype.name), set()).add(" ".join(after))
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


# ---- convolution and matrix products ----


def requantize_formulas(acc, xs, ws, ys, yz, dtype):
    """acc: exact sums with the bias; ws broadcasts against acc."""
    a, zero = acc.astype(f32), f32(int(yz))
    m = (xs * ws).astype(f32) / ys
    return {
        "rne(f32(acc) * ((xs*ws)/ys)) + yz": saturate(np.rint(a * m) + zero, dtype),
        "rne(f32(acc) * (xs*ws) / ys) + yz": saturate(np.rint(a * (xs * ws).astype(f32) / ys) + zero, dtype),
        "rne(f32(acc) * (xs*ws) / ys + yz)": saturate(np.rint(a * (xs * ws).astype(f32) / ys + zero), dtype),
        "rne(f32(acc) * ((xs*ws)/ys) + yz)": saturate(np.rint(a * m + zero), dtype),
    }


def measure_conv():
    for trial in range(32):
        dtype = np.uint8 if trial % 2 else np.int8
        x, w = random_tensor((1, 8, 66, 66), dtype), random_tensor((32, 8, 3, 3), np.int8)
        xs, ys = random_scales(2, trial)
        ys = f32(ys * 256)
        ws = np.asarray(random_scales(32, trial), f32)
        xz, yz = random_zero(dtype), random_zero(dtype)
        bias = rng.integers(-20000, 20000, 32).astype(np.int32)
        patches = np.lib.stride_tricks.sliding_window_view(x.astype(np.int64) - int(xz), (3, 3), axis=(2, 3))
        acc = np.einsum("nchwij,ocij->nohw", patches, w.astype(np.int64)) + bias[None, :, None, None]
        wz = np.zeros(32, np.int8)
        y = run_op("QLinearConv", [("x", x, True), ("xs", xs, False), ("xz", xz, False), ("w", w, False), ("ws", ws, False), ("wz", wz, False),
                                   ("ys", ys, False), ("yz", yz, False), ("b", bias, False)], TYPES[x.dtype], domain="")
        wq = helper.make_node("DequantizeLinear", ["wq", "ws", "wz"], ["w"], axis=0)
        bq = helper.make_node("DequantizeLinear", ["bq", "bs", "bz"], ["b"], axis=0)
        quants = {"wq": w, "ws": ws, "wz": wz, "bq": bias, "bs": (xs * ws).astype(f32), "bz": np.zeros(32, np.int32)}
        conv = helper.make_node("Conv", ["x", "w", "b"], ["c"])
        fused = run_qdq([wq, bq, conv], {"x": (x, xs, xz)}, quants, ("c", ys, yz))
        relu = run_qdq([wq, bq, conv, helper.make_node("Relu", ["c"], ["r"])], {"x": (x, xs, xz)}, quants, ("r", ys, yz))
        for name, got in requantize_formulas(acc, xs, ws[None, :, None, None], ys, yz, dtype).items():
            note("QLinearConv", name, got, y)
            note("QDQ Conv", name, got, fused)
            note("QDQ Conv+Relu", "max(" + name + ", yz)", np.maximum(got, int(yz)), relu)


def measure_matmul():
    for trial in range(32):
        dtype = np.uint8 if trial % 2 else np.int8
        a, b = random_tensor((257, 48), dtype), random_tensor((48, 512), np.int8)
        xs, ys = random_scales(2, trial)
        ys = f32(ys * 256)
        per_column = trial // 8 % 2
        ws = np.asarray(random_scales(512, trial), f32) if per_column else np.asarray(random_scales(1, trial)[0])
        xz, yz = random_zero(dtype), random_zero(dtype)
        bz = np.zeros(512, np.int8) if per_column else random_zero(np.int8)
        plain = (a.astype(np.int64) - int(xz)) @ (b.astype(np.int64) - bz.astype(np.int64))
        args = [("a", a, True), ("as", xs, False), ("az", xz, False), ("b", b, False), ("bs", ws, False), ("bz", bz, False), ("ys", ys, False), ("yz", yz, False)]
        y = run_op("QLinearMatMul", args, TYPES[a.dtype], domain="")
        bias = rng.integers(-20000, 20000, 512).astype(np.int32)
        gemm_args = args[:6] + [("c", bias, False)]
        gemm = run_op("QGemm", gemm_args + args[6:], TYPES[a.dtype])
        real = run_op("QGemm", gemm_args, TensorProto.FLOAT)
        to_float = run_op("MatMulIntegerToFloat", [args[0], args[3], args[1], args[4], args[2], args[5]], TensorProto.FLOAT)
        dq = helper.make_node("DequantizeLinear", ["bq", "bs", "bz"], ["b"], axis=1)
        qdq = run_qdq([dq, helper.make_node("MatMul", ["a", "b"], ["c"])], {"a": (a, xs, xz)}, {"bq": b, "bs": ws, "bz": bz}, ("c", ys, yz))
        for name, got in requantize_formulas(plain, xs, ws, ys, yz, dtype).items():
            note("QLinearMatMul", name, got, y)
            note("QDQ MatMul", name, got, qdq)
        gemm_nodes = [dq, helper.make_node("DequantizeLinear", ["cq", "cs", "cz"], ["c"], axis=0), helper.make_node("Gemm", ["a", "b", "c"], ["d"])]
        quants = {"bq": b, "bs": ws, "bz": bz, "cq": bias, "cs": (xs * ws).astype(f32), "cz": np.zeros(np.shape(ws), np.int32)}
        qdq_gemm = run_qdq(gemm_nodes, {"a": (a, xs, xz)}, quants, ("d", ys, yz))
        for name, got in requantize_formulas(plain + bias, xs, ws, ys, yz, dtype).items():
            note("QGemm", name, got, gemm)
            note("QDQ Gemm", name, got, qdq_gemm)
        scale = (xs * ws).astype(f32)
        note("QGemm, float result", "f32(acc + bias) * (as*bs)", (plain + bias).astype(f32) * scale, real)
        note("MatMulIntegerToFloat", "f32(acc) * (as*bs)", plain.astype(f32) * scale, to_float)


# ---- addition, multiplication ----


def measure_binary():
    a, b = (v.reshape(-1).astype(np.uint8) for v in np.meshgrid(np.arange(256), np.arange(256)))
    for trial in range(48):
        dtype = np.uint8 if trial % 2 else np.int8
        qa, qb = a.view(dtype), b.view(dtype)
        sa, sb, sc = random_scales(3, trial)
        za, zb, zc = (random_zero(dtype) for _ in range(3))
        fa, fb = qa.astype(f32), qb.astype(f32)
        args = [("a", qa, True), ("sa", sa, False), ("za", za, False), ("b", qb, True), ("sb", sb, False), ("zb", zb, False), ("sc", sc, False), ("zc", zc, False)]
        ra, rb = f32(sa / sc), f32(sb / sc)
        fixed = f32(int(zc)) - fma(ra, f32(int(za)), rb * f32(int(zb)))
        product = (qa.astype(np.int64) - int(za)) * (qb.astype(np.int64) - int(zb))
        forms = {"Add": {"rne(fma(a, ra, fma(b, rb, zc - fma(ra, za, rb*zb))))": saturate(np.rint(fma(fa, ra, fma(fb, rb, fixed))), dtype)},
                 "Mul": {"rne(f32((a-za)*(b-zb)) * ((sa*sb)/sc) + zc)": saturate(np.rint(product.astype(f32) * f32(f32(sa * sb) / sc) + f32(int(zc))), dtype)}}
        for op, formulas in forms.items():
            y = run_op("QLinear" + op, args, TYPES[qa.dtype])
            fused = run_qdq([helper.make_node(op, ["a", "b"], ["c"])], {"a": (qa, sa, za), "b": (qb, sb, zb)}, {}, ("c", sc, zc))
            for name, got in formulas.items():
                note("QLinear" + op, name, got, y)
                note("QDQ " + op, name, got, fused)


# ---- tables ----


def table_formulas(real, ys, yz, dtype):
    real = np.asarray(real, np.float64)
    quotient = real.astype(f32) / ys
    return {"rne(f32(f(xs*(x-xz))) / ys) + yz": saturate(np.rint(quotient) + float(int(yz)), dtype)}


def logistic(x):
    """MLAS's sigmoid of f32, bit for bit: a product and an addition of f32 in f64, rounded, are its fma."""
    above = [4.37031012579801e-11, 1.15627324459942e-07, 6.08574864600143e-05, 8.51377133304701e-03, 2.48287947061529e-01]
    below = [6.10247389755681e-13, 5.76102136993427e-09, 6.29106785017040e-06, 1.70198817374094e-03, 1.16817656904453e-01, 9.93151921023180e-01]
    x = np.clip(x.astype(f32), f32(-18), f32(18))

    def polynomial(coefficients):
        total = np.full_like(x, coefficients[0])
        for coefficient in coefficients[1:]:
            total = (total.astype(np.float64) * (x * x) + np.float64(f32(coefficient))).astype(f32)
        return total

    return np.maximum(x * polynomial(above) / polynomial(below) + f32(0.5), f32(0))


def measure_tables():
    for trial in range(200):
        dtype = np.uint8 if trial % 2 else np.int8
        x = np.arange(256).astype(np.uint8).view(dtype)
        xs, ys = random_scales(2, trial)
        xz = random_zero(dtype)
        sigmoid_s = f32(1 / 256)
        sigmoid_z = np.asarray(0 if dtype == np.uint8 else -128, dtype)
        yz = random_zero(dtype)
        real = (xs * (x.astype(f32) - f32(int(xz)))).astype(f32)
        sigmoid = logistic(real)
        leaky = np.where(real >= 0, real, f32(0.1) * real)
        head = [("x", x, True), ("xs", xs, False), ("xz", xz, False)]
        tail = [("ys", ys, False), ("yz", yz, False)]
        fixed = [("ys", sigmoid_s, False), ("yz", sigmoid_z, False)]
        results = [("QLinearSigmoid", run_op("QLinearSigmoid", head + fixed, TYPES[x.dtype]), sigmoid, sigmoid_s, sigmoid_z),
                   ("QDQ Sigmoid", run_qdq([helper.make_node("Sigmoid", ["x"], ["r"])], {"x": (x, xs, xz)}, {}, ("r", sigmoid_s, sigmoid_z)), sigmoid, sigmoid_s, sigmoid_z),
                   ("QLinearLeakyRelu", run_op("QLinearLeakyRelu", head + tail, TYPES[x.dtype], alpha=0.1), leaky, ys, yz),
                   ("QDQ LeakyRelu", run_qdq([helper.make_node("LeakyRelu", ["x"], ["r"], alpha=0.1)], {"x": (x, xs, xz)}, {}, ("r", ys, yz)), leaky, ys, yz)]
        for op, y, values, scale, zero in results:
            for name, got in table_formulas(values, scale, zero, dtype).items():
                note(op, name, got, y)


def erf(values):
    return np.asarray([math.erf(v) for v in values.reshape(-1)]).reshape(values.shape)


def measure_unfused_tables():
    """Functions that ONNX Runtime computes in f32 between dequantize and quantize, against a table from correctly rounded f64."""
    node = helper.make_node
    chains = {
        "Tanh": ([node("Tanh", ["x"], ["r"])], np.tanh),
        "HardSigmoid": ([node("HardSigmoid", ["x"], ["r"], alpha=1 / 6)], lambda v: np.clip(v * np.float64(f32(1 / 6)) + 0.5, 0, 1)),
        "HardSwish": ([node("HardSwish", ["x"], ["r"])], lambda v: v * np.clip(v / 6 + 0.5, 0, 1)),
        "SiLU (x * Sigmoid(x))": ([node("Sigmoid", ["x"], ["g"]), node("Mul", ["x", "g"], ["r"])], lambda v: v / (1 + np.exp(-v))),
        "Elu": ([node("Elu", ["x"], ["r"])], lambda v: np.where(v > 0, v, np.expm1(np.minimum(v, 0)))),
        "Erf": ([node("Erf", ["x"], ["r"])], erf),
        "Softplus": ([node("Softplus", ["x"], ["r"])], lambda v: np.log1p(np.exp(-np.abs(v))) + np.maximum(v, 0)),
        "Relu": ([node("Relu", ["x"], ["r"])], lambda v: np.maximum(v, 0)),
    }
    for trial in range(100):
        dtype = np.uint8 if trial % 2 else np.int8
        x = np.arange(256).astype(np.uint8).view(dtype)
        xs, ys = random_scales(2, trial)
        xz, yz = random_zero(dtype), random_zero(dtype)
        real = (xs * (x.astype(f32) - f32(int(xz)))).astype(f32).astype(np.float64)
        for name, (nodes, function) in chains.items():
            y = run_qdq(nodes, {"x": (x, xs, xz)}, {}, ("r", ys, yz))
            for formula, got in table_formulas(function(real), ys, yz, dtype).items():
                note("QDQ " + name, formula, got, y)


def measure_concat():
    for trial in range(64):
        dtype = np.uint8 if trial % 2 else np.int8
        x = np.arange(256).astype(np.uint8).view(dtype)
        xs, ys = random_scales(2, trial)
        xz, yz = random_zero(dtype), random_zero(dtype)
        expected = table_formulas((xs * (x.astype(f32) - f32(int(xz)))).astype(f32), ys, yz, dtype)
        y = run_op("QLinearConcat", [("ys", ys, False), ("yz", yz, False), ("x", x, True), ("xs", xs, False), ("xz", xz, False), ("c", x[:1], True), ("cs", ys, False),
                                     ("cz", yz, False)], TYPES[x.dtype], axis=0)
        qdq = run_qdq([helper.make_node("Concat", ["x", "c"], ["r"], axis=0)], {"x": (x, xs, xz), "c": (x[:1], ys, yz)}, {}, ("r", ys, yz))
        for name, got in expected.items():
            note("QLinearConcat", name, got, y[:256])
            note("QDQ Concat", name, got, qdq[:256])


# ---- softmax ----


def measure_softmax():
    for trial in range(64):
        dtype = np.uint8 if trial % 2 else np.int8
        length = int(rng.integers(2, 400))
        x = random_tensor((16, length), dtype)
        xs = random_scales(1, trial)[0]
        ys = f32(1 / 256) if trial % 8 < 6 else random_scales(1, trial)[0]
        yz = np.asarray(np.iinfo(dtype).min, dtype)
        limit = np.finfo(f32).max / f32(length)
        for reserve in (3, 5):
            shift = max(0.0, float(np.log(np.float64(limit))) - reserve) / float(xs)
            table = np.exp((np.arange(256) - 255 + shift) * float(xs)).astype(f32)
            e = table[255 - (x.max(1, keepdims=True).astype(int) - x.astype(int))]
            total = np.zeros((16, 1), f32)
            for i in range(length):
                total[:, 0] += e[:, i]
            scaled = {"floor(1/ys)": np.floor(f32(1) / ys), "1/ys": f32(1) / ys}
            args = [("x", x, True), ("xs", xs, False), ("xz", random_zero(dtype), False), ("ys", ys, False), ("yz", yz, False)]
            y = run_op("QLinearSoftmax", args, TYPES[x.dtype], axis=-1, opset=13)
            qdq = run_qdq([helper.make_node("Softmax", ["x"], ["r"], axis=-1)], {"x": (x, xs, args[2][1])}, {}, ("r", ys, yz))
            for name, inverse in scaled.items():
                got = saturate(np.rint(e * inverse / total) + float(int(yz)), dtype)
                note("QLinearSoftmax", f"rne(e * {name} / sum e) + yz, e in f32 with {reserve} reserved", got, y)
                note("QDQ Softmax", f"rne(e * {name} / sum e) + yz, e in f32 with {reserve} reserved", got, qdq)


def measure_dynamic_quantize():
    for trial in range(200):
        x = (rng.standard_normal(300) * 10.0 ** rng.integers(-3, 4) + rng.uniform(-3, 3)).astype(f32)
        if trial == 0:
            x[:] = 0
        node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])
        y, s, z = run_model([node], {"x": x}, {}, {"y": TensorProto.UINT8, "s": TensorProto.FLOAT, "z": TensorProto.UINT8})
        low, high = min(f32(0), x.min()), max(f32(0), x.max())
        scale = f32(1) if low == high else f32(high - low) / f32(255)
        zero = np.rint(np.clip(f32(0) - low / scale, 0, 255))
        note("DynamicQuantizeLinear", "scale = (max - min) / 255", scale, s)
        note("DynamicQuantizeLinear", "zero point = rne(clamp(-min / scale))", zero, z)
        note("DynamicQuantizeLinear", "y = rne(x / scale) + zero point", saturate(np.rint(x / scale) + zero, np.uint8), y)


# ---- resize ----


def linear_taps(out, size, scale):
    at = np.clip((np.arange(out, dtype=f32) + f32(0.5)) / scale - f32(0.5), f32(0), f32(size - 1)).astype(f32)
    first = np.minimum(at.astype(int), size - 1)
    second = np.minimum(first + 1, size - 1)
    near = np.where(first == second, f32(0.5), np.abs(at - first.astype(f32))).astype(f32)
    far = np.where(first == second, f32(0.5), np.abs(at - second.astype(f32))).astype(f32)
    return first, second, near, far


def bilinear(x, sizes):
    """f32, [n, c, h, w], half_pixel."""
    h1, h2, dy1, dy2 = linear_taps(sizes[0], x.shape[2], f32(sizes[0] / x.shape[2]))
    w1, w2, dx1, dx2 = linear_taps(sizes[1], x.shape[3], f32(sizes[1] / x.shape[3]))
    pick = lambda h, w: x[:, :, h][:, :, :, w].astype(f32)
    a, b = dy2[:, None], dy1[:, None]
    return ((dx2 * a * pick(h1, w1) + dx1 * a * pick(h1, w2)) + dx2 * b * pick(h2, w1)) + dx1 * b * pick(h2, w2)


def measure_resize():
    for trial in range(48):
        dtype = np.uint8 if trial % 2 else np.int8
        x = random_tensor((1, 4, 7, 9), dtype)
        sizes = [(14, 18), (13, 17), (5, 6), (21, 10)][trial // 2 % 4]
        xs = random_scales(1, trial)[0]
        xz = random_zero(dtype)
        attrs = dict(mode="linear", coordinate_transformation_mode="half_pixel")
        constants = {"sizes": np.asarray([1, 4, *sizes], np.int64)}
        node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attrs)
        direct = run_model([node], {"x": x}, constants, {"y": TYPES[x.dtype]})[0]
        qdq = run_qdq([helper.make_node("Resize", ["x", "", "", "sizes"], ["r"], **attrs)], {"x": (x, xs, xz)}, constants, ("r", xs, xz))
        real = (xs * (x.astype(f32) - f32(int(xz)))).astype(f32)
        requantized = saturate(np.rint(bilinear(real, sizes) / xs) + float(int(xz)), dtype)
        rounded = saturate(np.rint(bilinear(x, sizes)), dtype)
        truncated = saturate(np.trunc(bilinear(x, sizes)), dtype)
        for op, y in (("Resize linear, 8 bit", direct), ("QDQ Resize linear", qdq)):
            note(op, "truncate(f32 bilinear of the bytes)", truncated, y)
            note(op, "rne(f32 bilinear of the bytes)", rounded, y)
            note(op, "dequantize, f32 bilinear, quantize", requantized, y)
        near = dict(mode="nearest", coordinate_transformation_mode=["asymmetric", "half_pixel"][trial // 8 % 2], nearest_mode=["floor", "round_prefer_floor"][trial // 16 % 2])
        direct = run_model([helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **near)], {"x": x}, constants, {"y": TYPES[x.dtype]})[0]
        index = []
        for i in range(2):
            scale = f32(sizes[i] / x.shape[2 + i])
            at = np.arange(sizes[i], dtype=f32)
            at = at / scale if trial // 8 % 2 == 0 else (at + f32(0.5)) / scale - f32(0.5)
            picked = np.floor(at) if trial // 16 % 2 == 0 else np.ceil(at - f32(0.5))
            index.append(np.clip(picked, 0, x.shape[2 + i] - 1).astype(int))
        note("Resize nearest, 8 bit", "coordinate in f32, then the rounding of the mode", x[:, :, index[0]][:, :, :, index[1]], direct)


MEASUREMENTS = {name.removeprefix("measure_"): function for name, function in list(globals().items()) if name.startswith("measure_")}

if __name__ == "__main__":
    for name in sys.argv[1:] or MEASUREMENTS:
        MEASUREMENTS[name]()
    for operator, formulas in counts.items():
        print(operator)
        for formula, (wrong, total) in sorted(formulas.items(), key=lambda item: item[1][0]):
            print(f"    {wrong:8} of {total:8}  {formula}")
    print("what ONNX Runtime runs for dequantize -> operator -> quantize")
    for (before, dtype), after in sorted(ran.items()):
        print(f"    {before} ({dtype}): {', or '.join(sorted(after))}")
