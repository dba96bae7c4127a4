"""What a search may choose: options of the command line, and which layers stay in fp32. Needs Python alone."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from .._errors import usage

Choice = dict[str, Any]  # a value for each axis

#: The options that change accuracy; the first value of each is the command's default.
DEFAULT_OPTIONS: Mapping[str, Sequence[Any]] = {
    "calibration": ("auto", "mse", "minmax", "average", "percentile", "entropy"),
    "weights": ("adaround", "mse", "max"),
    "corrections": ("bias,smooth", "fast-bias,smooth", "bias,equalize,smooth", "none"),
}

_FP32_OPTIONS = ("shape", "batch", "target", "allow_reference", "allow_host")  # those that also mean something in fp32

_BAND = "fp32 band "  # axes of layers: "fp32 band 1" is that of the noisiest


def bands_of(noise: Sequence[float], most: int) -> list[list[int]]:
    """Groups of layers in at most `most` bands, the noisiest first: of 1, 1, 2, 4, ... groups, the last with what is
    left."""
    order = sorted(range(len(noise)), key=lambda group: (-noise[group], group))
    bands: list[list[int]] = []
    size = 1
    while order:
        last = len(bands) == most - 1
        bands.append(sorted(order[: None if last else size]))
        order = order[len(order) if last else size :]
        size = size if len(bands) == 1 else 2 * size
    return bands


class Space(NamedTuple):
    """`options`: values of each option. `bands`: nodes of the layers that stay in fp32 together. `fixed`: options of
    all choices."""

    options: Mapping[str, Sequence[Any]]
    bands: Sequence[Sequence[str]]
    fixed: Mapping[str, Any] = {}

    @property
    def axes(self) -> dict[str, Sequence[Any]]:
        """All names with their values, the default first."""
        return {**self.options, **{f"{_BAND}{band + 1}": (False, True) for band in range(len(self.bands))}}

    @property
    def size(self) -> int:
        """How many choices there are."""
        return math.prod(len(values) for values in self.axes.values())

    @property
    def default(self) -> Choice:
        """What the command does without options."""
        return {name: values[0] for name, values in self.axes.items()}

    def ladder(self) -> list[Choice]:
        """The default, and with it the noisiest band in fp32, the noisiest two, ..., but never all."""
        names = [name for name in self.axes if name.startswith(_BAND)]
        return [{**self.default, **{name: True for name in names[:count]}} for count in range(max(1, len(names)))]

    def grid(self) -> Iterator[Choice]:
        """Every choice; the bands change slowest, so that the first ones are all in int8."""
        axes = dict(reversed(self.axes.items()))
        for values in itertools.product(*axes.values()):
            chosen = dict(zip(axes, values))
            yield {name: chosen[name] for name in self.axes}

    def draw(self, source: random.Random) -> Choice:
        """Any choice, all equally likely."""
        return {name: source.choice(values) for name, values in self.axes.items()}

    def neighbour(self, choice: Mapping[str, Any], source: random.Random) -> Choice:
        """The same but for one axis."""
        name = source.choice([name for name, values in self.axes.items() if len(values) > 1] or list(self.axes))
        return {
            **choice,
            name: source.choice([value for value in self.axes[name] if value != choice[name]] or [choice[name]]),
        }

    def in_fp32(self, choice: Mapping[str, Any]) -> list[str]:
        """Nodes that this choice keeps in fp32."""
        return [node for band, nodes in enumerate(self.bands) if choice[f"{_BAND}{band + 1}"] for node in nodes]

    def compile_options(self, choice: Mapping[str, Any] | None) -> dict[str, Any]:
        """Of `octavo.compile`, by their names; without a choice all in fp32."""
        if choice is None:
            return fp32_options(self.fixed)
        options = {**self.fixed, **{name: choice[name] for name in self.options}}
        always = options.get("skip") or []
        skip = [*(always.split(",") if isinstance(always, str) else always), *map(pattern_of, self.in_fp32(choice))]
        return {**options, "skip": skip} if skip else options


def fp32_options(fixed: Mapping[str, Any]) -> dict[str, Any]:
    """What compiles the network as it came."""
    return {"precision": "fp32", **{name: value for name, value in fixed.items() if name in _FP32_OPTIONS}}


def pattern_of(node: str) -> str:
    """A node as `--skip` takes it: commas part names there, and any character stands for them."""
    return node.replace(",", "?")


def checked_options(given: Mapping[str, Sequence[Any]] | None, fixed: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The values to choose among: the defaults where nothing is given; an option that is fixed is no axis. Raises
    UsageError."""
    if given is None:
        return {name: list(values) for name, values in DEFAULT_OPTIONS.items() if fixed.get(name) is None}
    options = {}
    for name, values in given.items():
        if isinstance(values, str) or not isinstance(values, (list, tuple)) or not values:
            raise usage(f"space, '{name}'", repr(values), "a list of values")
        if fixed.get(name) is not None:
            raise usage(f"space, '{name}'", f"the option {name}={fixed[name]!r} beside it", "one of the two")
        if name in ("skip", "precision"):
            raise usage(
                f"space, '{name}'", "an option that the search decides by itself", "other options of octavo.compile"
            )
        options[name] = [",".join(value) if isinstance(value, (list, tuple)) else value for value in values]
    return options
