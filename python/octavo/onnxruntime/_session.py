"""InferenceSession."""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any, Callable, Mapping, Sequence

from .._errors import OctavoError
from ._binding import IOBinding
from ._engine import engine_of
from ._errors import InvalidArgument, problem
from ._options import RunOptions, SessionOptions
from ._values import ModelMetadata, NodeArg, OrtValue

PROVIDER = "CPUExecutionProvider"


def _check_providers(providers: Any, provider_options: Any) -> None:
    """As ONNX Runtime checks them; those that are not there are named in a warning, and the CPU is taken."""
    if providers is None:
        return
    if isinstance(providers, str) or not isinstance(providers, Sequence):
        raise ValueError("'providers' should be a sequence.")
    if provider_options is not None:
        if not isinstance(provider_options, Sequence) or len(providers) != len(provider_options):
            raise ValueError(
                "'providers' and 'provider_options' should be sequences of the same length if both are given."
            )
        if not all(isinstance(each, str) for each in providers) or not all(
            isinstance(each, dict) for each in provider_options
        ):
            raise ValueError("'providers' should be strings and 'provider_options' dicts if both are given.")
    for provider in providers:
        named = (
            provider[0]
            if isinstance(provider, tuple) and len(provider) == 2 and isinstance(provider[1], dict)
            else provider
        )
        if not isinstance(named, str):
            raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
        if named != PROVIDER:
            warnings.warn(
                f"Specified provider '{named}' is not in available provider names. Available providers: '{PROVIDER}'",
                stacklevel=4,
            )


class InferenceSession:
    """A model that runs, as ONNX Runtime's InferenceSession of the CPU.

    `path_or_bytes`: an ONNX file or its bytes; whatever else `octavo.compile` and `octavo.load` read is taken, too.
    The compiled model is kept in the cache. fp32 files run in fp32 unless the entries `octavo.*` of `sess_options`
    say otherwise (docs/python.md). Raises TypeError, and the classes of `capi.onnxruntime_pybind11_state`, which are
    Octavo's errors, too."""

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
        *,
        disabled_optimizers: Any = None,
        enable_fallback: Any = 1,
        read_config_from_model: Any = 0,
    ) -> None:
        if not isinstance(path_or_bytes, (str, os.PathLike, bytes)):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        _check_providers(providers, provider_options)
        self._sess_options = sess_options if sess_options is not None else SessionOptions()
        self._engine = engine_of(
            path_or_bytes if isinstance(path_or_bytes, bytes) else os.fspath(path_or_bytes), self._sess_options
        )
        self._input_names = [each.name for each in self._engine.inputs]
        self._output_names = [each.name for each in self._engine.outputs]
        self._required = [each.name for each in self._engine.inputs if not each.type.startswith("optional")]

    def get_inputs(self) -> list[NodeArg]:
        """Those that a run takes, in the model's order."""
        return self._engine.inputs

    def get_outputs(self) -> list[NodeArg]:
        """In the model's order."""
        return self._engine.outputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs that have a value in the file. To override one is InvalidArgument."""
        return self._engine.overridable

    def get_modelmeta(self) -> ModelMetadata:
        """What the file says of itself."""
        return self._engine.metadata

    def get_session_options(self) -> SessionOptions:
        """Those that it was made with."""
        return self._sess_options

    def get_providers(self) -> list[str]:
        """The CPU's."""
        return [PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """None."""
        return {PROVIDER: {}}

    def set_providers(
        self, providers: Sequence[Any] | None = None, provider_options: Sequence[Mapping[Any, Any]] | None = None
    ) -> None:
        """There is one, which stays; others are named in a warning."""
        _check_providers(providers, provider_options)

    def disable_fallback(self) -> None:
        """Nothing: a run never changes its provider."""

    def enable_fallback(self) -> None:
        """Nothing: a run never changes its provider."""

    def _names(self, output_names: Sequence[str] | None) -> Sequence[str]:
        if not output_names:
            return self._output_names
        if isinstance(output_names, str):
            raise TypeError(f"output_names: found '{output_names}', expected a sequence of names")
        for name in output_names:
            if name not in self._output_names:
                raise problem(InvalidArgument, "output_names", f"'{name}'", " or ".join(self._output_names))
        return output_names

    def _check_feed(self, feed: Mapping[str, Any]) -> None:
        missing = [name for name in self._required if name not in feed]
        if missing:
            raise problem(
                InvalidArgument, "input_feed", f"{', '.join(feed) or 'nothing'}", f"also {', '.join(missing)}"
            )
        for name in feed:
            if name not in self._input_names:
                raise problem(InvalidArgument, "input_feed", f"'{name}'", " and ".join(self._input_names))

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None = None
    ) -> list[Any]:
        """The outputs of these names (None: all) for arrays by the names of the inputs. Threads may call it at the
        same time.

        Raises InvalidArgument for names, types and shapes that do not fit; Fail where `run_options` end it."""
        names = self._names(output_names)
        self._check_feed(input_feed)
        return self._engine.run(names, input_feed, run_options)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """The same with OrtValues."""
        return [OrtValue(each) for each in self.run(output_names, input_dict_ort_values, run_options)]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Runs in a thread of its own, which calls `callback(results, user_data, error)`: no results and a message
        where it failed, else an empty message. Names are checked before."""
        self._names(output_names)
        self._check_feed(input_feed)

        def work() -> None:
            try:
                results, message = self.run(output_names, input_feed, run_options), ""
            except (OctavoError, ValueError, RuntimeError) as error:
                results, message = [], str(error)
            callback(results, user_data, message)

        threading.Thread(target=work, name="octavo run_async").start()

    def io_binding(self) -> IOBinding:
        """For run_with_iobinding."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs on bound arrays. Raises RuntimeException (a RuntimeError) where they do not fit, and where
        `run_options` end it."""
        if iobinding._engine is not self._engine:
            raise ValueError("IOBinding must be used with the session that created it.")
        iobinding._run(run_options)
