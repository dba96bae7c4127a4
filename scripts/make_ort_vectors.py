#!/usr/bin/env python3
"""Prints tests/ops/ort_vectors.h: small inputs and what ONNX Runtime's quantized operators made of them.

    python3 scripts/make_ort_vectors.py > tests/ops/ort_vectors.h
"""
import platform

from measure_ort_formulas import TYPES, TensorProto, f32, helper, np, ort, random_tensor, run_model, run_op


def array(name, values):
    values = np.asarray(values)
    kind = {np.dtype(np.uint8): "std::uint8_t", np.dtype(np.int8): "std::int8_t", np.dtype(np.int32): "std::int32_t", np.dtype(np.float32): "float"}[values.dtype]
    texts = [float(v).hex() + "f" if values.dtype == f32 else str(int(v)) for v in values.reshape(-1)]
    lines, line = [], "   "
    for text in texts:
        if len(line) + len(text) > 145:
            lines.append(line)
            line = "   "
        line += " " + text + ","
    print(f"inline const std::vector<{kind}> {name} = {{  // {'x'.join(map(str, values.shape))}")
    print("\n".join(lines + [line]) + "};")


def head(x, xs, xz):
    return [("x", x, True), ("xs", f32(xs), False), ("xz", np.asarray(xz, x.dtype), False)]


def tail(ys, yz, dtype):
    return [("ys", f32(ys), False), ("yz", np.asarray(yz, dtype), False)]


def pools():
    x = random_tensor((1, 5, 5, 3), np.uint8)
    array("kPoolX", x)
    array("kAverageY", run_op("QLinearAveragePool", head(x, 0.05, 100) + tail(0.05, 7, np.uint8), TensorProto.UINT8, channels_last=1, kernel_shape=[3, 3],
                              strides=[2, 2], pads=[1, 1, 1, 1]))
    array("kAveragePaddedY", run_op("QLinearAveragePool", head(x, 0.05, 100) + tail(0.02, 60, np.uint8), TensorProto.UINT8, channels_last=1, kernel_shape=[2, 2],
                                    strides=[2, 2], pads=[0, 0, 0, 0], ceil_mode=1, count_include_pad=1))
    array("kGlobalY", run_op("QLinearGlobalAveragePool", head(x, 0.05, 100) + tail(0.0125, 100, np.uint8), TensorProto.UINT8, channels_last=1))


def softmax():
    x = random_tensor((4, 17), np.int8)
    array("kSoftmaxX", x)
    array("kSoftmaxY", run_op("QLinearSoftmax", head(x, 0.0213, 3) + tail(1 / 256, -128, np.int8), TensorProto.INT8, axis=-1, opset=13))


def matmul():
    a, b = random_tensor((3, 20), np.uint8), random_tensor((20, 4), np.int8)
    array("kMatmulA", a)
    array("kMatmulB", b)
    y = run_op("QLinearMatMul", [("a", a, True), ("as", f32(0.013), False), ("az", np.uint8(120), False), ("b", b, True), ("bs", f32(0.021), False), ("bz", np.int8(-9), False),
                                 *tail(0.05, 131, np.uint8)], TensorProto.UINT8, domain="")
    array("kMatmulY", y)


def resize():
    x = random_tensor((1, 1, 3, 4), np.uint8)
    array("kResizeX", x)
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear", coordinate_transformation_mode="half_pixel")
    array("kResizeY", run_model([node], {"x": x}, {"sizes": np.asarray([1, 1, 5, 7])}, {"y": TYPES[x.dtype]})[0])


if __name__ == "__main__":
    print("// What ONNX Runtime's quantized operators make of small inputs. Made by scripts/make_ort_vectors.py, onnxruntime " + ort.__version__ + ", " +
          platform.machine() + ", 2026-11.")
    print("#ifndef OCTAVO_TESTS_OPS_ORT_VECTORS_H_\n#define OCTAVO_TESTS_OPS_ORT_VECTORS_H_\n\n#include <cstdint>\n#include <vector>\n\nnamespace octavo::ort_vectors {\n")
    for part in (pools, softmax, matmul, resize):
        part()
    print("\n}  // namespace octavo::ort_vectors\n\n#endif  // OCTAVO_TESTS_OPS_ORT_VECTORS_H_")
