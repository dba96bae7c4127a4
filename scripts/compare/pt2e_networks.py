"""Torchvision's networks quantized with pt2e, and taken apart so that every quantized operator is fed with PyTorch's own tensors."""

import copy

import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

DYNAMIC = ({0: torch.export.Dim("batch")},)
QUANTIZE = torch.ops.quantized_decomposed.quantize_per_tensor.default
CLAMPS = ("relu", "relu_", "relu6", "hardtanh", "hardtanh_")
MOVES = ("view", "reshape", "flatten", "dropout", "dropout_", "permute", "max_pool2d")


def quantize(model, images):
    """XNNPACK's quantizer, per channel, calibrated on these images; exported with a dynamic batch."""
    x = torch.from_numpy(images)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(model, (x,), dynamic_shapes=DYNAMIC).module(), quantizer)
    with torch.no_grad():
        prepared(x)
    return torch.export.export(convert_pt2e(prepared), (x,), dynamic_shapes=DYNAMIC)


class Recorder(torch.fx.Interpreter):
    """Keeps the 8-bit activations."""

    def __init__(self, module):
        super().__init__(module)
        self.values = {}

    def run_node(self, node):
        value = super().run_node(node)
        if node.target == QUANTIZE:
            self.values[node.name] = value
        return value


def operator_of(node):
    """What a quantize node ends: the operator before it, clamps passed over."""
    before = node.args[0]
    while before.op == "call_function" and name_of(before) in CLAMPS:
        before = before.args[0]
    return "input" if before.op == "placeholder" else name_of(before)


def name_of(node):
    return node.target.overloadpacket.__name__ if hasattr(node.target, "overloadpacket") else str(node.target)


def cut(program, x):
    """A program in which every 8-bit activation is a result, and whoever read it reads an input instead. Its arguments and results, both
    by name of the activation, and the operator that each ends."""
    module = program.module()
    recorder = Recorder(module)
    with torch.no_grad():
        recorder.run(x)
    piece = copy.deepcopy(module)
    quantizes = [n for n in piece.graph.nodes if n.target == QUANTIZE]
    last = [n for n in piece.graph.nodes if n.op == "placeholder"][-1]
    operators = {n.name: operator_of(n) for n in quantizes}
    read = []
    for node in quantizes:
        if not node.users:
            continue
        with piece.graph.inserting_after(last):
            last = piece.graph.placeholder(f"in_{node.name}")
        node.replace_all_uses_with(last)
        read.append(node.name)
    result = next(n for n in piece.graph.nodes if n.op == "output")
    result.args = (tuple(quantizes),)
    for node in [n for n in piece.graph.nodes if n.op == "call_module" and "guard" in str(n.target)]:
        piece.graph.erase_node(node)
    piece.graph.set_codegen(torch.fx.graph.CodeGen())
    piece.recompile()
    arguments = (x, *(recorder.values[name] for name in read))
    exported = torch.export.export(piece, arguments)
    with torch.no_grad():
        answers = exported.module()(*arguments)
    return exported, arguments, dict(zip([n.name for n in quantizes], answers)), operators
