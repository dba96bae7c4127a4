"""A quantizer of pt2e: which values of an exported module are rounded so that Octavo computes in integers between them."""

from __future__ import annotations

from typing import Any, Iterable

import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import (
    FakeQuantize,
    HistogramObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
)
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)

from ._roles import CONCATS, is_activation, joined_to, operator_of, reads_integers, role_of

_ANNOTATION = "quantization_annotation"
_LEAST_SCALE = 2.0**-12


def activation_spec(is_qat: bool) -> QuantizationSpec:
    """s8, one scale and zero point for a tensor."""
    observer = MovingAverageMinMaxObserver if is_qat else HistogramObserver
    settings: dict[str, Any] = {"observer": observer} if is_qat else {}
    made = (FakeQuantize if is_qat else observer).with_args(eps=_LEAST_SCALE, **settings)
    return QuantizationSpec(torch.int8, made, quant_min=-128, quant_max=127, qscheme=torch.per_tensor_affine)


def weight_spec(is_qat: bool, is_per_channel: bool, axis: int) -> QuantizationSpec:
    """s8 without zero point, a scale for each output channel or one."""
    settings: dict[str, Any] = {"eps": _LEAST_SCALE}
    if is_per_channel:
        observer: Any = MovingAveragePerChannelMinMaxObserver if is_qat else PerChannelMinMaxObserver
        settings["ch_axis"] = axis  # prepare passes the specification's axis to observers alone, not to fake quantizers
    else:
        observer = MovingAverageMinMaxObserver
    made = FakeQuantize.with_args(observer=observer, **settings) if is_qat else observer.with_args(**settings)
    scheme = torch.per_channel_symmetric if is_per_channel else torch.per_tensor_symmetric
    return QuantizationSpec(
        torch.int8, made, quant_min=-127, quant_max=127, qscheme=scheme, ch_axis=axis if is_per_channel else None
    )


def _weight_axis(node: Node) -> int:
    return 1 if "transpose" in operator_of(node) else 0


def _modules_of(node: Node) -> Iterable[str]:
    """Names of the modules that the node comes from, without what export puts before them."""
    for path, _ in (node.meta.get("nn_module_stack") or {}).values():
        yield path.removeprefix("L['self'].").removeprefix("L['self']")


class OctavoQuantizer(Quantizer):  # type: ignore[misc]
    """For `prepare_pt2e` and, with `is_qat=True`, `prepare_qat_pt2e`:

        prepared = prepare_pt2e(torch.export.export(net, inputs).module(), octavo.torch.OctavoQuantizer())

    Weights are s8 without zero point, per output channel unless `is_per_channel=False`; activations s8 with one. Every operator that has an
    integer form in Octavo has rounded inputs and, where another one reads it, a rounded result; nothing is rounded between a product
    and the batch normalisation, addition or clamp behind it, or inside `x * sigmoid(x)`. What moves elements (views, concatenation,
    largest of a window) keeps the scale. `skip`: names of modules (`"features.0"`) whose operators stay in floats."""

    def __init__(self, *, is_per_channel: bool = True, is_qat: bool = False, skip: Iterable[str] = ()) -> None:
        super().__init__()
        self._is_per_channel = is_per_channel
        self._is_qat = is_qat
        self._skip = tuple(skip)
        self._activation = activation_spec(is_qat)

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates the nodes of an exported module. Raises UsageError where `skip` names a module that it lacks."""
        self._check_skip(model)
        region = {node for node in model.graph.nodes if role_of(node) is not None and not self._is_skipped(node)}
        joined = {node: into for node in region if (into := joined_to(node, region)) is not None}
        for node in region:
            self._annotate(node, region, joined)
        return model

    def validate(self, model: GraphModule) -> None:
        """Octavo takes every annotation that `annotate` makes; others are their quantizers'."""

    def _check_skip(self, model: GraphModule) -> None:
        from .._errors import usage

        there = {name for node in model.graph.nodes for name in _modules_of(node)}
        lacking = [name for name in self._skip if name not in there]
        if lacking:
            raise usage("skip", ", ".join(map(repr, lacking)), f"modules: {', '.join(sorted(filter(None, there)))}")

    def _is_skipped(self, node: Node) -> bool:
        return bool(self._skip) and any(name in self._skip for name in _modules_of(node))

    def _annotate(self, node: Node, region: set[Node], joined: dict[Node, Node]) -> None:
        inputs = {each: self._activation for each in reads_integers(node) if joined.get(each) is not node}
        annotation = QuantizationAnnotation(input_qspec_map=inputs, _annotated=True)
        if (
            role_of(node) == "product"
            and len(node.args) > 1
            and isinstance(node.args[1], Node)
            and not is_activation(node.args[1])
        ):
            annotation.input_qspec_map[node.args[1]] = weight_spec(
                self._is_qat, self._is_per_channel, _weight_axis(node)
            )
        if node not in joined and any(reader in region for reader in node.users):
            annotation.output_qspec = self._activation
        if role_of(node) == "moving":
            self._share(node, annotation)
        node.meta[_ANNOTATION] = annotation

    def _share(self, node: Node, annotation: QuantizationAnnotation) -> None:
        """The scale of what it moves. Of a concatenation those inputs share it that nothing else reads: one range would spread over whole
        networks otherwise."""
        inputs = list(annotation.input_qspec_map)
        if operator_of(node) in CONCATS:
            inputs = [
                each
                for each in inputs
                if operator_of(each) in CONCATS or all(operator_of(reader) in CONCATS for reader in each.users)
            ]
        if not inputs:
            return
        shared = SharedQuantizationSpec((inputs[0], node))
        for each in inputs[1:]:
            annotation.input_qspec_map[each] = shared
        if annotation.output_qspec is not None:
            annotation.output_qspec = shared
