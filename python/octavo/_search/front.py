"""Which of the points that were measured matter. Needs Python alone."""

from __future__ import annotations

from typing import Any, Iterable, Mapping, NamedTuple, Sequence

from .space import Choice


class Point(NamedTuple):
    """A choice with what was measured: `metric` (higher is better) and the time of a run, in ms."""

    metric: float
    ms: float
    choice: Choice | None = None  #: None: all in fp32
    sampler: str = ""
    number: int = -1  #: of the trial

    @property
    def is_fp32(self) -> bool:
        return self.choice is None


def front_of(points: Iterable[Point]) -> list[Point]:
    """Those beside which no other is at least as fast and as accurate, from the fastest to the most accurate; of
    equals the first."""
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (point.ms, -point.metric, point.number)):
        if not front or point.metric > front[-1].metric:
            front.append(point)
    return front


def excess_of(point: Point, fp32: Point, max_drop: float | None, latency: float | None) -> list[float]:
    """How far beyond each limit that is set; 0 or less is within."""
    drop = [] if max_drop is None else [fp32.metric - point.metric - max_drop]
    return drop + ([] if latency is None else [point.ms - latency])


def best_of(points: Sequence[Point], fp32: Point, max_drop: float | None, latency: float | None) -> Point:
    """The fastest within `max_drop` (and `latency`); with `latency` alone the most accurate within it. Where none is
    within both, the fastest within `max_drop`; where none is within `latency`, the fastest."""

    def within(drop: float | None, time: float | None) -> list[Point]:
        return [point for point in points if max(excess_of(point, fp32, drop, time), default=0.0) <= 0.0]

    def fastest(some: Iterable[Point]) -> Point:
        return min(some, key=lambda point: (point.ms, -point.metric, point.number))

    good = within(max_drop, latency)
    if max_drop is not None:
        return fastest(good or within(max_drop, None) or points)
    return max(good, key=lambda point: (point.metric, -point.ms)) if good else fastest(points)


def area_of(front: Sequence[Point], fp32: Point, least: float) -> float:
    """What the front covers of the time up to fp32's and the metric from `least` on: the larger, the better the
    front."""
    area, reached = 0.0, least
    for point in front:
        if point.ms < fp32.ms and point.metric > reached:
            area += (fp32.ms - point.ms) * (point.metric - reached)
            reached = point.metric
    return area


def table_of(points: Sequence[Point], fp32: Point, in_fp32: Mapping[int, int]) -> str:
    """As text, a line for each. `in_fp32`: nodes of each point's number that stay there."""

    def row(point: Point) -> str:
        options: dict[str, Any] = {
            name: value for name, value in (point.choice or {}).items() if not name.startswith("fp32 band ")
        }
        told = "all in fp32" if point.is_fp32 else ", ".join(f"{name} {value}" for name, value in options.items())
        kept = f"{in_fp32.get(point.number, 0)} nodes in fp32; " if not point.is_fp32 else ""
        return f"{point.ms:>10.4f} {fp32.ms / point.ms:>7.2f}x {point.metric:>10.4g}  {kept}{told}"

    return "\n".join([f"{'ms':>10} {'to fp32':>8} {'metric':>10}", *map(row, points)])
