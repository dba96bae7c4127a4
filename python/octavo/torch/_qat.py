"""Training with Octavo's integers: a module whose forward is what the compiled model computes."""

from __future__ import annotations

import functools
from typing import Any, Callable, Mapping, NamedTuple, Sequence

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from . import _integers as integers
from ._integers import INTEGER, Grid, Integers
from ._placement import Placement, attribute_of, fold_batch_norms, write_nothing
from ._roles import CONCATS, operator_of, role_of
from ._rounding import Rounding


class _Pending(NamedTuple):
    """What is not rounded yet: how it is on a grid, between bounds."""

    on: Callable[[Grid], Tensor]
    low: float | None = None
    high: float | None = None
    total: tuple[Tensor, Tensor] | None = None  #: of a product, the exact sum and its unit

    def clamped(self, low: float, high: float | None) -> _Pending:
        """Between these bounds, too."""
        highs = [each for each in (self.high, high) if each is not None]
        lowest = low if self.low is None else max(low, self.low)
        return _Pending(self.on, lowest, min(highs) if highs else None)

    def rounded(self, grid: Grid) -> Integers:
        is_open = self.low is None and self.high is None
        return Integers(self.on(grid if is_open else integers.narrowed(grid, self.low, self.high)), grid)


class _Value(NamedTuple):
    """What a node gives: f32 with its gradient, and what it is in integers."""

    real: Any
    whole: Integers | None = None
    pending: _Pending | None = None


def _with_value(real: Tensor, value: Tensor) -> Tensor:
    """The value, with the gradient of `real`."""
    return value.detach() + (real - real.detach())


def _real(value: Any) -> Any:
    return value.real if isinstance(value, _Value) else value


def _function_of(node: Node) -> Callable[..., Any]:
    return node.target  # type: ignore[return-value]


def _bounds(node: Node) -> tuple[float, float | None]:
    """Of a clamp."""
    given: Sequence[Any] = node.args[1:]
    if operator_of(node).startswith("hardtanh"):
        return (given[0] if given else -1.0), (given[1] if len(given) > 1 else 1.0)
    return 0.0, 6.0 if operator_of(node).startswith("relu6") else None


def _exact(call: Callable[[Tensor, Tensor], Tensor], x: Integers, weight: Tensor) -> Tensor:
    """A product of integers: in f32 where no sum can leave 24 bits, which is several times as fast."""
    furthest = max(x.grid.highest - x.grid.zero_point, x.grid.zero_point - x.grid.lowest)
    # Results are along the first axis, of transposed convolutions along the second: the larger bound holds for both.
    largest = max(float(weight.abs().transpose(0, axis).flatten(1).sum(1).max()) for axis in (0, 1))
    if largest * furthest < 2**24:
        return call(x.centred.float(), weight.float()).to(INTEGER)
    return call(x.centred, weight)


class QatModule(torch.nn.Module):
    """A module in training for Octavo: `prepare_qat` makes it.

    `forward` takes what the module takes and gives the outputs of the compiled model, bit for bit; gradients go straight through
    roundings. `train()` follows ranges, or learns scales, `eval()` leaves them. `floats` names operators that stay in floats: behind
    these outputs are near the compiled model's, not the same bits. `octavo.compile(qat)` compiles it; `to_pt2e()` and `to_onnx(path)`
    export it."""

    def __init__(
        self, body: GraphModule, examples: Sequence[Any], dynamic_shapes: Any, make: Callable[..., Rounding]
    ) -> None:
        super().__init__()
        self.body = body
        self.examples = tuple(examples)
        self.dynamic_shapes = dynamic_shapes
        self.placement = Placement(body)
        owners = dict.fromkeys(self.placement.owner(node).name for node in self.placement.rounded)
        self.roundings = torch.nn.ModuleDict({name: make(is_weight=False, axis=0) for name in owners})
        products = [node for node in body.graph.nodes if node in self.placement.region and role_of(node) == "product"]
        axes = {node.name: 1 if "transpose" in operator_of(node) else 0 for node in products}
        self.weights = torch.nn.ModuleDict({name: make(is_weight=True, axis=axis) for name, axis in axes.items()})

    @property
    def floats(self) -> list[str]:
        """Operators that stay in floats, as "name: operator"."""
        return [f"{node.name}: {operator_of(node) or node.target}" for node in self.placement.floats]

    def rounding_of(self, node: Node) -> Rounding:
        """Of a value that integers are read of."""
        while node in self.placement.moved:
            node = node.all_input_nodes[0]
        rounding = self.roundings[self.placement.owner(node).name]
        assert isinstance(rounding, Rounding)
        return rounding

    def weight_rounding(self, node: Node) -> Rounding:
        """Of a product's weights."""
        rounding = self.weights[node.name]
        assert isinstance(rounding, Rounding)
        return rounding

    def integer_weights(self, node: Node, x: Grid) -> tuple[Tensor, Tensor | None, Tensor]:
        """Weights and bias of a product in integers, and the unit of its sums, f32 by channel or one."""
        arguments: Sequence[Any] = node.args
        rounding, weight = self.weight_rounding(node), attribute_of(self.body, arguments[1]).detach()
        grid = rounding.grid()
        units = weight / rounding.along(grid.scale, weight.dim())
        whole = torch.round(units.clamp(grid.lowest, grid.highest)).to(INTEGER)
        unit = x.scale * grid.scale
        if len(arguments) < 3 or arguments[2] is None:
            return whole, None, unit
        return whole, torch.round(attribute_of(self.body, arguments[2]).detach().double() / unit.double()), unit

    # ---- operators ----

    def _product(self, node: Node, env: Mapping[Node, _Value]) -> _Value:
        x = env[node.args[0]]  # type: ignore[index]
        arguments: Sequence[Any] = node.args
        weight, rounding = attribute_of(self.body, arguments[1]), self.weight_rounding(node)
        if self.training:
            rounding.observe(weight, moves=False)
        assert x.whole is not None
        whole, bias, unit = self.integer_weights(node, x.whole.grid)
        real_bias = None if bias is None else attribute_of(self.body, arguments[2])
        call = functools.partial(_function_of(node), **node.kwargs)
        real = call(x.real, rounding(weight), real_bias, *arguments[3:])
        with torch.no_grad():
            total = _exact(lambda a, b: call(a, b, None, *arguments[3:]), x.whole, whole)
            channel = 1 if "conv" in operator_of(node) else total.dim() - 1
            shape = [-1 if axis == channel else 1 for axis in range(total.dim())]
            unit = unit if unit.dim() == 0 else unit.reshape(shape)
            total = total if bias is None else total + bias.reshape(shape)
        pending = _Pending(lambda grid: integers.product(total, unit, grid), total=(total, unit))
        return _Value(_with_value(real, total.float() * unit), pending=pending)

    def _clamp(self, node: Node, env: Mapping[Node, _Value]) -> _Value:
        x = env[node.args[0]]  # type: ignore[index]
        real = _function_of(node)(*map(_real, self._given(node, env)))
        low, high = _bounds(node)
        if x.pending is not None:
            return _Value(real, pending=x.pending.clamped(low, high))
        assert x.whole is not None
        given = x.whole
        return _Value(
            real, pending=_Pending(lambda grid: integers.looked_up(given, lambda v: v.clamp(low, high), grid))
        )

    def _sum(self, node: Node, env: Mapping[Node, _Value]) -> _Value:
        a, b = (env[each] for each in node.args)  # type: ignore[index]
        real = a.real + b.real
        of_product = next((each.pending for each in (a, b) if each.whole is None), None)
        if of_product is None:
            return _Value(real, pending=_Pending(lambda grid: integers.added(a.whole, b.whole, grid)))  # type: ignore[arg-type]
        other = a.whole if a.whole is not None else b.whole
        assert of_product.total is not None and other is not None
        total, unit = of_product.total
        return _Value(real, pending=_Pending(lambda grid: integers.product_and_residual(total, unit, other, grid)))

    def _function(self, node: Node, env: Mapping[Node, _Value]) -> _Value:
        x = env[node.args[0]]  # type: ignore[index]
        name = operator_of(node).removesuffix("_")
        given = x.whole
        assert given is not None
        real = _function_of(node)(x.real)
        return _Value(real, pending=_Pending(lambda grid: integers.looked_up(given, integers.TABLES[name], grid)))

    def _multiplied(self, node: Node, env: Mapping[Node, _Value]) -> _Value:
        a, b = (env[each] for each in node.args)  # type: ignore[index]
        real = a.real * b.real
        gate = next((each.pending for each in (a, b) if each.whole is None), None)
        if gate is None:
            return _Value(real, pending=_Pending(lambda grid: integers.multiplied(a.whole, b.whole, grid)))  # type: ignore[arg-type]
        given = a.whole if a.whole is not None else b.whole
        assert given is not None
        return _Value(real, pending=_Pending(lambda grid: integers.looked_up(given, integers.TABLES["silu"], grid)))

    def _mean(self, node: Node, env: Mapping[Node, _Value]) -> _Value:
        x = env[node.args[0]]  # type: ignore[index]
        given = x.whole
        assert given is not None
        real = _function_of(node)(*map(_real, self._given(node, env)), **node.kwargs)
        total = given.centred.sum((2, 3)).reshape(real.shape)
        count = int(given.centred.shape[2] * given.centred.shape[3])
        return _Value(real, pending=_Pending(lambda grid: integers.averaged(total, count, given.grid, grid)))

    def _moved(self, node: Node, env: Mapping[Node, _Value]) -> _Value:
        given = self._given(node, env)
        first: _Value = given[0]
        rest = [_real(each) for each in given[1:]]
        assert first.whole is not None
        move = functools.partial(_function_of(node), **node.kwargs)
        return _Value(move(first.real, *rest), Integers(move(first.whole.centred, *rest), first.whole.grid))

    def _joined(self, node: Node, env: Mapping[Node, _Value]) -> _Value:
        arguments: Sequence[Any] = node.args
        values = [env[each] for each in arguments[0]]
        real = _function_of(node)([each.real for each in values], *arguments[1:], **node.kwargs)

        def on(grid: Grid) -> Tensor:
            parts = [each.whole for each in values if each.whole is not None]
            same = [
                each.centred if each.grid == grid else integers.looked_up(each, lambda v: v, grid) for each in parts
            ]
            return _function_of(node)(same, *arguments[1:], **node.kwargs)

        return _Value(real, pending=_Pending(on))

    def _given(self, node: Node, env: Mapping[Node, _Value]) -> list[Any]:
        values: Mapping[Node, Any] = env
        return list(torch.fx.node.map_arg(node.args, lambda each: values[each]))  # type: ignore[call-overload]

    def _computed(self, node: Node, env: Mapping[Node, _Value]) -> _Value:
        if node not in self.placement.region:
            arguments, keywords = torch.fx.node.map_arg((node.args, node.kwargs), lambda each: _real(env[each]))  # type: ignore[misc]
            return _Value(_function_of(node)(*arguments, **keywords))
        name, role = operator_of(node), role_of(node)
        if name in CONCATS:
            return self._joined(node, env)
        if name.startswith("mul"):
            return self._multiplied(node, env)
        if name in ("mean", "adaptive_avg_pool2d"):
            return self._mean(node, env)
        by_role = {"product": self._product, "clamp": self._clamp, "sum": self._sum, "moving": self._moved}
        return by_role.get(str(role), self._function)(node, env)

    def _rounded(self, node: Node, value: _Value) -> _Value:
        rounding = self.rounding_of(node)
        if self.training and self.placement.owner(node) is node:
            rounding.observe(value.real, moves=True)
        grid = rounding.grid()
        with torch.no_grad():
            whole = (
                Integers(integers.quantized(value.real, grid), grid)
                if value.pending is None
                else value.pending.rounded(grid)
            )
        return _Value(_with_value(rounding(value.real), whole.real()), whole)

    def forward(self, *inputs: Any) -> Any:
        given = iter(self.body.graph.process_inputs(*inputs))
        env: dict[Node, _Value] = {}
        rounded = set(self.placement.rounded)
        for node in self.body.graph.nodes:
            if node.op == "output":
                outputs = torch.fx.node.map_arg(node.args[0], lambda each: _real(env[each]))
                return self.body.graph.process_outputs(outputs)
            if node.op == "placeholder":
                value = _Value(next(given))
            elif node.op == "get_attr":
                value = _Value(attribute_of(self.body, node))
            else:
                value = self._computed(node, env)
            env[node] = self._rounded(node, value) if node in rounded else value
        raise AssertionError("a graph without an output")

    # ---- what becomes of it ----

    def to_pt2e(self) -> torch.export.ExportedProgram:
        """The program that convert_pt2e would give: int8 weights, int32 biases, quantize and dequantize nodes."""
        from ._qat_export import program_of

        return program_of(self)

    def to_onnx(self, path: Any) -> None:
        """Writes it with QuantizeLinear and DequantizeLinear. Needs onnx and onnxscript.

        QuantizeLinear divides by the scale and pt2e multiplies by its inverse: rarely a value at a tie is the next one."""
        from ._qat_export import program_of

        torch.onnx.export(program_of(self, has_bounds=False), (), path, dynamo=True, verbose=False, external_data=False)


def prepare_qat(
    module: torch.nn.Module,
    example_inputs: Sequence[Any],
    *,
    dynamic_shapes: Any = None,
    is_per_channel: bool = True,
    weight_bits: int = 8,
    activation_bits: int = 8,
    is_learned: bool = False,
) -> QatModule:
    """A module whose training knows what Octavo's integers do to it: see `QatModule`.

    It is exported in eval mode: batch normalisations become part of the weights before them, dropout is gone. `example_inputs` and
    `dynamic_shapes` are torch.export's; the first axis is open where nothing else is said. Weights and activations have as many bits as
    said (2 to 8), a scale per output channel unless `is_per_channel=False`, which training follows, or, with `is_learned=True`, learns.
    Raises what torch.export raises, and UsageError for other bits."""
    from .._errors import usage
    from .._sources import _evaluating

    for name, bits in (("weight_bits", weight_bits), ("activation_bits", activation_bits)):
        if not 2 <= bits <= 8:
            raise usage(name, str(bits), "2 to 8")
    examples = tuple(
        torch.cat([each, each]) if isinstance(each, torch.Tensor) and each.shape[:1] == (1,) else each
        for each in example_inputs
    )
    if dynamic_shapes is None:
        dynamic_shapes = tuple(
            {0: torch.export.Dim.AUTO} if isinstance(each, torch.Tensor) and each.dim() > 0 else None
            for each in examples
        )
    with _evaluating(module):
        exported = torch.export.export(module, examples, dynamic_shapes=dynamic_shapes).module(check_guards=False)
    write_nothing(exported)
    fold_batch_norms(exported)
    body = GraphModule(exported, exported.graph)  # without what was folded; and the exported one refuses train()

    def make(is_weight: bool, axis: int) -> Rounding:
        half = 2 ** ((weight_bits if is_weight else activation_bits) - 1)
        lowest = 1 - half if is_weight else -half
        return Rounding(
            lowest,
            half - 1,
            is_symmetric=is_weight,
            axis=axis if is_weight and is_per_channel else None,
            is_learned=is_learned,
        )

    return QatModule(body, examples, dynamic_shapes, make)
