"""Takes a quantized model apart at every 8-bit tensor: each quantized operator becomes independent and can be fed with any runtime's tensors."""

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

import exact

EIGHT_BIT = {TensorProto.UINT8, TensorProto.INT8}


def tensor_types(model):
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=False)
    types = {}
    for info in list(inferred.graph.value_info) + list(inferred.graph.output) + list(inferred.graph.input):
        types[info.name] = info.type.tensor_type.elem_type
    return types


def eight_bit_tensors(model):
    """Names of the 8-bit tensors that nodes make, in order, with the type of the operator that made each.

    A QuantizeLinear stands for the operator before it. Contrib operators have no shape inference: the type of their
    zero point decides."""
    types = tensor_types(model)
    constants = {i.name: i.data_type for i in model.graph.initializer}
    makers = {o: n for n in model.graph.node for o in n.output}
    found = {}
    for node in model.graph.node:
        for output in node.output:
            kind = types.get(output, 0)
            if kind == 0 and node.op_type.startswith(("QLinear", "QGemm")):
                last = next((i for i in reversed(node.input) if constants.get(i) in EIGHT_BIT), None)
                kind = TensorProto.UINT8 if last is None else constants[last]
            if kind == 0 and node.input and node.input[0] in found:
                kind = found[node.input[0]][1]
            if kind in EIGHT_BIT and not (node.op_type == "QuantizeLinear" and node.input[0] in constants):
                found[output] = (operator_of(node, makers), kind)
    return found


def operator_of(node, makers):
    if node.op_type != "QuantizeLinear":
        return node.op_type
    before = makers.get(node.input[0])
    return "Quantize(input)" if before is None else f"{before.op_type}+Q"


def cut(model, known_shapes):
    """The model with every 8-bit tensor t as an output, and its readers reading a new input t__in."""
    tensors = eight_bit_tensors(model)
    piece = onnx.ModelProto()
    piece.CopyFrom(model)
    for node in piece.graph.node:
        for i, name in enumerate(node.input):
            if name in tensors:
                node.input[i] = name + "__in"
    outputs = {o.name for o in piece.graph.output}
    read = {i for n in piece.graph.node for i in n.input}
    for name, (_, kind) in tensors.items():
        if name + "__in" in read:
            piece.graph.input.append(helper.make_tensor_value_info(name + "__in", kind, known_shapes[name]))
        if name not in outputs:
            piece.graph.output.append(helper.make_tensor_value_info(name, kind, known_shapes[name]))
    return piece, tensors


def with_outputs(model, names_and_kinds):
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    present = {o.name for o in exposed.graph.output}
    for name, (_, kind) in names_and_kinds.items():
        if name not in present:
            exposed.graph.output.append(helper.make_tensor_value_info(name, kind, None))
    return exposed


def session(model, optimized=True, threads=1):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model, feeds, optimized=True):
    runner = session(model, optimized)
    names = [o.name for o in runner.get_outputs()]
    return dict(zip(names, runner.run(names, feeds)))


def differences(model, feeds, values, octavo_run):
    """Per operator type, each operator fed with ONNX Runtime's tensors `values`: tensors, elements, differing elements, the largest
    difference, and how far at most an exact answer is from the rounding tie between two differing ones."""
    piece, tensors = cut(model, {name: list(values[name].shape) for name in eight_bit_tensors(model)})
    cut_feeds = dict(feeds)
    inputs = {i.name for i in piece.graph.input}
    cut_feeds.update({name + "__in": values[name] for name in tensors if name + "__in" in inputs})
    expected = run(piece, cut_feeds)
    found = octavo_run(piece, cut_feeds)
    counts = {}
    for name, (operator, _) in tensors.items():
        a, b = expected[name].astype(np.int32), found[name].astype(np.int32)
        count = counts.setdefault(operator, {"tensors": 0, "elements": 0, "differing": 0})
        count["tensors"] += 1
        count["elements"] += a.size
        differing = int((a != b).sum())
        if differing:
            count["differing"] += differing
            count["largest"] = max(count.get("largest", 0), int(np.abs(a - b).max()))
            count.setdefault("ties", []).append(exact.tie_distance(name, a, b, piece, cut_feeds))
    return counts
