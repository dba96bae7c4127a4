"""What a search found."""

from __future__ import annotations

import html
import os
import shlex
from typing import Any, Mapping

from .._errors import usage
from .._model import Model
from .._words import PathLike, words_of
from .front import Point, area_of, excess_of, front_of, table_of
from .picture import svg_of
from .space import Space


class SearchResult:
    """The front of accuracy against time, and the best of it, compiled.

    `points`: all that were measured; `fp32`: the network as it came; `rejected`: choices that could not be compiled
    or judged, each with why."""

    def __init__(
        self,
        points: list[Point],
        fp32: Point,
        best: Point,
        space: Space,
        model: Model,
        *,
        source: str,
        samples: str,
        metric: str,
        max_drop: float | None,
        latency: float | None,
        rejected: Mapping[int, str],
    ) -> None:
        self.points = points
        self.fp32 = fp32
        self.best = best
        self.model = model  #: the best one
        self.metric = metric
        self.rejected = dict(rejected)
        self._space = space
        self._source, self._samples = source, samples
        self._limits = (max_drop, latency)

    @property
    def front(self) -> list[Point]:
        """Points beside which none is at least as fast and as accurate, from the fastest on; fp32 is among them where
        it deserves it."""
        return front_of([*self.points, self.fp32])

    @property
    def is_within(self) -> bool:
        """Whether `best` is within the limits. Where none is, `best` is the nearest."""
        return max(excess_of(self.best, self.fp32, *self._limits), default=0.0) <= 0.0

    def options(self, point: Point | None = None) -> dict[str, Any]:
        """What `octavo.compile` takes for a point (default: the best)."""
        return self._space.compile_options((point or self.best).choice)

    def command(self, point: Point | None = None) -> str:
        """The same as a command line. `SAMPLES` stands for samples that came from Python."""
        point = point or self.best
        words = words_of({"calibrate": None if point.is_fp32 else self._samples, **self.options(point)})
        stem = os.path.splitext(os.path.basename(self._source))[0]
        return shlex.join(["octavo", "compile", self._source, *words, "-o", f"{stem}.octv"])

    def area(self, least: float) -> float:
        """What the front covers of the time up to fp32's and the metric from `least` on: the larger, the better the
        front."""
        return area_of(self.front, self.fp32, least)

    def _series(self, beside: "SearchResult | None", name: str) -> dict[str, list[Point]]:
        series: dict[str, list[Point]] = {}
        for point in self.points:
            series.setdefault(point.sampler or "search", []).append(point)
        if beside is not None:
            if beside.metric != self.metric:
                raise usage("beside", f"the metric {beside.metric}", self.metric)
            series[name if name not in series else f"{name} (beside)"] = self._rescaled(beside)
        return series

    def _rescaled(self, other: "SearchResult") -> list[Point]:
        """Times as shares of fp32's, which is the same network: machines have their moods."""
        return [point._replace(ms=point.ms / other.fp32.ms * self.fp32.ms) for point in other.points]

    def svg(self, beside: "SearchResult | None" = None, name: str = "grid") -> str:
        """The picture: what each sampler measured with its front, fp32, what was chosen, and another search of the
        same network."""
        return svg_of(self._series(beside, name), self.fp32, self.best, self.metric)

    def _page(self, beside: "SearchResult | None", name: str) -> str:
        return f"<h3>{html.escape(self._source)}</h3>{self.svg(beside, name)}<pre>{html.escape(str(self))}</pre>"

    def save(self, path: PathLike, beside: "SearchResult | None" = None, name: str = "grid") -> None:
        """Writes the picture, `.svg`, or with the front as a table, `.html`. Raises UsageError, OSError."""
        ending = os.path.splitext(os.fspath(path))[1].lower()
        if ending not in (".svg", ".html"):
            raise usage("path", repr(os.fspath(path)), "a name that ends in .svg or .html")
        page = f"<!doctype html><meta charset='utf-8'><title>octavo.search</title>{self._page(beside, name)}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg(beside, name) if ending == ".svg" else page)

    def _repr_html_(self) -> str:
        return self._page(None, "")

    def __str__(self) -> str:
        kept = {
            point.number: len(self._space.in_fp32(point.choice)) for point in self.points if point.choice is not None
        }
        drop = self.fp32.metric - self.best.metric
        limits = "within the limits" if self.is_within else "beyond the limits, the nearest"
        times = self.fp32.ms / self.best.ms
        chosen = f"best, {limits}: {self.best.ms:.4f} ms, {times:.2f} times as fast as fp32, "
        chosen += f"{self.metric} {self.best.metric:.6g} ({drop:+.4g} lost)"
        more = (
            [f"{len(self.rejected)} choices were rejected: {next(iter(self.rejected.values()))}"]
            if self.rejected
            else []
        )
        return "\n".join(
            [
                f"{self.metric}: {len(self.points)} points, the front:",
                table_of(self.front, self.fp32, kept),
                chosen,
                self.command(),
                *more,
            ]
        )

    def __repr__(self) -> str:
        best = f"{self.best.ms:.4f} ms, {self.metric} {self.best.metric:.6g}"
        return f"<octavo.SearchResult {self._source}: {len(self.points)} points, best {best}>"
