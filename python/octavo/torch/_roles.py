"""What Octavo does with operators of ATen on 8-bit values."""

from __future__ import annotations

from typing import Any, Sequence

import torch
from torch.fx import Node

from ._export import value_of

PRODUCTS = {
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "convolution",
    "linear",
    "matmul",
    "bmm",
    "mm",
}
NORMS = {"batch_norm", "_native_batch_norm_legit_no_training", "cudnn_batch_norm"}
CLAMPS = {"relu", "relu_", "relu6", "hardtanh", "hardtanh_", "clamp", "clamp_", "clamp_min", "clamp_min_"}
SUMS = {"add", "add_", "sub", "sub_"}
GATES = {"sigmoid", "sigmoid_", "hardsigmoid", "hardsigmoid_", "tanh", "tanh_"}
FUNCTIONS = {
    *(
        "silu",
        "silu_",
        "hardswish",
        "hardswish_",
        "gelu",
        "elu",
        "elu_",
        "leaky_relu",
        "leaky_relu_",
        "mish",
        "mish_",
        "softplus",
    ),
    *("mul", "mul_", "mean", "avg_pool2d", "adaptive_avg_pool2d", "layer_norm", "scaled_dot_product_attention"),
}
CONCATS = {"cat", "concat"}
MOVING = {
    *(
        "max_pool1d",
        "max_pool2d",
        "adaptive_max_pool2d",
        "view",
        "view_as",
        "reshape",
        "flatten",
        "unflatten",
        "permute",
        "transpose",
        "t",
    ),
    *(
        "squeeze",
        "unsqueeze",
        "expand",
        "repeat",
        "slice",
        "select",
        "narrow",
        "contiguous",
        "clone",
        "detach",
        "dropout",
        "dropout_",
    ),
    *(
        "alias",
        "pad",
        "constant_pad_nd",
        "pixel_shuffle",
        "pixel_unshuffle",
        "channel_shuffle",
        "upsample_nearest2d",
        "flip",
        "roll",
        "lift_fresh_copy",
    ),
}


def operator_of(node: Node) -> str:
    """`conv2d` of a node that calls aten.conv2d.default; nothing of others."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return ""
    return str(node.target._schema.name).removeprefix("aten::") if node.target.namespace == "aten" else ""


def is_activation(node: Any) -> bool:
    """Whether it is a tensor of floats that depends on the inputs."""
    if not isinstance(node, Node) or node.op not in ("placeholder", "call_function"):
        return False
    value = value_of(node)
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def role_of(node: Node) -> str | None:
    """What it is among integers: a product, a clamp, ..., or nothing, where it has no integer form."""
    name = operator_of(node)
    if not is_activation(node) or not any(is_activation(each) for each in node.all_input_nodes):
        return None
    if name == "mean" and not _is_over_image(node):
        return None
    roles = {
        "product": PRODUCTS,
        "norm": NORMS,
        "clamp": CLAMPS,
        "sum": SUMS,
        "gate": GATES,
        "function": FUNCTIONS,
        "moving": MOVING | CONCATS,
    }
    return next((role for role, names in roles.items() if name in names), None)


def _is_over_image(node: Node) -> bool:
    """Whether a mean is one of the last two axes of four: others have no integer form."""
    arguments: Sequence[Any] = node.args
    axes = arguments[1] if len(arguments) > 1 else None
    rank = value_of(arguments[0]).dim()
    return rank == 4 and isinstance(axes, (list, tuple)) and {int(axis) % rank for axis in axes} == {2, 3}


def reads_integers(node: Node) -> list[Node]:
    """The inputs that it takes as integers: not the mask of attention, or the scale and bias of a normalisation."""
    arguments: Sequence[Any] = node.args
    if operator_of(node) in CONCATS:
        return [each for each in arguments[0] if is_activation(each)]
    most = {"scaled_dot_product_attention": 3, "layer_norm": 1}.get(operator_of(node), 2)
    is_taken = _is_operand if operator_of(node) in SUMS else is_activation
    return list(dict.fromkeys(each for each in arguments[:most] if is_taken(each)))


def _is_operand(node: Any) -> bool:
    """Of a sum also what is added everywhere differently: a table of positions."""
    is_stored = isinstance(node, Node) and node.op == "get_attr" and isinstance(value_of(node), torch.Tensor)
    return is_activation(node) or (is_stored and value_of(node).dtype == torch.float32 and value_of(node).numel() > 1)


def _only_reader(node: Node) -> Node | None:
    return next(iter(node.users)) if len(node.users) == 1 else None


def joined_to(node: Node, region: set[Node]) -> Node | None:
    """The node that is one kernel with this one, so that nothing is rounded between them: a batch normalisation behind a product, an
    addition behind either, a clamp behind anything, and `x *` behind `sigmoid(x)`."""
    reader = _only_reader(node)
    if reader is None or reader not in region:
        return None
    role, next_role = role_of(node), role_of(reader)
    is_sum = role in ("product", "norm")
    if next_role == "norm":
        return reader if role == "product" else None
    if next_role == "clamp":
        return reader if role != "moving" else None
    if next_role == "sum":
        others = [each for each in reads_integers(reader) if each is not node]
        is_first = all(
            role_of(each) not in ("product", "norm") or _only_reader(each) is not reader or _is_before(node, each)
            for each in others
        )
        return reader if is_sum and others and is_first else None
    if role == "gate" and operator_of(reader).startswith("mul"):
        return reader if node.args[0] in reads_integers(reader) else None
    return None


def _is_before(node: Node, other: Node) -> bool:
    for each in node.graph.nodes:
        if each is node or each is other:
            return each is node
    return False
