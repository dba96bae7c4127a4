"""How far an operator's exact answer, computed in f64 from its 8-bit inputs, lies from a rounding tie."""

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun


class Conv(OpRun):
    """The reference evaluator's own convolution takes minutes. This one computes the wanted elements where the output has the wanted shape."""

    shape, wanted = (), ()

    def _run(self, x, w, b=None, auto_pad=None, dilations=None, group=None, kernel_shape=None, pads=None, strides=None):
        pads, strides, dilations, group = pads or [0] * 4, strides or [1, 1], dilations or [1, 1], group or 1
        x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
        reach = [d * (k - 1) + 1 for d, k in zip(dilations, w.shape[2:])]
        shape = (x.shape[0], w.shape[0], *((size - r) // s + 1 for size, r, s in zip(x.shape[2:], reach, strides)))
        if shape != self.shape:
            x, w = torch.from_numpy(x), torch.from_numpy(np.array(w))
            return (torch.nn.functional.conv2d(x, w, torch.from_numpy(np.array(b)), strides, 0, dilations, group).numpy(),)
        y = np.zeros(shape)
        for n, c, row, column in self.wanted:
            top, left, first = row * strides[0], column * strides[1], c // (w.shape[0] // group) * w.shape[1]
            taps = x[n, first : first + w.shape[1], top : top + reach[0] : dilations[0], left : left + reach[1] : dilations[1]]
            y[n, c, row, column] = (taps * w[c]).sum() + (0 if b is None else b[c])
        return (y,)


def dequantized(node, values):
    """f64 of a DequantizeLinear of known values: integers times the f32 scale, without rounding."""
    x, scale = (values[name].astype(np.float64) for name in node.input[:2])
    zero = values[node.input[2]].astype(np.float64) if len(node.input) > 2 and node.input[2] else np.zeros_like(scale)
    axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
    if scale.ndim == 1 and scale.size > 1:
        shape = [1] * x.ndim
        shape[axis] = scale.size
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    return (x - zero) * scale


def float_nodes_before(name, makers):
    """The nodes between 8-bit tensors and `name`, in order, and the DequantizeLinear nodes that feed them."""
    nodes, sources, done = [], [], set()

    def visit(tensor):
        node = makers.get(tensor)
        if node is None or id(node) in done:
            return
        done.add(id(node))
        if node.op_type == "DequantizeLinear":
            sources.append(node)
            return
        for each in node.input:
            visit(each)
        nodes.append(node)

    visit(name)
    return nodes, sources


def evaluate(name, model, known):
    """The float tensor `name` of the model in f64, from the values of its 8-bit inputs."""
    makers = {o: n for n in model.graph.node for o in n.output}
    nodes, sources = float_nodes_before(name, makers)
    feeds = {node.output[0]: dequantized(node, known) for node in sources}
    made = {o for n in nodes for o in n.output}
    for tensor in {i for n in nodes for i in n.input if i} - made - set(feeds):
        value = known[tensor]
        feeds[tensor] = value.astype(np.float64) if value.dtype == np.float32 else value
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.asarray(v).dtype), None) for n, v in feeds.items()]
    graph = helper.make_graph(nodes, "exact", inputs, [helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, None)])
    exact = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    return ReferenceEvaluator(exact, new_ops=[Conv]).run(None, feeds)[0]


def tie_distance(tensor, a, b, model, feeds):
    """Largest distance, in steps of the output, between the exact answer and the tie between two different answers a and b.

    None where a QuantizeLinear does not make the tensor."""
    quantize = next(n for n in model.graph.node if tensor in n.output)
    if quantize.op_type != "QuantizeLinear":
        return None
    Conv.shape, Conv.wanted = a.shape, np.argwhere(a != b)
    known = dict(feeds)
    known.update({i.name: numpy_helper.to_array(i) for i in model.graph.initializer})
    value = evaluate(quantize.input[0], model, known) / known[quantize.input[1]].astype(np.float64)
    zero = known[quantize.input[2]].astype(np.float64)
    differing = a != b
    tie = (a[differing].astype(np.float64) + b[differing]) / 2 - zero
    return float(np.abs(value[differing] - tie).max())
