"""A module in training as the program that convert_pt2e would give of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401 (quantized_decomposed)
from torch.fx import Graph, GraphModule, Node

from ._integers import Grid
from ._placement import attribute_of
from ._roles import role_of

if TYPE_CHECKING:
    from ._qat import QatModule


class _Writer:
    """A graph with quantize and dequantize nodes, made of the module's node by node. Fewer than 8 bits are bounds of a quantize node, or,
    for formats whose quantize has none, a clamp before it."""

    def __init__(self, qat: QatModule, *, has_bounds: bool) -> None:
        self._qat = qat
        self._has_bounds = has_bounds
        self._root = torch.nn.Module()
        self._graph = Graph()
        self._made: dict[Node, Node] = {}

    def written(self) -> GraphModule:
        for node in self._qat.body.graph.nodes:
            made = self._copied(node)
            placement = self._qat.placement
            self._made[node] = self._pair(made, self._qat.rounding_of(node).grid()) if node in placement.read else made
        self._graph.set_codegen(self._qat.body.graph._codegen)  # the structure of inputs and outputs
        return GraphModule(self._root, self._graph)

    def _copied(self, node: Node) -> Node:
        if node.op == "get_attr":
            return self._stored(node.name, attribute_of(self._qat.body, node).detach())
        made = self._graph.node_copy(node, lambda each: self._made[each])
        if role_of(node) == "product" and node in self._qat.placement.region:
            with self._graph.inserting_before(made):
                made.args = (made.args[0], *self._weights(node), *made.args[3:])
        return made

    def _stored(self, name: str, value: torch.Tensor) -> Node:
        self._root.register_buffer(name, value.clone().contiguous())
        return self._graph.get_attr(name)

    def _call(self, name: str, *arguments: Any) -> Node:
        operators = torch.ops.quantized_decomposed
        overload = getattr(operators, name).default
        return self._graph.call_function(overload, arguments)

    def _pair(self, node: Node, grid: Grid) -> Node:
        if not self._has_bounds and (grid.lowest, grid.highest) != (-128, 127):
            ends = [(end - grid.zero_point) * float(grid.scale) for end in (grid.lowest, grid.highest)]
            node = self._graph.call_function(torch.ops.aten.clamp.default, (node, *ends))
            grid = grid._replace(lowest=-128, highest=127)
        meaning = (float(grid.scale), grid.zero_point, grid.lowest, grid.highest, torch.int8)
        return self._call("dequantize_per_tensor", self._call("quantize_per_tensor", node, *meaning), *meaning)

    def _weights(self, node: Node) -> list[Any]:
        arguments: Sequence[Any] = node.args
        grid = self._qat.rounding_of(arguments[0]).grid()
        rounding = self._qat.weight_rounding(node)
        whole, bias, unit = self._qat.integer_weights(node, grid)
        own = rounding.grid()
        weights = self._dequantized(
            f"{node.name}_weight_s8", whole.to(torch.int8), own.scale, rounding.axis, own.lowest, own.highest
        )
        if bias is None:
            return [weights, None]
        limits = torch.iinfo(torch.int32)
        axis = None if unit.dim() == 0 else 0
        return [
            weights,
            self._dequantized(f"{node.name}_bias_s32", bias.to(torch.int32), unit, axis, limits.min, limits.max),
        ]

    def _dequantized(
        self, name: str, value: torch.Tensor, scale: torch.Tensor, axis: int | None, lowest: int, highest: int
    ) -> Node:
        stored = self._stored(name, value)
        if axis is None:
            return self._call("dequantize_per_tensor", stored, float(scale), 0, lowest, highest, value.dtype)
        scales = self._stored(f"{name}_scales", scale)
        zeros = self._stored(f"{name}_zeros", torch.zeros_like(scale, dtype=torch.int64))
        return self._call("dequantize_per_channel", stored, scales, zeros, axis, lowest, highest, value.dtype)


def program_of(qat: QatModule, *, has_bounds: bool = True) -> torch.export.ExportedProgram:
    """The program, its sizes as open as the module's."""
    with torch.no_grad():
        return torch.export.export(
            _Writer(qat, has_bounds=has_bounds).written().eval(), qat.examples, dynamic_shapes=qat.dynamic_shapes
        )
