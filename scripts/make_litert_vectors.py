"""Makes tests/import/litert, litert_floats and litert_16x8: small .tflite files of one operator each, with what LiteRT answers by default and by its reference kernels.

    python scripts/make_litert_vectors.py [--only floats|kernels|16x8]

NAME.bin holds the inputs of NAME.tflite in order, then the first output by the default and by the reference kernels: raw bytes.
Needs, in any virtual environment: pip install ai-edge-litert==2.3.0 numpy
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "compare"))
import litert_kernel_operators  # noqa: E402
import litert_operators  # noqa: E402
import litert_operators_16x8  # noqa: E402

LEFT_OUT = {"elu"}  # the reference kernels have none
ATTEMPTS = 60
FLOAT_VARIANTS = 4


def random_inputs(details, rng):
    for detail in details:
        if detail["dtype"] == np.float32:
            # Ties of the rounding among them.
            scale = 0.25
            yield (rng.integers(-600, 600, detail["shape"]) * scale / 2).astype(np.float32)
        elif detail["dtype"] == np.int16:
            yield rng.integers(-32768, 32768, detail["shape"]).astype(np.int16) >> rng.integers(0, 8, detail["shape"]).astype(np.int16)
        else:
            yield rng.integers(0, 256, detail["shape"]).astype(np.uint8).view(detail["dtype"])


def answer(path, resolver, inputs):
    made = Interpreter(model_path=str(path), experimental_op_resolver_type=resolver)
    made.allocate_tensors()
    for detail, value in zip(made.get_input_details(), inputs):
        made.set_tensor(detail["index"], value)
    made.invoke()
    return made.get_tensor(made.get_output_details()[0]["index"]).copy()


def attempt(path, seed):
    """The bytes of a vector, how many answers differ between the two kinds of kernels, and how many distinct answers there are."""
    made = Interpreter(model_path=str(path))
    inputs = list(random_inputs(made.get_input_details(), np.random.default_rng(seed)))
    default, reference = (answer(path, resolver, inputs) for resolver in (OpResolverType.AUTO, OpResolverType.BUILTIN_REF))
    data = b"".join(value.tobytes() for value in [*inputs, default, reference])
    return data, int(np.count_nonzero(default != reference)), len(np.unique(reference))


def write_best(folder, number, make, seeds, dtype, file_name):
    """Nothing where LiteRT takes none of the models."""
    best = None
    with tempfile.TemporaryDirectory() as work:
        for seed in range(ATTEMPTS):
            path = pathlib.Path(work) / f"{seed}.tflite"
            make(litert_operators.Draw(np.random.default_rng([7, number, *seeds, seed]), dtype, False)).save(path)
            try:
                data, differing, distinct = attempt(path, seed)
            except (RuntimeError, ValueError):
                continue
            # Vectors that tell the formulas apart, then those whose answers say much.
            rank = (min(differing, 3), distinct)
            if best is None or rank > best[0]:
                best = (rank, path.read_bytes(), data)
    if best is None:
        print(f"{file_name}: LiteRT does not take it")
        return
    (folder / f"{file_name}.tflite").write_bytes(best[1])
    (folder / f"{file_name}.bin").write_bytes(best[2])
    print(f"{file_name}: {len(best[1])} + {len(best[2])} bytes, {best[0][0]} or more answers differ, {best[0][1]} distinct")


# ---- vectors of formulas that LiteRT does not use, but for which others might be taken


def depthwise_of_bytes(rng):
    """Bytes through a depthwise convolution of one tap, and what one rounding in f32 would make of them."""
    model, x_scale, w_scale = litert_operators.Model(), np.float32(rng.uniform(0.005, 0.05)), np.float32(rng.uniform(0.002, 0.02))
    x_zero, w_zero, y_zero = (int(rng.integers(low, high)) for low, high in [(0, 256), (0, 256), (60, 190)])
    weight, bias = rng.integers(0, 256, 16), rng.integers(-500, 500, 16)
    y_scale, shape = np.float32(x_scale * w_scale * 100 * rng.uniform(0.5, 1.5)), [1, 8, 8, 16]
    x = model.input("x", "u8", shape, x_scale, x_zero)
    w = model.tensor("w", "u8", [1, 1, 1, 16], w_scale, w_zero, axis=3, data=weight)
    b = model.tensor("b", "s32", [16], x_scale * w_scale, 0, data=bias)
    options, kind = litert_operators.filled("DepthwiseConv2DOptions", padding=0, strideW=1, strideH=1, depthMultiplier=1, dilationWFactor=1, dilationHFactor=1)
    model.operator(litert_operators.CODE.DEPTHWISE_CONV_2D, [x, w, b], model.tensor("y", "u8", shape, y_scale, y_zero), options, kind, 3)
    values = rng.integers(0, 256, shape).astype(np.uint8)
    sums = (values.astype(np.int32) - x_zero) * (weight - w_zero) + bias
    factor = x_scale * w_scale / y_scale
    return model, values, np.clip(np.rint(sums.astype(np.float32) * factor) + y_zero, 0, 255).astype(np.uint8)


def resize_half_pixel(dtype):
    def make(rng):
        """25 rows as 91, and what positions of (i + 0.5) * scale - 0.5 would give by XNNPACK's weights."""
        model, info, rows, result = litert_operators.Model(), np.iinfo(litert_operators.TYPES[dtype][1]), 25, 91
        quant = {"scale": 0.05, "zero_point": int(rng.integers(info.min, info.max + 1))}
        inputs = [model.input("x", dtype, [1, rows, 1, 40], **quant), model.tensor("size", "s32", [2], data=[result, 1])]
        options, kind = litert_operators.filled("ResizeBilinearOptions", halfPixelCenters=True)
        model.operator(litert_operators.CODE.RESIZE_BILINEAR, inputs, model.tensor("y", dtype, [1, result, 1, 40], **quant), options, kind, 3)
        x = rng.integers(info.min, info.max + 1, [1, rows, 1, 40]).astype(info.dtype)
        scale = np.float32(rows) / np.float32(result)
        at = np.clip((np.arange(result, dtype=np.float32) + np.float32(0.5)) * scale - np.float32(0.5), np.float32(0), np.float32(rows - 1))
        first = np.floor(at).astype(int)
        weight = np.rint((at - first.astype(np.float32)) * np.float32(2048)).astype(int)[:, None]
        low, high = x[0, first, 0].astype(int), x[0, np.minimum(first + 1, rows - 1), 0].astype(int)
        return model, x, ((low * (2048 - weight) + high * weight + 1024) >> 11).astype(info.dtype).reshape(1, result, 1, 40)

    return make


def average_pool_scales(dtype):
    def make(rng):
        """A mean whose result has a scale of its own, and what this would make of it by a change of scales."""
        model, info = litert_operators.Model(), np.iinfo(litert_operators.TYPES[dtype][1])
        x_zero, y_zero = (int(rng.integers(info.min, info.max + 1)) for _ in "xy")
        x_scale, y_scale = np.float32(0.05), np.float32(rng.uniform(0.03, 0.07))
        options, kind = litert_operators.filled("Pool2DOptions", padding=1, strideW=1, strideH=1, filterWidth=3, filterHeight=2)
        y = model.tensor("y", dtype, [1, 4, 4, 16], y_scale, y_zero)
        model.operator(litert_operators.CODE.AVERAGE_POOL_2D, [model.input("x", dtype, [1, 5, 6, 16], x_scale, x_zero)], y, options, kind, 1)
        x = rng.integers(info.min, info.max + 1, [1, 5, 6, 16]).astype(info.dtype)
        means = sum(x[:, i : i + 4, j : j + 4].astype(np.float64) for i in range(2) for j in range(3)) / 6
        return model, x, np.clip(np.rint((means - x_zero) * (x_scale / y_scale)) + y_zero, info.min, info.max).astype(info.dtype)

    return make


def write_telling(folder, name, make):
    """Of ATTEMPTS vectors the one whose default answer differs most from that of the other formula."""
    best = None
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work) / "model.tflite"
        for seed in range(ATTEMPTS):
            model, x, other = make(np.random.default_rng([13, seed]))
            model.save(path)
            default, reference = (answer(path, resolver, [x]) for resolver in (OpResolverType.AUTO, OpResolverType.BUILTIN_REF))
            differing = int(np.count_nonzero(default != other))
            if best is None or differing > best[0]:
                best = (differing, path.read_bytes(), b"".join(value.tobytes() for value in (x, default, reference)))
    (folder / f"{name}.tflite").write_bytes(best[1])
    (folder / f"{name}.bin").write_bytes(best[2])
    print(f"{name}: {best[0]} answers of the other formula differ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["floats", "kernels", "16x8"], help="leave the other vectors as they are")
    only = parser.parse_args().only
    folder, floats = ROOT / "tests" / "import" / "litert", ROOT / "tests" / "import" / "litert_floats"
    folder.mkdir(exist_ok=True)
    floats.mkdir(exist_ok=True)
    number_of = litert_operators.number_of
    if only is None:
        for name, make in litert_operators.OPERATORS.items():
            for dtype in ("s8", "u8"):
                if name not in LEFT_OUT:
                    write_best(folder, number_of(name), make, [dtype == "s8"], dtype, f"{name}_{dtype}")
        write_telling(folder, "depthwise_of_bytes_u8", depthwise_of_bytes)
        for dtype in ("s8", "u8"):
            write_telling(folder, f"resize_half_pixel_{dtype}", resize_half_pixel(dtype))
            write_telling(folder, f"average_pool_scales_{dtype}", average_pool_scales(dtype))
    if only in (None, "16x8"):
        words = ROOT / "tests" / "import" / "litert_16x8"
        words.mkdir(exist_ok=True)
        for name in litert_operators_16x8.OPERATORS:
            if name not in litert_operators_16x8.OTHERWISE:
                write_best(words, litert_operators_16x8.number_of(name), litert_operators_16x8.OPERATORS[name], [], "s16", name)
    if only in (None, "kernels"):
        for name, (types, make) in litert_kernel_operators.KERNEL_OPERATORS.items():
            for dtype in types:
                number = litert_kernel_operators.kernel_number_of(name)
                write_best(folder, number, make, [dtype == "s8"], dtype, f"{name}_{dtype}")
    if only in (None, "floats"):
        for name, make in litert_operators.FLOAT_OPERATORS.items():
            for i in range(FLOAT_VARIANTS):
                write_best(floats, number_of(name), make, [i], "s8", f"{name}_{i}")


if __name__ == "__main__":
    main()
