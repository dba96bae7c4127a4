"""What runs behind a session: a model that Octavo compiled or, where that is asked for, ONNX Runtime."""

from __future__ import annotations

import os
import warnings
from typing import Any, Callable, Mapping, Protocol, Sequence, Union

import numpy as np

from .. import _cache, _onnx_file
from .._core import Stop
from .._compile import compile as compile_model
from .._errors import InvalidInputError, OctavoError, UnsupportedError
from .._model import BoundModel, Model, TensorInfo, load
from .._onnx_file import Extent, OnnxFile, Value
from .._sources import Source, source_of
from .._words import CompileOptions
from . import _options
from ._errors import InvalidArgument, NotImplemented, as_onnxruntime, problem
from ._options import RunOptions, SessionOptions
from ._values import ModelMetadata, NodeArg, OrtValue, dtype_of_type, type_of_octavo

Given = Union[str, bytes]
Bound = Callable[[Union[RunOptions, None]], list[Any]]  # runs, and gives the outputs in order

_PREFIX = "octavo."
_OWN = ("fallback", "cache_dir")
_FLAGS = ("allow_host", "allow_reference", "foreign_log", "integer_only")
_MOST = 1 << 31  # the largest extent that an open dimension may have


class Engine(Protocol):
    """`run` and `bind` take arrays by the names of inputs."""

    inputs: list[NodeArg]
    outputs: list[NodeArg]
    overridable: list[NodeArg]
    metadata: ModelMetadata

    def run(self, names: Sequence[str], feeds: Mapping[str, Any], options: RunOptions | None) -> list[Any]:
        """The outputs of these names."""

    def bind(self, names: Sequence[str], feeds: Mapping[str, Any], out: Mapping[str, np.ndarray]) -> Bound:
        """A run that reads the same arrays at each call, and writes `out` and arrays of its own."""


def octavo_options(entries: Mapping[str, str]) -> dict[str, Any]:
    """Session entries `octavo.*` as keywords of octavo.compile, `fallback` and `cache_dir` among them. Raises
    InvalidArgument."""
    known = {"calibrate", "precision", *CompileOptions.__annotations__, *_OWN}
    given = {key.removeprefix(_PREFIX): value for key, value in entries.items() if key.startswith(_PREFIX)}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise problem(
            InvalidArgument,
            "session config entry",
            f"'{_PREFIX}{unknown[0]}'",
            ", ".join(_PREFIX + name for name in sorted(known)),
        )
    for name in (*_FLAGS, "fallback"):
        if given.get(name, "0") not in ("0", "1"):
            raise problem(InvalidArgument, f"session config entry '{_PREFIX}{name}'", f"'{given[name]}'", "'0' or '1'")
    return {name: value == "1" if name in _FLAGS or name == "fallback" else value for name, value in given.items()}


def _check_honoured(options: SessionOptions) -> None:
    if options.enable_profiling:
        raise problem(
            NotImplemented,
            "SessionOptions.enable_profiling",
            "True",
            "False",
            "octavo.explain(model) tells where time goes",
        )
    if options.optimized_model_filepath:
        raise problem(
            NotImplemented,
            "SessionOptions.optimized_model_filepath",
            f"'{options.optimized_model_filepath}'",
            "''",
            "octavo.compile(model).save(path) keeps a compiled model",
        )


def _closed(value: Value, options: SessionOptions) -> Value:
    """With overridden dimensions as numbers."""
    if value.shape is None:
        return value
    extents: list[Extent] = []
    for extent, denotation in zip(value.shape, value.denotations):
        open_name = extent if isinstance(extent, str) else ""
        closed = options._dimensions_by_name.get(open_name, options._dimensions_by_denotation.get(denotation))
        extents.append(extent if isinstance(extent, int) or closed is None else closed)
    return value._replace(shape=tuple(extents))


def _shape_option(file: OnnxFile, options: SessionOptions) -> dict[str, Any]:
    """Of inputs whose dimensions are overridden: those as numbers, and what is open stays so."""
    shapes = {}
    for value in file.inputs:
        closed = _closed(value, options)
        if closed.shape is not None and closed != value:
            shapes[value.name] = [extent if isinstance(extent, int) else (1, _MOST) for extent in closed.shape]
    return {"shape": shapes} if shapes else {}


def _arg(value: Value, told: TensorInfo | None, names: set[Extent]) -> NodeArg:
    """As the file has it; where it says no extent, that of the compiled model, if it is a number or a name of the
    file's."""
    known: list[Extent] = (
        [extent if isinstance(extent, int) or extent in names else None for extent in told.shape] if told else []
    )
    shape = list(value.shape) if value.shape is not None else known
    if len(known) == len(shape):
        shape = [other if isinstance(other, int) or extent is None else extent for extent, other in zip(shape, known)]
    return NodeArg(value.name, value.type, shape)


def _args(values: Sequence[Value], told: Sequence[TensorInfo], names: set[Extent]) -> list[NodeArg]:
    by_name = {each.name: each for each in told}
    return [_arg(value, by_name.get(value.name), names) for value in values]


class OctavoEngine:
    """A compiled model."""

    def __init__(self, model: Model, file: OnnxFile | None) -> None:
        self.model = model
        self.overridable: list[NodeArg] = []
        self.metadata = ModelMetadata(custom_metadata_map={})
        if file is None:
            self.inputs, self.outputs = (
                [NodeArg(each.name, type_of_octavo(each.dtype), list(each.shape)) for each in side]
                for side in (model.inputs, model.outputs)
            )
        else:
            names = {extent for value in (*file.inputs, *file.outputs) for extent in value.shape or ()}
            self.inputs = _args(file.inputs, model.inputs, names)
            self.outputs = _args(file.outputs, model.outputs, names)
            self.overridable = _args(file.overridable, (), names)
            self.metadata = ModelMetadata(**file.texts, version=file.model_version, custom_metadata_map=file.metadata)
        self._dtypes = {each.name: dtype_of_type(each.type) for each in self.inputs}
        self._names = [each.name for each in self.outputs]

    def _array(self, name: str, value: Any) -> Any:
        if isinstance(value, OrtValue):
            return value._array
        return (
            value
            if hasattr(value, "__dlpack__") or hasattr(value, "__array__")
            else np.asarray(value, self._dtypes.get(name))
        )

    def _arrays(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value if type(value) is np.ndarray else self._array(name, value) for name, value in feeds.items()}

    def run(self, names: Sequence[str], feeds: Mapping[str, Any], options: RunOptions | None) -> list[Any]:
        arrays = self._arrays(feeds)
        with as_onnxruntime():
            results = self.model.run(arrays, stop=_stop_of(options))
        return [results[name] for name in names]

    def bind(self, names: Sequence[str], feeds: Mapping[str, Any], out: Mapping[str, np.ndarray]) -> Bound:
        return _BoundRun(self.model, names, self._arrays(feeds), out)


def _stop_of(options: RunOptions | None) -> Stop | None:
    return None if options is None else options._stop


class _BoundRun:
    """Runs on the same arrays: as any run when it is called first, so that binding anew for every run costs nothing,
    and from then on as a bound model."""

    def __init__(
        self, model: Model, names: Sequence[str], feeds: Mapping[str, Any], out: Mapping[str, np.ndarray]
    ) -> None:
        self._model = model
        self._names = names
        self._feeds = feeds
        self._out = dict(out)
        self._outputs: dict[str, Any] = {}  # of the run before
        self._is_program = bool(model.info["parts"])  # shapes of its outputs are data: nobody can bind them
        self._bound: BoundModel | None = None

    def __call__(self, options: RunOptions | None) -> list[Any]:
        with as_onnxruntime():
            if self._bound is None and self._outputs and not self._is_program:
                self._bound = self._model.bind(self._feeds, self._outputs)
            if self._bound is None:
                self._run(_stop_of(options))
            else:
                self._bound.run(_stop_of(options))
        return [self._outputs[name] for name in self._names]

    def _run(self, stop: Stop | None) -> None:
        is_whole = len(self._out) == len(self._model.outputs) and not self._is_program
        results = self._model.run(self._feeds, self._out if is_whole else None, stop=stop)
        self._outputs = results if is_whole else _put(results, self._out)


def _put(results: Mapping[str, Any], out: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The results, those that have a place in `out` copied to there."""
    found = dict(results)
    for name, target in out.items():
        result = results[name]
        if (target.shape, target.dtype) != (result.shape, result.dtype):
            told, wanted = (f"{each.dtype}{list(each.shape)}" for each in (target, result))
            raise problem(InvalidArgument, f"output '{name}'", told, wanted)
        target[...] = result
        found[name] = target
    return found


def _plain(value: Any) -> Any:
    return value._array if isinstance(value, OrtValue) else value


class RealEngine:
    """ONNX Runtime itself, for a model that Octavo does not read."""

    def __init__(self, package: Any, session: Any) -> None:
        self.package = package
        self.session = session
        self.inputs, self.outputs, self.overridable = (
            [NodeArg(each.name, each.type, each.shape) for each in side]
            for side in (session.get_inputs(), session.get_outputs(), session.get_overridable_initializers())
        )
        meta = session.get_modelmeta()
        self.metadata = ModelMetadata(**{name: getattr(meta, name) for name in ModelMetadata._fields})

    def run(self, names: Sequence[str], feeds: Mapping[str, Any], options: RunOptions | None) -> list[Any]:
        arrays = {name: _plain(value) for name, value in feeds.items()}
        return list(self.session.run(list(names), arrays, None if options is None else options._real_of(self.package)))

    def bind(self, names: Sequence[str], feeds: Mapping[str, Any], out: Mapping[str, np.ndarray]) -> Bound:
        def call(options: RunOptions | None) -> list[Any]:
            results = _put(dict(zip(names, self.run(names, feeds, options))), out)
            return [results[name] for name in names]

        return call


def _real_options(real: Any, options: SessionOptions) -> Any:
    converted = real.SessionOptions()
    for name, value in options.values().items():
        enum = (
            getattr(real, type(value).__name__)
            if isinstance(value, (_options.GraphOptimizationLevel, _options.ExecutionMode, _options.ExecutionOrder))
            else None
        )
        setattr(converted, name, value if enum is None else getattr(enum, value.name))
    for key, value in options._entries.items():
        if not key.startswith(_PREFIX):
            converted.add_session_config_entry(key, value)
    for name, extent in options._dimensions_by_name.items():
        converted.add_free_dimension_override_by_name(name, extent)
    for name, extent in options._dimensions_by_denotation.items():
        converted.add_free_dimension_override_by_denotation(name, extent)
    return converted


def _fallen_back(given: Given, options: SessionOptions, error: OctavoError) -> Engine:
    try:
        import onnxruntime as real
    except ImportError:
        absent = problem(NotImplemented, "octavo.fallback", "no onnxruntime", "that package installed")
        raise type(error)([*error.errors, *absent.errors]) from None
    warnings.warn(f"Octavo does not take this model, onnxruntime runs it: {error}", RuntimeWarning, stacklevel=5)
    session = real.InferenceSession(given, _real_options(real, options), providers=["CPUExecutionProvider"])
    return RealEngine(real, session)


def _compiled(source: Source, file: OnnxFile | None, options: SessionOptions, words: dict[str, Any]) -> Model:
    cache_dir = words.pop("cache_dir", None)
    shape = _shape_option(file, options) if file is not None else {}
    return compile_model(
        source,
        threads=options.intra_op_num_threads,
        cache_dir=_cache.default_directory() if cache_dir is None else cache_dir,
        progress=False,
        **{"unquantized": "fp32", **shape, **words},
    )


def _check_settled(source: Source, words: Mapping[str, Any], options: SessionOptions) -> None:
    """Nothing is asked for that was decided when the file was compiled."""
    late = [_PREFIX + name for name in words if name not in _OWN]
    late += [*options._dimensions_by_name, *options._dimensions_by_denotation]
    if late:
        raise problem(InvalidArgument, source.name, f"a compiled model and '{late[0]}'", "a model file to compile")


def engine_of(given: Given, options: SessionOptions) -> Engine:
    """The model compiled, or taken from the cache. Errors are of ONNX Runtime's kinds."""
    words = octavo_options(options._entries)
    fallback = words.pop("fallback", False)
    _check_honoured(options)
    source = Source(given) if isinstance(given, str) else source_of(given)
    with as_onnxruntime(given if isinstance(given, str) else ""):
        if is_compiled(source):
            _check_settled(source, words, options)
            return OctavoEngine(load(given, threads=options.intra_op_num_threads), None)
        file = _onnx_file.read(source) if source.content is not None or os.path.isfile(source.name) else None
        if file is None and (options._dimensions_by_name or options._dimensions_by_denotation):
            raise problem(InvalidArgument, source.name, "no ONNX file", "one, for dimensions that are overridden")
        try:
            model = _compiled(source, file, options, words)
        except (UnsupportedError, InvalidInputError) as error:
            if not fallback:
                raise
            return _fallen_back(given, options, error)
    if file is not None:
        file = file._replace(
            inputs=[_closed(each, options) for each in file.inputs],
            outputs=[_closed(each, options) for each in file.outputs],
        )
    return OctavoEngine(model, file if model.info["dialect"].startswith("ONNX") else None)


def is_compiled(source: Source) -> bool:
    """Whether it holds an .octv."""
    from .. import _core

    return (source.content is not None or os.path.isfile(source.name)) and _core.is_compiled(
        source.name, source.content
    )
