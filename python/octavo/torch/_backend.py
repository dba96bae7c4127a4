"""The backend of torch.compile: which graphs become Octavo's, with which parameters, and what is given back to torch."""

from __future__ import annotations

import os
import warnings
import weakref
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import torch
from torch.fx import GraphModule, Node

from .. import _cache
from .._errors import usage
from .._words import CompileOptions
from ._export import Graph, frozen, placeholders
from ._parts import compiled
from ._program import Refused

Tensors = Sequence[Any]
Run = Callable[..., Any]

_OF_COMPILE = {
    *CompileOptions.__annotations__,
    "precision",
    "threads",
    "plan_cache_bytes",
    "context_bytes",
    "device",
    "cache_dir",
}


# Of the numbers that a graph is compiled for, as many as Dynamo's limit of compilations.
_MOST_NUMBERS = 8


def default_cache() -> str:
    """Where compiled graphs are kept where nothing else was asked for."""
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "octavo")


def _checked(options: Mapping[str, Any] | None) -> dict[str, Any]:
    given = dict(options or {})
    unknown = sorted(set(given) - _OF_COMPILE)
    if unknown:
        raise usage(
            "options of torch.compile",
            ", ".join(f"'{each}'" for each in unknown),
            f"options of octavo.compile without samples: {', '.join(sorted(_OF_COMPILE))}",
        )
    if "cache_dir" not in given and _cache.directory is None:
        given["cache_dir"] = default_cache()
    given.setdefault("threads", torch.get_num_threads())
    return given


def _is_static(value: Any) -> bool:
    """Whether Dynamo took it from a module: a parameter or a buffer."""
    return isinstance(value, torch.nn.Parameter) or getattr(value, "_dynamo_static_input_type", None) is not None


def _reason_for_torch(inputs: Tensors) -> str | None:
    """Why no part of a graph with these inputs can be Octavo's."""
    tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
    if torch.is_grad_enabled() and any(each.requires_grad for each in tensors):
        return "gradients are enabled and some of its tensors require them; call it under torch.no_grad() or torch.inference_mode()"
    devices = {each.device.type for each in tensors} - {"cpu"}
    return f"it has tensors on {', '.join(sorted(devices))}, and Octavo runs on CPUs" if devices else None


def _version(tensor: torch.Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


def _is_number(node: Node) -> bool:
    """Whether it is a float of the user's program that Dynamo hands on as a tensor."""
    return bool(getattr(node.meta.get("grapharg"), "pass_arg_as_tensor", False))


class _Variant(NamedTuple):
    """The graph with certain tensors as constants, at the versions that they had, and certain numbers."""

    tensors: list[weakref.ref[torch.Tensor]]
    versions: list[int]
    numbers: list[float]
    run: Run

    def has(self, tensors: Tensors, numbers: Sequence[float]) -> bool:
        return all(reference() is each for reference, each in zip(self.tensors, tensors)) and self.numbers == numbers

    def is_current(self, tensors: Tensors) -> bool:
        return all(version == _version(each) for version, each in zip(self.versions, tensors))


class _Frozen:
    """A graph of Dynamo whose parameters and buffers are constants.

    Dynamo runs one graph for all modules of a kind, and does not look at values: which tensors these are, and that nobody wrote into
    them since, is looked at in each call. Others are compiled for, written ones again. Raises Refused, when it is made, where no part of
    the graph can be Octavo's."""

    def __init__(self, module: GraphModule, inputs: Tensors, options: Mapping[str, Any]) -> None:
        self._module = module
        self._options = options
        numbers = [index for index, node in enumerate(placeholders(module)) if _is_number(node)]
        static = [index for index, each in enumerate(inputs) if _is_static(each)]
        self._numbers, self._static = numbers, static
        self._given = [index for index in range(len(inputs)) if index not in {*numbers, *static}]
        self._variants = [self._made(*self._constants(inputs))]

    def _constants(self, inputs: Tensors) -> tuple[list[torch.Tensor], list[float]]:
        return [inputs[index] for index in self._static], [float(inputs[index]) for index in self._numbers]

    def _made(self, tensors: list[torch.Tensor], numbers: list[float]) -> _Variant:
        constants = {**dict(zip(self._static, tensors)), **dict(zip(self._numbers, numbers))}
        run = compiled(Graph(frozen(self._module, constants)), self._options)
        return self._kept(tensors, numbers, lambda *inputs: run(*[inputs[index] for index in self._given]))

    @staticmethod
    def _kept(tensors: list[torch.Tensor], numbers: list[float], run: Run) -> _Variant:
        return _Variant([weakref.ref(each) for each in tensors], [_version(each) for each in tensors], numbers, run)

    def _variant(self, tensors: list[torch.Tensor], numbers: list[float]) -> _Variant:
        for variant in self._variants:
            if variant.has(tensors, numbers) and variant.is_current(tensors):
                return variant
        try:
            made = self._made(tensors, numbers)
        except Refused as refusal:
            _warn_of_torch(self._module, str(refusal))
            made = self._kept(tensors, numbers, self._module.forward)
        alive = [each for each in self._variants if all(reference() is not None for reference in each.tensors)]
        others = [each for each in alive if not each.has(tensors, each.numbers)]
        of_other_numbers = [each for each in alive if each.has(tensors, each.numbers) and each.numbers != numbers]
        self._variants = [made, *of_other_numbers[: _MOST_NUMBERS - 1], *others]
        return made

    def __call__(self, *inputs: Any) -> Any:
        return self._variant(*self._constants(inputs)).run(*inputs)


def _warn_of_torch(module: GraphModule, reason: str) -> None:
    count = sum(node.op.startswith("call_") for node in module.graph.nodes)
    warnings.warn(f"octavo: a graph of {count} operators runs in torch: {reason}", stacklevel=3)


def backend(
    module: GraphModule, inputs: Tensors, *, options: Mapping[str, Any] | None = None, mode: str | None = None
) -> Run:
    """A graph of Dynamo as a function that Octavo runs: `torch.compile(net, backend=octavo.torch.backend)`.

    `options`: those of `octavo.compile` that need no samples (`precision`, `threads`, ...); `precision` is fp32 of a graph without
    quantized values. Parameters are constants. What Octavo cannot do is run by torch, with a warning that names it. Raises UsageError
    for an unknown option or a `mode`, ResourceError and InternalError."""
    if mode is not None:
        raise usage("mode of torch.compile", f"'{mode}'", "none", "options={...} takes those of octavo.compile")
    checked = _checked(options)
    reason = _reason_for_torch(inputs)
    if reason is None:
        try:
            return torch._dynamo.disable(_Frozen(module, inputs, checked))
        except Refused as refusal:
            reason = str(refusal)
    _warn_of_torch(module, reason)
    return module.forward
