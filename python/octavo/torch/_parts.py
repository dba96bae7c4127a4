"""Graphs as functions: Octavo runs what it can, torch the rest, and a warning says what that is and what it costs."""

from __future__ import annotations

import operator
import time
import warnings
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import torch
from torch.fx import GraphModule, Interpreter, Node
from torch.fx.passes.split_module import split_module

from ._export import Graph, frozen, value_of
from ._program import Refused, exported, octavo_of, target_of

Run = Callable[..., Any]

# What makes a part of a graph worth a call of its own.
_PRODUCTS = (
    "_int_mm",
    "conv",
    "linear",
    "matmul",
    "mm",
    "bmm",
    "addmm",
    "baddbmm",
    "scaled_dot_product_attention",
    "lstm",
    "gru",
    "rnn",
)


def _is_product(node: Node) -> bool:
    return any(target_of(node).removeprefix("aten.").startswith(each) for each in _PRODUCTS)


def _makes_tensors(node: Node) -> bool:
    value = value_of(node)
    return isinstance(value, torch.Tensor) or (
        isinstance(value, (list, tuple)) and all(isinstance(each, torch.Tensor) for each in value)
    )


class _Called(torch.nn.Module):
    """A function where torch.fx wants a module, which gives one tensor alone where its reader wants that."""

    def __init__(self, run: Run, is_single: bool) -> None:
        super().__init__()
        self._run = run
        self._is_single = is_single

    def forward(self, *inputs: Any) -> Any:
        outputs = self._run(*inputs)
        return outputs[0] if self._is_single else outputs


def _outputs(module: GraphModule) -> Any:
    return next(node for node in module.graph.nodes if node.op == "output").args[0]


def _gives_tensors(module: GraphModule) -> bool:
    """Whether all results are tensors that the graph makes; an input or a size among them is torch's to give."""
    outputs = _outputs(module)
    several = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
    return all(isinstance(each, Node) and each.op.startswith("call_") and _makes_tensors(each) for each in several)


class _Split(NamedTuple):
    """A graph in parts `submod_N`, even ones torch's, odd ones Octavo's, and the part of each node."""

    module: GraphModule
    levels: dict[Node, int]


def _levels(module: GraphModule, is_torchs: Callable[[Node], bool]) -> dict[Node, int]:
    """The part of each node, so that none reads what a later one makes."""
    levels: dict[Node, int] = {}
    for node in module.graph.nodes:
        if not node.op.startswith("call_"):
            continue
        before = [levels[each] for each in node.all_input_nodes if each in levels]
        least = max(before, default=0)
        is_of_list = node.target is operator.getitem and before
        levels[node] = least if is_of_list else least + (least % 2 == (1 if is_torchs(node) else 0))
    return levels


def _split(module: GraphModule, is_torchs: Callable[[Node], bool]) -> _Split:
    """Octavo's parts are those with a product in them."""
    levels = _levels(module, is_torchs)
    worth = {level for node, level in levels.items() if _is_product(node)}
    lacking = {node for node, level in levels.items() if level % 2 == 1 and level not in worth}
    if lacking:
        return _split(module, lambda node: is_torchs(node) or node in lacking)
    return _Split(split_module(module, module, lambda node: levels[node]), levels)


def _attribute(module: torch.nn.Module, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _put_octavo(split: _Split, call: Node, options: Mapping[str, Any]) -> None:
    """Octavo in place of a part, its constants inside. Raises Refused."""
    part = split.module.get_submodule(str(call.target))
    assert isinstance(part, GraphModule)
    constants = {
        index: _attribute(split.module, str(each.target))
        for index, each in enumerate(call.args)
        if isinstance(each, Node) and each.op == "get_attr"
    }
    graph = Graph(frozen(part, constants))
    run = octavo_of(exported(graph), options)
    setattr(split.module, str(call.target), _Called(run, is_single=isinstance(_outputs(part), Node)))
    call.args = tuple(each for index, each in enumerate(call.args) if index not in constants)


def _parts_of(module: GraphModule, refused: dict[str, str], options: Mapping[str, Any]) -> _Split:
    """The graph with Octavo in it, where `refused` names what is torch's; more is added until the rest is Octavo's."""
    while True:
        split = _split(module, lambda node: node.name in refused or not _makes_tensors(node))
        more: dict[str, str] = {}
        for call in [node for node in split.module.graph.nodes if node.op == "call_module"]:
            level = int(str(call.target).rpartition("_")[2])
            if level % 2 == 0:
                continue
            try:
                _put_octavo(split, call, options)
            except Refused as refusal:
                for node, its_level in split.levels.items():
                    if its_level == level and (not refusal.targets or target_of(node) in refusal.targets):
                        more[node.name] = refusal.targets.get(target_of(node), str(refusal))
        if not more:
            split.module.recompile()
            return split
        refused.update(more)


class _Timer(Interpreter):
    """Seconds of torch's parts and of Octavo's."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.seconds = {"torch": 0.0, "octavo": 0.0}

    def run_node(self, n: Node) -> Any:
        start = time.perf_counter()
        result = super().run_node(n)
        is_octavos = n.op == "call_module" and isinstance(self.module.get_submodule(str(n.target)), _Called)  # type: ignore[operator]
        self.seconds["octavo" if is_octavos else "torch"] += time.perf_counter() - start
        return result


def _share_of_torch(module: GraphModule, graph: Graph) -> str:
    """Of a run over zeros, where that can be done."""

    def timed(inputs: Sequence[Any]) -> dict[str, float]:
        timer = _Timer(module)
        timer.run(*inputs)
        return timer.seconds

    with torch.random.fork_rng(devices=[]):
        try:
            inputs = graph.examples()
            runs = [timed(inputs) for _ in range(4)]
        except Exception:  # zeros need not be what an operator takes
            return "a share of the time that zeros for inputs cannot show"
    fastest = min(runs, key=lambda seconds: sum(seconds.values()))
    return f"{fastest['torch'] / sum(fastest.values()):.0%} of {sum(fastest.values()) * 1e3:.1f} ms"


def _listed(reasons: Mapping[str, str]) -> str:
    different = sorted(set(reasons.values()))
    return "; ".join(different[:10]) + (f"; and {len(different) - 10} more" if len(different) > 10 else "")


def compiled(graph: Graph, options: Mapping[str, Any]) -> Run:
    """The graph as a function of its inputs that gives what it gives, by Octavo where that can be. Raises Refused where that is nowhere."""
    with torch._guards.tracing(None), torch.no_grad():  # sizes of what is exported here are not Dynamo's
        return _compiled(graph, options)


def _compiled(graph: Graph, options: Mapping[str, Any]) -> Run:
    made = exported(graph)
    refused: dict[str, str] = {}
    if _gives_tensors(graph.module):
        try:
            return octavo_of(made, options)
        except Refused as refusal:
            if not refusal.nodes:
                raise
            refused = refusal.nodes
    module = made.program.module(check_guards=False)
    split = _parts_of(module, refused, options)
    of_torch = [node for node, level in split.levels.items() if level % 2 == 0]
    if len(of_torch) == len(split.levels):
        raise Refused(_listed(refused) or "it has no product")
    if refused:
        parts = sum(isinstance(each, _Called) for each in split.module.children())
        share = _share_of_torch(split.module, Graph(module))
        warnings.warn(
            f"octavo: {len(of_torch)} of {len(split.levels)} operators run in torch, beside {parts} parts in octavo: {share}: {_listed(refused)}",
            stacklevel=3,
        )
    return lambda *inputs: split.module(*[inputs[index] for index in made.taken])
