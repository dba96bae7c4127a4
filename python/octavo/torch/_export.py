"""Graphs of torch.fx as programs of torch.export: constants in, sizes by their tensors, inputs of any size that the graph allows."""

from __future__ import annotations

import copy
from typing import Any, Mapping, Sequence

import torch
from torch.fx import GraphModule, Node, Proxy
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis


def placeholders(module: GraphModule) -> list[Node]:
    """In the order in which the module takes them."""
    return [node for node in module.graph.nodes if node.op == "placeholder"]


def value_of(node: Node) -> Any:
    """The fake tensor or size that a node of Dynamo or of an exported program stands for; None where nobody said."""
    return node.meta.get("example_value", node.meta.get("val"))


def frozen(module: GraphModule, constants: Mapping[int, Any]) -> GraphModule:
    """A copy in which the inputs of these numbers are attributes, where they are tensors, and numbers of the graph, where they are floats."""
    graph = copy.deepcopy(module.graph)
    made = GraphModule(module, graph)
    for number, node in enumerate(placeholders(made)):
        if number in constants:
            with graph.inserting_before(node):
                _fix(made, node, f"constant_{number}_{node.name}", constants[number])
    made.recompile()
    return made


def _fix(module: GraphModule, node: Node, name: str, value: Any) -> None:
    if isinstance(value, float):
        for reader in list(node.users):  # `.item()`: Dynamo hands numbers on as tensors
            reader.replace_all_uses_with(module.graph.call_function(float, (value,)))
            module.graph.erase_node(reader)
    else:
        if isinstance(value, torch.nn.Parameter):
            module.register_parameter(name, value)
        else:
            module.register_buffer(name, value)
        attribute = module.graph.get_attr(name)
        attribute.meta = dict(node.meta)
        node.replace_all_uses_with(attribute)
    module.graph.erase_node(node)


def _expression(size: Any) -> Any:
    return size.node.expr if isinstance(size, torch.SymInt) else size


def _is_open(size: Any) -> bool:
    return isinstance(size, torch.SymInt) and not size.node.expr.is_number


class OpenSizeError(Exception):
    """Sizes that no tensor has, or that nobody knows before the run."""


def sizes_by_tensors(module: GraphModule) -> None:
    """Inputs that are sizes become what a tensor among the inputs says of itself; they stay inputs, which nothing reads. Raises
    OpenSizeError where no tensor has such a size."""
    nodes = placeholders(module)
    for node in nodes:
        size = value_of(node)
        if not isinstance(size, (int, torch.SymInt)) or not node.users:
            continue
        node.replace_all_uses_with(_read_size(module, nodes, node, size))
    module.recompile()


def _read_size(module: GraphModule, nodes: Sequence[Node], wanted: Node, size: Any) -> Any:
    """What computes the size of those of tensors."""
    if not _is_open(size):
        return int(size)
    with module.graph.inserting_before(nodes[-1].next):
        symbols = {symbol: _proxy_of(module, nodes, symbol) for symbol in size.node.expr.free_symbols}
        lacking = [str(symbol) for symbol, proxy in symbols.items() if proxy is None]
        if lacking:
            raise OpenSizeError(
                f"its input '{wanted.name}' is the size {size.node.expr}, and no tensor among the inputs has {', '.join(lacking)}"
            )
        return sympy_interp(PythonReferenceAnalysis, symbols, size.node.expr).node


def _proxy_of(module: GraphModule, nodes: Sequence[Node], symbol: Any) -> Proxy | None:
    for node in nodes:
        for axis, extent in enumerate(getattr(value_of(node), "shape", ())):
            if _is_open(extent) and extent.node.expr == symbol:
                return Proxy(module.graph.call_function(torch.ops.aten.sym_size.int, (node, axis)))
    return None


class Graph:
    """A module of torch.fx whose placeholders know their types and sizes."""

    def __init__(self, module: GraphModule) -> None:
        self.module = module
        self.inputs = placeholders(module)

    def _numbers(self) -> dict[Any, int]:
        """A size for each symbol, at least 2: torch takes a size of 1 for a constant. Raises OpenSizeError."""
        numbers: dict[Any, int] = {}
        for node in self.inputs:
            for size in getattr(value_of(node), "shape", ()):
                for symbol in size.node.expr.free_symbols if _is_open(size) else ():
                    hint = size.node.shape_env.backed_var_to_val.get(symbol)
                    if hint is None:
                        raise OpenSizeError(f"its input '{node.name}' has a size that depends on data")
                    numbers[symbol] = max(2, int(hint))
        return numbers

    def examples(self) -> list[Any]:
        """Zeros of each input's type and sizes."""
        numbers = self._numbers()

        def number(size: Any) -> int:
            return int(_expression(size).subs(numbers)) if _is_open(size) else int(size)

        values = [value_of(node) for node in self.inputs]
        return [
            torch.zeros([number(size) for size in each.shape], dtype=each.dtype)
            if isinstance(each, torch.Tensor)
            else number(each)
            for each in values
        ]

    def program(self) -> tuple[torch.export.ExportedProgram, list[int]]:
        """The program, and which of the inputs it takes: those that something reads. Raises OpenSizeError, and what torch raises where it
        cannot export."""
        module = GraphModule(self.module, copy.deepcopy(self.module.graph))
        sizes_by_tensors(module)
        nodes = placeholders(module)
        taken = [index for index, node in enumerate(nodes) if node.users]
        for node in nodes:
            if not node.users:
                module.graph.erase_node(node)
        module.recompile()
        examples = self.examples()
        shapes = [getattr(value_of(self.inputs[index]), "shape", ()) for index in taken]
        dynamic = tuple(
            {axis: torch.export.Dim.DYNAMIC for axis, size in enumerate(shape) if _is_open(size)} for shape in shapes
        )
        return torch.export.export(module, tuple(examples[index] for index in taken), dynamic_shapes=dynamic), taken
