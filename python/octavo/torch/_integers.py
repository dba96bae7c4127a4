"""Octavo's arithmetic on 8-bit values in tensors of torch, bit for bit: docs/numerics.md, profiles onnx and pt2e.

Integers are tensors of f64, which hold every sum of 32 bits exactly; everything else is f32, each operation rounded once."""

from __future__ import annotations

from typing import Callable, NamedTuple

import torch
from torch import Tensor

INTEGER = torch.float64


class Grid(NamedTuple):
    """What stored values stand for: (stored - zero_point) * scale, stored in [lowest, highest]."""

    scale: Tensor  #: f32, one number
    zero_point: int
    lowest: int
    highest: int


class Integers(NamedTuple):
    """Stored values without their zero point, so that 0 stands for 0."""

    centred: Tensor
    grid: Grid

    def real(self) -> Tensor:
        """What they stand for, in f32."""
        return self.centred.float() * self.grid.scale


def fma(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """a * b + c of f32, rounded once."""
    product, other = a.double() * b.double(), c.double()  # the product of two f32 is exact in f64
    total = product + other
    back = total - product
    error = (product - (total - back)) + (other - back)  # what f64 lost, exactly
    # Rounded to odd in f64, a number rounds to f32 as the exact one does.
    is_even = (total.view(torch.int64) & 1) == 0
    towards = torch.where(error > 0, torch.inf, -torch.inf).to(torch.float64)
    return torch.where((error != 0) & is_even, torch.nextafter(total, towards), total).float()


def _clamped(x: Tensor, grid: Grid, before: int) -> Tensor:
    return x.clamp(float(grid.lowest - before), float(grid.highest - before))


def rounded(x: Tensor, grid: Grid) -> Tensor:
    """rne(x), the zero point added behind that, saturated; without the zero point."""
    return torch.round(_clamped(x, grid, grid.zero_point)).to(INTEGER)


def rounded_with_zero_point(x: Tensor, grid: Grid) -> Tensor:
    """rne(x) of an x that has the zero point in it, saturated; without the zero point."""
    return (torch.round(_clamped(x, grid, 0)) - grid.zero_point).to(INTEGER)


def quantized(x: Tensor, grid: Grid) -> Tensor:
    """QuantizeLinear as pt2e computes it: by the inverse of the scale."""
    return rounded(x * (1.0 / grid.scale), grid)


def narrowed(grid: Grid, low: float | None, high: float | None) -> Grid:
    """The grid behind a clamp to [low, high]."""

    def stored(bound: float) -> int:
        return int(quantized(torch.tensor(bound, dtype=torch.float32), grid)) + grid.zero_point

    lowest = grid.lowest if low is None else max(grid.lowest, stored(low))
    return grid._replace(lowest=lowest, highest=grid.highest if high is None else min(grid.highest, stored(high)))


def product(total: Tensor, unit: Tensor, grid: Grid) -> Tensor:
    """An exact sum in units of `unit` (f32, by channel)."""
    return rounded(total.float() * (unit / grid.scale), grid)


def product_and_residual(total: Tensor, unit: Tensor, other: Integers, grid: Grid) -> Tensor:
    """The same and another value, rounded once."""
    multiplier = (unit / grid.scale).expand_as(total)
    return rounded(fma(total.float(), multiplier, other.centred.float() * (other.grid.scale / grid.scale)), grid)


def added(a: Integers, b: Integers, grid: Grid) -> Tensor:
    """QLinearAdd."""
    x, y = torch.broadcast_tensors((a.centred + a.grid.zero_point).float(), (b.centred + b.grid.zero_point).float())
    a_ratio, b_ratio = a.grid.scale / grid.scale, b.grid.scale / grid.scale
    b_part = b_ratio * b.grid.zero_point
    fixed = grid.zero_point - fma(a_ratio, torch.tensor(float(a.grid.zero_point)), b_part)
    inner = fma(y, b_ratio.expand_as(y), fixed.expand_as(y))
    return rounded_with_zero_point(fma(x, a_ratio.expand_as(x), inner), grid)


def multiplied(a: Integers, b: Integers, grid: Grid) -> Tensor:
    """QLinearMul."""
    ratio = (a.grid.scale * b.grid.scale) / grid.scale
    return rounded_with_zero_point((a.centred * b.centred).float() * ratio + grid.zero_point, grid)


def averaged(total: Tensor, count: int, x: Grid, grid: Grid) -> Tensor:
    """The mean of an image, of its exact sum."""
    return rounded(total.float() * (x.scale / (grid.scale * float(count))), grid)


def looked_up(x: Integers, function: Callable[[Tensor], Tensor], grid: Grid) -> Tensor:
    """A function of f32 as a table of all values."""
    values = torch.arange(x.grid.lowest, x.grid.highest + 1, dtype=INTEGER) - x.grid.zero_point
    table = quantized(function(values.float() * x.grid.scale), grid)
    return table[(x.centred - values[0]).long()]


_P = (4.37031012579801e-11, 1.15627324459942e-07, 6.08574864600143e-05, 8.51377133304701e-03, 2.48287947061529e-01)
_Q = (
    *(6.10247389755681e-13, 5.76102136993427e-09, 6.29106785017040e-06, 1.70198817374094e-03, 1.16817656904453e-01),
    9.93151921023180e-01,
)


def _polynomial(coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    result = torch.full_like(x, coefficients[0])
    for each in coefficients[1:]:
        result = fma(result, x, torch.full_like(x, each))
    return result


def sigmoid(x: Tensor) -> Tensor:
    """The sigmoid of f32 in tables: MLAS's quotient of polynomials."""
    bounded = x.clamp(-18.0, 18.0)
    square = bounded * bounded
    return ((bounded * _polynomial(_P, square)) / _polynomial(_Q, square) + 0.5).clamp(0.0, 1.0)


def _in_double(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda x: function(x.double()).float()


#: Functions of one value as tables have them.
TABLES: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": sigmoid,
    "silu": _in_double(lambda x: x / (1 + torch.exp(-x))),
    "tanh": _in_double(torch.tanh),
    "gelu": _in_double(torch.nn.functional.gelu),
    "mish": _in_double(torch.nn.functional.mish),
    "hardsigmoid": _in_double(lambda x: (x * float(torch.tensor(1 / 6)) + 0.5).clamp(0, 1)),
    "hardswish": _in_double(lambda x: x * (x / 6 + 0.5).clamp(0, 1)),
}
