"""Scales that training observes or learns, and rounding with straight-through gradients."""

from __future__ import annotations

from typing import Sequence

import torch
from torch import Tensor

from ._integers import Grid

_LEAST_SCALE = 2.0**-20
_MOMENTUM = 0.99


class _ScaledGradient(torch.autograd.Function):
    @staticmethod
    def forward(context: object, x: Tensor, factor: float) -> Tensor:
        context.factor = factor  # type: ignore[attr-defined]
        return x.clone()

    @staticmethod
    def backward(context: object, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0] * context.factor, None  # type: ignore[attr-defined]


class Rounding(torch.nn.Module):
    """Values as integers of [lowest, highest]: one scale and zero point, or, of weights, a scale by channel and none.

    In training it follows the ranges that it sees (a moving average of the ends); a learned scale starts from what is seen without
    gradients, or first, and then has gradients of its own (LSQ, Esser et al. 2020)."""

    low: Tensor
    high: Tensor
    is_seen: Tensor
    zero: Tensor

    def __init__(self, lowest: int, highest: int, *, is_symmetric: bool, axis: int | None, is_learned: bool) -> None:
        super().__init__()
        self.lowest, self.highest = lowest, highest
        self.is_symmetric, self.axis, self.is_learned = is_symmetric, axis, is_learned
        self.register_buffer("low", torch.zeros(()))
        self.register_buffer("high", torch.zeros(()))
        self.register_buffer("is_seen", torch.tensor(False))
        self.register_buffer("zero", torch.zeros((), dtype=torch.int64))
        self.scale = torch.nn.Parameter(torch.ones(()), requires_grad=is_learned)

    def _load_from_state_dict(self, state: dict[str, Tensor], prefix: str, *rest: object) -> None:
        for name in ("low", "high", "scale"):  # by channel once something was seen
            if prefix + name in state:
                getattr(self, name).data = torch.empty_like(state[prefix + name])
        super()._load_from_state_dict(state, prefix, *rest)

    def _ends(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if self.axis is None:
            return x.min().clamp(max=0), x.max().clamp(min=0)
        lines = x.transpose(0, self.axis).flatten(1)
        return lines.amin(1).clamp(max=0), lines.amax(1).clamp(min=0)

    @torch.no_grad()
    def observe(self, x: Tensor, *, moves: bool) -> None:
        """Takes the range of x in, as part of a moving average or alone."""
        if self.is_learned and bool(self.is_seen) and torch.is_grad_enabled():
            return
        low, high = self._ends(x.detach())
        if bool(self.is_seen) and moves:
            low, high = (_MOMENTUM * old + (1 - _MOMENTUM) * new for old, new in ((self.low, low), (self.high, high)))
        self.low, self.high = low, high
        self.is_seen.fill_(True)
        if self.is_symmetric:
            scale = torch.maximum(-low, high) / self.highest
        else:
            scale = (high - low) / (self.highest - self.lowest)
        self.scale.data = scale.clamp(min=_LEAST_SCALE)
        if not self.is_symmetric:
            self.zero.copy_((self.lowest - torch.round(low / self.scale)).clamp(self.lowest, self.highest))

    def _scale(self, size: int) -> Tensor:
        if not self.is_learned:
            return self.scale.detach()
        factor = (size / max(1, self.scale.numel()) * self.highest) ** -0.5
        return _ScaledGradient.apply(self.scale.abs().clamp(min=_LEAST_SCALE), factor)  # type: ignore[no-untyped-call]

    def grid(self) -> Grid:
        """What integers stand for now; the scale by channel where there is an axis."""
        return Grid(self.scale.detach().abs().clamp(min=_LEAST_SCALE), int(self.zero), self.lowest, self.highest)

    def along(self, scale: Tensor, rank: int) -> Tensor:
        """A scale by channel in the shape that meets a tensor of this rank."""
        if self.axis is None:
            return scale
        shape: Sequence[int] = [-1 if axis == self.axis else 1 for axis in range(rank)]
        return scale.reshape(shape)

    def forward(self, x: Tensor) -> Tensor:
        """x rounded, with straight-through gradients for x within the range and for a learned scale."""
        scale = self.along(self._scale(x.numel()), x.dim())
        units, zero = x / scale, int(self.zero)
        nearest = torch.round(units.detach())
        whole = nearest.clamp(self.lowest - zero, self.highest - zero)
        # By the rounded value: the largest weight is an end of the range, and by a hair may be beyond it.
        return torch.where(nearest == whole, units + (whole - units).detach(), whole) * scale
