"""Makes tests/import/ort_optimised: small .onnx files as ONNX Runtime saves them after optimising (optimized_model_filepath), with its answers; some of
them in its own format (.ort), too.

    python scripts/make_ort_optimised.py

NAME.bin holds the inputs of NAME.onnx in order, then the outputs: raw bytes. On a machine with AVX-512, where blocks have 16 channels.
Needs, in any virtual environment: pip install onnxruntime==1.32.* onnx numpy
"""

import pathlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "import" / "ort_optimised"
LEVELS = ort.GraphOptimizationLevel
node = helper.make_node
rng = np.random.default_rng(48)


def floats(*shape):
    return rng.normal(0, 0.3, shape).astype(np.float32)


def session(model, level, path="", kind="ONNX"):
    options = ort.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = level, 3
    if path:
        options.optimized_model_filepath = str(path)
        options.add_session_config_entry("session.save_model_format", kind)
    return ort.InferenceSession(model, options)


def write(name, nodes, inputs, outputs, constants, level, in_own_format=False):
    described = [helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for key, value in inputs.items()]
    made = [helper.make_tensor_value_info(key, kind, None) for key, kind in outputs.items()]
    graph = helper.make_graph(nodes, name, described, made, [numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)
    path = FOLDER / f"{name}.onnx"
    session(model.SerializeToString(), level, path)
    if in_own_format:
        session(model.SerializeToString(), level, path.with_suffix(".ort"), "ORT")
    answers = session(str(path), LEVELS.ORT_DISABLE_ALL).run(None, inputs)
    (FOLDER / f"{name}.bin").write_bytes(b"".join(np.ascontiguousarray(value).tobytes() for value in [*inputs.values(), *answers]))
    print(name, [f"{n.domain}.{n.op_type}" for n in onnx.load(path).graph.node])


def blocks():
    """An image of 12 channels, which tells blocks of 16 from those of 8."""
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["ar"]),
        node("MaxPool", ["ar"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p", "w2", "b2"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=20),
        node("HardSigmoid", ["c"], ["ch"], alpha=0.25, beta=0.4),
        node("Conv", ["ch", "w3"], ["d"], kernel_shape=[1, 1]),
        node("Add", ["d", "p"], ["e"]),
        node("Conv", ["e", "w4"], ["f"], kernel_shape=[3, 3]),
        node("AveragePool", ["f"], ["q"], kernel_shape=[2, 2]),
        node("Resize", ["f", "", "scales"], ["u"], mode="linear", coordinate_transformation_mode="half_pixel"),
        node("GlobalAveragePool", ["q"], ["g"]),
        node("GlobalMaxPool", ["f"], ["m"]),
        node("Conv", ["f", "w5"], ["h"], kernel_shape=[1, 1]),
        node("Resize", ["h", "", "scales"], ["v"], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    ]
    constants = {"w1": floats(20, 12, 3, 3), "b1": floats(20), "w2": floats(20, 1, 3, 3), "b2": floats(20), "w3": floats(20, 20, 1, 1), "w4": floats(32, 20, 3, 3),
                 "w5": floats(10, 32, 1, 1), "scales": np.array([1, 1, 2, 2], np.float32)}
    write("blocks", nodes, {"x": floats(1, 12, 8, 8)}, dict.fromkeys("ugmv", TensorProto.FLOAT), constants, LEVELS.ORT_ENABLE_ALL)


def products():
    for name in ("LeakyRelu", "Relu", "Tanh", "HardSigmoid"):
        fields = {"LeakyRelu": {"alpha": 0.2}, "HardSigmoid": {"alpha": 0.3, "beta": 0.6}}.get(name, {})
        nodes = [node("Gemm", ["x", "w", "b"], ["a"], transB=1, alpha=0.5, beta=2.0), node(name, ["a"], ["y"], **fields)]
        write(f"gemm_{name.lower()}", nodes, {"x": floats(3, 8)}, {"y": TensorProto.FLOAT}, {"w": floats(5, 8), "b": floats(5)}, LEVELS.ORT_ENABLE_EXTENDED)


def convolution():
    nodes = [node("Conv", ["x", "w", "b"], ["a"], kernel_shape=[3, 3]), node("Clip", ["a", "low", "high"], ["y"])]
    constants = {"w": floats(3, 2, 3, 3), "b": floats(3), "low": np.float32(-0.2), "high": np.float32(0.5)}
    write("conv_clip", nodes, {"x": floats(1, 2, 6, 6)}, {"y": TensorProto.FLOAT}, constants, LEVELS.ORT_ENABLE_EXTENDED)


def quantized():
    scales = {"x": 0.02, "y": 0.03, "g": 0.01, "k": 0.05, "v": 0.04}
    zeros = {"x": 120, "y": 100, "g": 3, "k": 7, "v": 90}
    constants = {"w": rng.integers(-100, 100, (8, 4, 3, 3)).astype(np.int8), "ws": (rng.uniform(0.005, 0.02, 8)).astype(np.float32), "wz": np.zeros(8, np.int8)}
    constants |= {f"{key}s": np.float32(value) for key, value in scales.items()} | {f"{key}z": np.uint8(value) for key, value in zeros.items()}

    def quantize(x, y, kind):
        return node("QuantizeLinear", [x, f"{kind}s", f"{kind}z"], [y])

    def dequantize(x, y, kind, **fields):
        return node("DequantizeLinear", [x, f"{kind}s", f"{kind}z"], [y], **fields)

    nodes = [dequantize("x", "xf", "x"), dequantize("w", "wf", "w", axis=0), node("Conv", ["xf", "wf"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
             quantize("c", "cq", "y"), dequantize("cq", "cf", "y"), node("MaxPool", ["cf"], ["m"], kernel_shape=[2, 2]), quantize("m", "mq", "y"),
             dequantize("mq", "mf", "y"), node("GlobalAveragePool", ["mf"], ["a"]), quantize("a", "aq", "g"), dequantize("k", "kf", "k"),
             dequantize("mq", "mf2", "y"), node("Where", ["condition", "mf2", "kf"], ["chosen"]), quantize("chosen", "chosenq", "v")]
    inputs = {"x": rng.integers(0, 256, (1, 4, 8, 8)).astype(np.uint8), "condition": rng.integers(0, 2, (1, 1, 7, 7)).astype(bool),
              "k": rng.integers(0, 256, (1, 8, 7, 7)).astype(np.uint8)}
    write("quantized", nodes, inputs, {"aq": TensorProto.UINT8, "chosenq": TensorProto.UINT8}, constants, LEVELS.ORT_ENABLE_ALL, in_own_format=True)


def branches():
    """Graphs in graphs, which read values and constants of those around them."""
    def graph(name, nodes, result, inputs=()):
        return helper.make_graph(nodes, name, list(inputs), [helper.make_tensor_value_info(key, kind, None) for key, kind in result])

    floating, truth, whole = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
    step = [helper.make_tensor_value_info("i", whole, []), helper.make_tensor_value_info("go", truth, []), helper.make_tensor_value_info("sum", floating, [2, 3])]
    body = graph("body", [node("Identity", ["go"], ["goes"]), node("Add", ["sum", "x"], ["more"]), node("Mul", ["more", "half"], ["next"])],
                 [("goes", truth), ("next", floating)], step)
    then = graph("then", [node("Loop", ["count", "", "x"], ["looped"], body=body)], [("looped", floating)])
    other = graph("other", [node("Sub", ["half", "x"], ["left"])], [("left", floating)])
    nodes = [node("ReduceSum", ["x"], ["all"], keepdims=0), node("Greater", ["all", "half"], ["is_large"]), node("If", ["is_large"], ["y"], then_branch=then, else_branch=other)]
    write("branches", nodes, {"x": floats(2, 3) + np.float32(1)}, {"y": floating}, {"half": np.float32(0.5), "count": np.int64(3)}, LEVELS.ORT_ENABLE_ALL, in_own_format=True)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for part in (blocks, products, convolution, quantized, branches):
        part()
