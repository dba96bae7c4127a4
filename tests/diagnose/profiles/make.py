"""Writes pairs.onnx, three convolutions between pairs, and ONNX Runtime's profile of two runs of it.

OpenVINO's counters are of: benchmark_app -m pairs.onnx -niter 4 -nireq 1 -hint none -nstreams 1 -report_type detailed_counters
TVM's report is TvmRun(pairs.onnx, (1, 8, 8, 8)).report(...) of scripts/stories/tvm_resnet18.py.
"""
import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

CHANNELS = SIDE = 8
random = numpy.random.default_rng(0)
nodes, constants = [], []


def constant(values):
    constants.append(numpy_helper.from_array(numpy.asarray(values), f"c{len(constants)}"))
    return constants[-1].name


def node(op, inputs, **attributes):
    number = len(nodes) + 1
    nodes.append(helper.make_node(op, inputs, [f"{op}_{number}"], name=f"n{number}_{op}", **attributes))
    return nodes[-1].output[0]


def pair(x):
    scale, zero_point = constant(numpy.float32(0.02)), constant(numpy.uint8(128))
    return node("DequantizeLinear", [node("QuantizeLinear", [x, scale, zero_point]), scale, zero_point])


x = pair("x")
for _ in range(3):
    weights = random.integers(-127, 128, (CHANNELS, CHANNELS, 3, 3), dtype=numpy.int8)
    scales = constant(numpy.full(CHANNELS, 0.001, numpy.float32))
    dequantized = node("DequantizeLinear", [constant(weights), scales, constant(numpy.zeros(CHANNELS, numpy.int8))], axis=0)
    x = pair(node("Conv", [x, dequantized, constant(numpy.ones(CHANNELS, numpy.float32))], pads=[1] * 4))
shape = [1, CHANNELS, SIDE, SIDE]
graph = helper.make_graph(nodes, "pairs", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                          [helper.make_tensor_value_info(x, TensorProto.FLOAT, None)], constants)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "pairs.onnx")

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.enable_profiling = True
session = onnxruntime.InferenceSession("pairs.onnx", options, providers=["CPUExecutionProvider"])
for _ in range(2):
    session.run(None, {"x": random.random(shape, dtype=numpy.float32)})
print(session.end_profiling())
