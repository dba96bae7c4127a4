"""Where a module in training is rounded: as OctavoQuantizer does it, between operators whose arithmetic `_integers` has."""

from __future__ import annotations

import operator
from typing import Any, Sequence

import torch
from torch.fx import GraphModule, Node

from ._export import value_of
from ._integers import TABLES
from ._roles import CONCATS, MOVING, PRODUCTS, is_activation, joined_to, operator_of, reads_integers, role_of

_CLAMPS = {"relu", "relu_", "relu6", "hardtanh", "hardtanh_"}
# What moves elements without arguments that would have a meaning on integers alone: a pad of zeros is one of zero points.
_MOVES = MOVING - {"adaptive_max_pool2d", "repeat"}


def attribute_of(module: torch.nn.Module, node: Node) -> Any:
    """The tensor of a get_attr node."""
    value: Any = module
    for name in str(node.target).split("."):
        value = getattr(value, name)
    return value


def _arguments(node: Node) -> Sequence[Any]:
    return node.args


def _is_simulated(node: Node) -> bool:
    name, role, arguments = operator_of(node), role_of(node), _arguments(node)
    activations = [each for each in arguments if is_activation(each)]
    if role == "product":
        is_stored = (
            name in PRODUCTS and len(arguments) > 1 and isinstance(arguments[1], Node) and arguments[1].op == "get_attr"
        )
        return is_stored and "matmul" not in name and name not in ("bmm", "mm", "convolution")
    if name in ("add", "add_", "mul", "mul_"):
        return len(activations) == 2 and not node.kwargs
    if name == "adaptive_avg_pool2d":
        return all(int(size) == 1 for size in arguments[1])
    if name in ("pad", "constant_pad_nd"):
        return all(each in (None, 0, 0.0, "constant") for each in [*arguments[2:], *node.kwargs.values()])
    if name == "max_pool2d":
        return True
    is_table = name.removesuffix("_") in TABLES and len(arguments) == 1 and not node.kwargs
    return name in _CLAMPS or name == "mean" or name in _MOVES or name in CONCATS or is_table


class Placement:
    """Which nodes are in integers, which of them are one kernel with their reader, and which values are rounded."""

    def __init__(self, module: GraphModule) -> None:
        nodes = list(module.graph.nodes)
        self.region = {node for node in nodes if role_of(node) is not None and _is_simulated(node)}
        self.joined = {node: into for node in nodes if node in self.region and (into := self._joined(node)) is not None}
        readers: dict[Node, list[Node]] = {}
        for node in nodes:
            for each in reads_integers(node) if node in self.region else ():
                if self.joined.get(each) is not node:
                    readers.setdefault(each, []).append(node)
        self.moved = {node for node in self.region if role_of(node) == "moving" and operator_of(node) not in CONCATS}
        self.rounded = [node for node in nodes if node in readers and node not in self.moved]
        self.read = set(readers)
        computed = [node for node in nodes if is_activation(node) and node.target is not operator.getitem]
        self.floats = [node for node in computed if node.op == "call_function" and not self._is_exact(node)]

    def _is_exact(self, node: Node) -> bool:
        """Whether it is in integers to its end, or a product's sum, clamped or not, as f32."""
        if node not in self.region:
            return False
        before = node.all_input_nodes[0]
        is_of_product = role_of(node) == "clamp" and self.joined.get(before) is node and role_of(before) == "product"
        return node in self.read or node in self.joined or role_of(node) in ("product", "moving") or is_of_product

    def _joined(self, node: Node) -> Node | None:
        into = joined_to(node, self.region)
        is_gate = into is not None and role_of(node) == "gate"
        return into if into is not None and (not is_gate or operator_of(node).startswith("sigmoid")) else None

    def owner(self, node: Node) -> Node:
        """Whose scale the value has: its own, or that of the concatenation that is its only reader."""
        readers = list(node.users)
        is_shared = readers and all(operator_of(each) in CONCATS and each in self.region for each in readers)
        return self.owner(readers[0]) if is_shared and readers[0] in self.read and node.op == "call_function" else node


def write_nothing(module: GraphModule) -> None:
    """Operators that write into their first argument become those that do not; what reads it later reads the result."""
    places = {node: place for place, node in enumerate(module.graph.nodes)}
    for node, place in places.items():
        name = operator_of(node)
        functional = getattr(torch.ops.aten, name.removesuffix("_"), None) if name.endswith("_") else None
        if functional is None:
            continue
        node.target = getattr(functional, node.target._overloadname)  # type: ignore[union-attr]
        written = _arguments(node)[0]
        written.replace_all_uses_with(node, delete_user_cb=lambda user, place=place: places[user] > place)  # type: ignore[misc]
    module.recompile()


def fold_batch_norms(module: GraphModule) -> None:
    """Batch normalisations of a convolution's or product's only result become part of its weights, which training goes on with."""
    for node in list(module.graph.nodes):
        if operator_of(node) != "batch_norm":
            continue
        before, *stored = _arguments(node)[:5]
        is_ours = isinstance(before, Node) and role_of(before) == "product" and len(before.users) == 1
        if not is_ours or any(each is not None and each.op != "get_attr" for each in stored):
            continue
        _fold(module, node, before, [None if each is None else attribute_of(module, each) for each in stored])
    module.graph.eliminate_dead_code()
    module.recompile()


def _fold(module: GraphModule, node: Node, before: Node, stored: list[Any]) -> None:
    arguments = list(_arguments(before))
    weight = attribute_of(module, arguments[1]).detach()
    bias = attribute_of(module, arguments[2]).detach() if len(arguments) > 2 and arguments[2] is not None else None
    scale, shift, mean, variance = stored
    fused = (
        torch.nn.utils.fusion.fuse_conv_bn_weights
        if "conv" in operator_of(before)
        else torch.nn.utils.fusion.fuse_linear_bn_weights
    )
    options = {"transpose": True} if "transpose" in operator_of(before) else {}
    folded = fused(weight, bias, mean, variance, _arguments(node)[7], scale, shift, **options)
    names = [f"{before.name}_weight", f"{before.name}_bias"]
    for name, value in zip(names, folded):
        module.register_parameter(name, torch.nn.Parameter(value.detach().clone()))
    with module.graph.inserting_before(before):
        attributes = [module.graph.get_attr(name) for name in names]
    for attribute, value in zip(attributes, folded):
        attribute.meta["val"] = value.detach()
    before.args = (arguments[0], *attributes, *arguments[3:])
    before.meta["val"] = value_of(node)
    node.replace_all_uses_with(before)
    module.graph.erase_node(node)
