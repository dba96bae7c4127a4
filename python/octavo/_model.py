"""Compiled models that run."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, NamedTuple, Sequence

from . import _core
from ._core import Stop
from ._errors import usage
from ._report import Report
from ._sources import Source, source_of

Array = Any  # numpy, torch, jax: whatever has the buffer protocol or DLPack


class TensorInfo(NamedTuple):
    """An input or output. `shape` has text where a size is open; `scale` and `zero_point` are of a quantized one, else None."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    scale: float | None = None
    zero_point: int | None = None


def _extent(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text


def _only(values: Sequence[Any] | None) -> Any:
    return values[0] if values else None


def _tensors(described: Sequence[tuple[str, str, list[str]]], plans: Sequence[Mapping[str, Any]], side: str) -> tuple[TensorInfo, ...]:
    scales = {tensor["name"]: tensor for tensor in plans[0][side]} if plans else {}
    infos = []
    for name, dtype, shape in described:
        scale = scales.get(name, {})
        infos.append(TensorInfo(name, dtype, tuple(_extent(each) for each in shape), _only(scale.get("scale")), _only(scale.get("zero_point"))))
    return tuple(infos)


class BoundModel:
    """A model with arrays that stay where they are: `bound()` reads the inputs, writes the outputs and allocates nothing.

    `inputs` and `outputs` are the arrays by name. For one thread at a time."""

    __slots__ = ("_bound", "inputs", "outputs", "run")

    def __init__(self, bound: _core.BoundModel, inputs: dict[str, Array], outputs: dict[str, Array]) -> None:
        self._bound = bound
        self.inputs = inputs
        self.outputs = outputs
        self.run = bound.run

    def __call__(self, stop: Stop | None = None) -> dict[str, Array]:
        """Runs, and gives `outputs`. `stop` may end it, as that of Model.run."""
        self._bound.run(stop)
        return self.outputs


class Model:
    """A compiled model, ready to run.

    Calls from several threads run at the same time, each with memory of its own; the GIL is released. After a fork it works in the
    child, too. It pickles as its bytes."""

    def __init__(self, compiled: _core.CompiledModel, *, threads: int = 0, plan_cache_bytes: int = 64 << 20, context_bytes: int = 0, max_iterations: int = 1_000_000, device: int = 0) -> None:
        self._limits = (threads, plan_cache_bytes, context_bytes, max_iterations, device)
        self._compiled = compiled
        self._loaded = _core.LoadedModel(compiled, *self._limits)
        self._info: Report | None = None
        self._names = tuple(name for name, _, _ in self._loaded.inputs())
        self._output_names = tuple(name for name, _, _ in self._loaded.outputs())
        self._run = self._loaded.run

    @property
    def info(self) -> Report:
        """What the file tells of itself: the object of `octavo inspect --json`."""
        if self._info is None:
            self._info = Report(json.loads(self._compiled.info()), "inspect")
        return self._info

    @property
    def source(self) -> str:
        """The name of the file it was compiled from."""
        return str(self.info["source"])

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """In the order in which a call takes them."""
        return _tensors(self._loaded.inputs(), self.info["plans"], "inputs")

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """In the order in which a call gives them."""
        return _tensors(self._loaded.outputs(), self.info["plans"], "outputs")

    @property
    def memory_bytes(self) -> int:
        """Of the contexts that no call has at the moment; weights are apart, in the mapped file."""
        return self._loaded.memory_bytes()

    def _ordered(self, arrays: Sequence[Array], named: Mapping[str, Array]) -> Sequence[Array]:
        names = self._names
        if not arrays and len(named) == len(names):
            try:
                return [named[name] for name in names]
            except KeyError:
                pass  # said below
        unknown = [name for name in named if name not in names]
        missing = [name for name in names[len(arrays) :] if name not in named]
        if unknown or missing or len(arrays) + len(named) != len(names):
            found = f"'{unknown[0]}'" if unknown else f"no '{missing[0]}'" if missing else f"{len(arrays) + len(named)} arrays"
            raise usage("inputs", found, f"each of {', '.join(names)} once")
        return [*arrays, *(named[name] for name in names[len(arrays) :])]

    def _ordered_outputs(self, out: Array | Sequence[Array] | Mapping[str, Array] | None) -> Sequence[Array] | None:
        if out is None or isinstance(out, (list, tuple)):
            return out
        if not isinstance(out, Mapping):
            return (out,)
        if set(out) != set(self._output_names):
            raise usage("outputs", f"{', '.join(sorted(out)) or 'none'}", f"each of {', '.join(self._output_names)}")
        return [out[name] for name in self._output_names]

    def __call__(self, *arrays: Array, out: Array | Sequence[Array] | Mapping[str, Array] | None = None, **named: Array) -> Any:
        """The output of these inputs, in their order or by name; a tuple where there are several.

        Arrays have the type and shape of the input, are read in place where they are dense and copied where they are not. `out`:
        arrays to write into, in place or a UsageError. Of a model for a CUDA device both may lie in its memory."""
        given = self._ordered(arrays, named) if named else arrays
        outputs = self._run(given, self._ordered_outputs(out))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def run(
        self, inputs: Mapping[str, Array] | Sequence[Array], out: Sequence[Array] | Mapping[str, Array] | None = None, *, stop: Stop | None = None
    ) -> dict[str, Any]:
        """Outputs by name, of inputs by name or in order.

        `stop`: from another thread its `request()` ends the run with CancelledError as soon as the step at hand is done, and every later
        one until `clear()`; what was in `out` is then undefined."""
        given = self._ordered((), inputs) if isinstance(inputs, Mapping) else inputs
        return dict(zip(self._output_names, self._run(given, self._ordered_outputs(out), stop)))

    def bind(self, inputs: Mapping[str, Array] | Sequence[Array], out: Array | Sequence[Array] | Mapping[str, Array] | None = None) -> BoundModel:
        """The model with these arrays, which are read and written in place at every call (and once now, to see that they fit).
        Outputs that are not given are new arrays."""
        given = self._ordered((), inputs) if isinstance(inputs, Mapping) else inputs
        bound = _core.BoundModel(self._loaded, given, self._ordered_outputs(out))
        return BoundModel(bound, dict(zip(self._names, given)), dict(zip(self._output_names, bound.outputs())))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes an .octv file, all or nothing. Raises ResourceError."""
        self._compiled.save(os.fspath(path))

    def to_bytes(self) -> bytes:
        """What `save` would write."""
        return self._compiled.bytes()

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded_again, (self.source, self.to_bytes(), self._limits)

    def __repr__(self) -> str:
        def text(tensors: Sequence[TensorInfo]) -> str:
            return ", ".join(f"{each.name}: {each.dtype}[{', '.join(map(str, each.shape))}]" for each in tensors)

        return f"<octavo.Model {self.source}: {self.info['dialect']}; {text(self.inputs)} -> {text(self.outputs)}>"

    def _repr_html_(self) -> str:
        return self.info._repr_html_()


def _loaded_again(name: str, content: bytes, limits: tuple[int, int, int, int, int]) -> Model:
    threads, plan_cache_bytes, context_bytes, max_iterations, device = limits
    return Model(_core.open(name, content), threads=threads, plan_cache_bytes=plan_cache_bytes, context_bytes=context_bytes, max_iterations=max_iterations, device=device)


def load(
    model: str | os.PathLike[str] | bytes, *, threads: int = 0, plan_cache_bytes: int = 64 << 20, context_bytes: int = 0, max_iterations: int = 1_000_000, device: int = 0
) -> Model:
    """Opens an .octv, by its path (mapped: replace it by renaming) or of its bytes (copied).

    `threads`: that a run takes at most (0: all cores). `plan_cache_bytes`: for plans of sizes that come in a run. `context_bytes`: the
    most memory that a call may take (0: no limit). `max_iterations`: of all loops of a run. `device`: the CUDA device that runs what is
    compiled with target="cuda", counted from 0. Raises ResourceError where it cannot be read, or what runs it is missing,
    InvalidInputError where it is no sound .octv."""
    source = source_of(model)
    if source.is_file and not os.path.exists(source.name):
        raise FileNotFoundError(2, "no such file", source.name)
    compiled = _core.open(source.name, source.content)
    return Model(compiled, threads=threads, plan_cache_bytes=plan_cache_bytes, context_bytes=context_bytes, max_iterations=max_iterations, device=device)


__all__ = ["BoundModel", "Model", "Source", "TensorInfo", "load"]
