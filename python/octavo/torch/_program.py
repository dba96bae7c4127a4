"""Exported programs: what torch.export makes of a graph, and what Octavo makes of that."""

from __future__ import annotations

import re
from typing import Any, Mapping, NamedTuple, Sequence

import torch
from torch.fx import GraphModule, Node

from .._compile import compile
from .._errors import OctavoError, UnsupportedError
from .._model import Model
from .._sources import with_plain_tensors
from ._export import Graph


class Refused(Exception):
    """What Octavo has no operator for, by node and by the operator's name, each with its reason; nothing where nobody knows which it is."""

    def __init__(
        self, reason: str, nodes: Mapping[str, str] | None = None, targets: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(reason)
        self.nodes = dict(nodes or {})
        self.targets = dict(targets or {})


class Exported(NamedTuple):
    """A program without side effects, and the numbers of those inputs of its graph that it takes, in its order."""

    program: torch.export.ExportedProgram
    taken: list[int]
    lines: dict[str, str]  #: where nodes stand in the source


def target_of(node: Node) -> str:
    """`aten.conv2d.default`"""
    return str(node.target)


def _without_places(program: torch.export.ExportedProgram) -> dict[str, str]:
    """Takes the lines of source that nodes have out of the program, so that its bytes are those of the same model elsewhere. Gives
    them by node."""
    lines = {}
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, GraphModule) else ():
            places = re.findall(r'File "([^"]*)", line (\d+)', node.meta.pop("stack_trace", None) or "")
            lines[node.name] = ":".join(places[-1]) if places else ""
            for key in ("nn_module_stack", "source_fn_stack", "from_node", "torch_fn"):
                node.meta.pop(key, None)
    return lines


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _functional(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """The program with nothing written in place, and plain tensors. Raises Refused where inputs or buffers are written."""
    program = with_plain_tensors(program)
    operators = [node.target for node in program.graph.nodes if isinstance(node.target, torch._ops.OpOverload)]
    if not any(each._schema.is_mutable for each in operators):
        return program
    program = program.run_decompositions({})
    signature = program.graph_signature
    written = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
    if written:
        raise Refused(f"it writes into {_some(written)}")
    return program


def exported(graph: Graph) -> Exported:
    """The graph as a program. Raises Refused where torch cannot export it."""
    try:
        program, taken = graph.program()
    except Exception as error:  # torch.export has no class for "this cannot be exported"
        raise Refused(f"torch.export: {str(error).strip().splitlines()[0]}") from error
    program = _functional(program)
    return Exported(program, taken, _without_places(program))


def _refusal(error: OctavoError, made: Exported) -> Refused:
    nodes, targets = {}, {}
    unread = [problem for problem in error.errors if re.search(r"operator \S+$", problem.where)]
    for problem in unread or error.errors:  # what is read behind something unread may fail for that alone
        operator = re.search(r"operator (\S+)$", problem.where)
        named = re.search(r"node '([^']*)'", problem.where)
        what = (
            "" if operator else f"{problem.where.split('), ')[-1]}: found {problem.found}, expected {problem.expected}"
        )
        for node in made.program.graph.nodes:
            if node.op == "call_function" and (
                (operator and target_of(node) == operator[1]) or (named and node.name == named[1])
            ):
                told = ", ".join(filter(None, [made.lines.get(node.name), what]))
                nodes[node.name] = targets[target_of(node)] = target_of(node) + (f" ({told})" if told else "")
    return Refused("; ".join(problem.message for problem in error.errors), nodes, targets)


class Octavo:
    """A compiled program as a function of tensors."""

    def __init__(self, model: Model, made: Exported) -> None:
        by_name = dict(zip(map(str, made.program.graph_signature.user_inputs), made.taken))
        self.model = model
        self._order = [by_name[each.name] for each in model.inputs]
        self._run = model._run

    def __call__(self, *inputs: Any) -> tuple[torch.Tensor, ...]:
        given = [inputs[index].detach() for index in self._order]
        return tuple(torch.from_numpy(each) for each in self._run(given, None))


def octavo_of(made: Exported, options: Mapping[str, Any]) -> Octavo:
    """All of the program by Octavo. Raises Refused, and what `octavo.compile` raises besides UnsupportedError."""
    asked = dict(options) if "precision" in options else {"unquantized": "fp32", **options}
    try:
        return Octavo(compile(made.program, progress=False, **asked), made)
    except UnsupportedError as error:
        raise _refusal(error, made) from error
