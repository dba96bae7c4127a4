"""The front of accuracy against time as a picture: SVG written here, so that no package is needed."""

from __future__ import annotations

import html
import math
from typing import Mapping, Sequence

from .front import Point, front_of

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 420, 76, 180, 24, 52
_COLOURS = ("#1668b8", "#c4631c", "#3a8a3a", "#8a4fa8", "#777777")


class _Axis:
    """Values to pixels, with a margin and round marks."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        low, high = min(values), max(values)
        margin = (high - low) * 0.06 or abs(high) * 0.05 or 1.0
        self.low, self.high, self.first, self.last = low - margin, high + margin, first, last

    def __call__(self, value: float) -> float:
        return self.first + (value - self.low) / (self.high - self.low) * (self.last - self.first)

    def marks(self) -> list[float]:
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough)
        return [i * step for i in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]


def _frame(x: _Axis, y: _Axis, metric: str) -> list[str]:
    parts = []
    for mark in x.marks():
        parts.append(f'<path d="M{x(mark):.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{x(mark):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{mark:.6g}</text>')
    for mark in y.marks():
        parts.append(f'<path d="M{_LEFT} {y(mark):.1f}H{_WIDTH - _RIGHT}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y(mark) + 4:.1f}" text-anchor="end">{mark:.6g}</text>')
    parts.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 12}" text-anchor="middle">ms of a run</text>'
    )
    parts.append(
        f'<text transform="translate(18 {(_TOP + _HEIGHT - _BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
        f"{html.escape(metric)}</text>"
    )
    return parts


def _series(points: Sequence[Point], x: _Axis, y: _Axis, colour: str) -> list[str]:
    parts = []
    for point in points:
        told = html.escape(", ".join(f"{name}: {value}" for name, value in (point.choice or {}).items()))
        parts.append(
            f'<circle cx="{x(point.ms):.1f}" cy="{y(point.metric):.1f}" r="3" fill="{colour}" fill-opacity="0.45">'
            f"<title>{told}</title></circle>"
        )
    front = front_of(points)
    steps = [
        f"{'M' if i == 0 else 'H'}{x(point.ms):.1f}{' ' if i == 0 else 'V'}{y(point.metric):.1f}"
        for i, point in enumerate(front)
    ]
    return (
        [*parts, f'<path d="{"".join(steps)}" fill="none" stroke="{colour}" stroke-width="2"/>'] if front else parts
    )


def svg_of(series: Mapping[str, Sequence[Point]], fp32: Point, best: Point | None, metric: str) -> str:
    """A self-contained SVG: the points of each series with their front, fp32, and what was chosen."""
    every = [point for points in series.values() for point in points] + [fp32]
    x = _Axis([point.ms for point in every], _LEFT, _WIDTH - _RIGHT)
    y = _Axis([point.metric for point in every], _HEIGHT - _BOTTOM, _TOP)
    parts = _frame(x, y, metric)
    legend = []
    for i, (name, points) in enumerate(series.items()):
        colour = _COLOURS[i % len(_COLOURS)]
        parts += _series(points, x, y, colour)
        legend.append((colour, f"{name} ({len(points)})"))
    parts.append(
        f'<path d="M{x(fp32.ms) - 5:.1f} {y(fp32.metric) - 5:.1f}h10v10h-10z" fill="#222222"><title>fp32</title></path>'
    )
    legend.append(("#222222", "fp32"))
    if best is not None:
        parts.append(
            f'<circle cx="{x(best.ms):.1f}" cy="{y(best.metric):.1f}" r="8" fill="none"'
            ' stroke="#d01c4b" stroke-width="2"/>'
        )
        legend.append(("#d01c4b", "chosen"))
    for i, (colour, text) in enumerate(legend):
        parts.append(
            f'<path d="M{_WIDTH - _RIGHT + 16} {_TOP + 12 + 22 * i}h14" stroke="{colour}" stroke-width="4"/>'
        )
        parts.append(f'<text x="{_WIDTH - _RIGHT + 38}" y="{_TOP + 16 + 22 * i}">{html.escape(text)}</text>')
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    return head + '<rect width="100%" height="100%" fill="white"/>' + "".join(parts) + "</svg>"
