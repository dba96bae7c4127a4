"""SessionOptions, RunOptions and their words, as ONNX Runtime's Python API has them."""

from __future__ import annotations

import enum
import operator
from typing import Any, Mapping

from .. import _core
from ._errors import NotImplemented, problem


class GraphOptimizationLevel(enum.IntEnum):
    """Accepted; a compiled model is always optimized in full, with the same answers."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Accepted; steps run one after the other, each on all threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """Accepted; the order of steps is part of the compiled model."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Settings:
    """Attributes with defaults: unknown ones are AttributeErrors, others' types TypeErrors."""

    _DEFAULTS: Mapping[str, Any] = {}

    def __init__(self) -> None:
        for name, value in self._DEFAULTS.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._DEFAULTS:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        kind = type(self._DEFAULTS[name])
        if kind is int and hasattr(value, "__index__"):
            value = operator.index(value)
        if not isinstance(value, kind) and not (kind is bool and isinstance(value, int)):
            raise TypeError(f"{type(self).__name__}.{name}: found {value!r}, expected {kind.__name__}")
        object.__setattr__(self, name, kind(value))

    def values(self) -> dict[str, Any]:
        """Those that are not the defaults."""
        return {name: getattr(self, name) for name, value in self._DEFAULTS.items() if getattr(self, name) != value}


def _entry(key: Any, value: Any, method: str) -> tuple[str, str]:
    if not isinstance(key, str) or not isinstance(value, str):
        raise TypeError(f"{method}: found {key!r}, {value!r}, expected two str")
    return key, value


class SessionOptions(_Settings):
    """How a session is made. `intra_op_num_threads` counts (0: all cores), free dimensions that are overridden are
    closed, and entries `octavo.*` say how Octavo compiles (docs/python.md); what is about ONNX Runtime's own memory,
    order and log is accepted and has no effect. What would have to do something and cannot is NotImplemented when the
    session is made."""

    _DEFAULTS = {
        "enable_cpu_mem_arena": True,
        "enable_mem_pattern": True,
        "enable_mem_reuse": True,
        "enable_profiling": False,
        "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
        "execution_order": ExecutionOrder.DEFAULT,
        "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
        "inter_op_num_threads": 0,
        "intra_op_num_threads": 0,
        "log_severity_level": -1,
        "log_verbosity_level": 0,
        "logid": "",
        "optimized_model_filepath": "",
        "profile_file_prefix": "onnxruntime_profile_",
        "use_deterministic_compute": False,
        "use_per_session_threads": True,
    }
    enable_profiling: bool
    intra_op_num_threads: int
    optimized_model_filepath: str
    profile_file_prefix: str

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "_entries", {})
        object.__setattr__(self, "_dimensions_by_name", {})
        object.__setattr__(self, "_dimensions_by_denotation", {})

    _entries: dict[str, str]
    _dimensions_by_name: dict[str, int]
    _dimensions_by_denotation: dict[str, int]

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Any key; `octavo.*` are Octavo's."""
        self._entries.update([_entry(key, value, "add_session_config_entry")])

    def get_session_config_entry(self, key: str) -> str:
        """Raises RuntimeError where there is none."""
        if key not in self._entries:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._entries[key]

    def add_free_dimension_override_by_name(self, name: str, extent: int) -> None:
        """The open dimension of that name is `extent`."""
        self._dimensions_by_name[name] = extent

    def add_free_dimension_override_by_denotation(self, denotation: str, extent: int) -> None:
        """Open dimensions with that denotation (as DATA_BATCH) are `extent`."""
        self._dimensions_by_denotation[denotation] = extent

    def has_providers(self) -> bool:
        """Never: there is one."""
        return False

    def _refused(self, method: str) -> Any:
        raise problem(
            NotImplemented,
            f"SessionOptions.{method}",
            "a call",
            "a model with all that it needs: Octavo compiles it as a whole",
        )

    def add_initializer(self, name: str, value: Any) -> None:
        """Raises NotImplemented."""
        self._refused("add_initializer")

    def add_external_initializers(self, names: Any, values: Any) -> None:
        """Raises NotImplemented."""
        self._refused("add_external_initializers")

    def register_custom_ops_library(self, path: str) -> None:
        """Raises NotImplemented."""
        self._refused("register_custom_ops_library")


class RunOptions(_Settings):
    """How a run is made. With `terminate` set no run begins, and those that were begun with it end with Fail as soon as
    the step at hand is done."""

    _DEFAULTS = {
        "log_severity_level": -1,
        "log_verbosity_level": 0,
        "logid": "",
        "only_execute_path_to_fetches": False,
        "terminate": False,
    }
    terminate: bool

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "_entries", {})
        object.__setattr__(self, "_stop", _core.Stop())
        object.__setattr__(self, "_real", None)

    _entries: dict[str, str]
    _stop: _core.Stop
    _real: Any  # the real package's, once a session fell back to it

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "terminate":
            (self._stop.request if self.terminate else self._stop.clear)()
        if self._real is not None:
            setattr(self._real, name, getattr(self, name))

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Any key; none has an effect."""
        self._entries.update([_entry(key, value, "add_run_config_entry")])
        if self._real is not None:
            self._real.add_run_config_entry(key, value)

    def _real_of(self, package: Any) -> Any:
        """The same options of the real package, which follow these from now on."""
        if self._real is None:
            real = package.RunOptions()
            for name, value in self.values().items():
                setattr(real, name, value)
            for key, value in self._entries.items():
                real.add_run_config_entry(key, value)
            object.__setattr__(self, "_real", real)
        return self._real

    def get_run_config_entry(self, key: str) -> str:
        """Raises RuntimeError where there is none."""
        if key not in self._entries:
            raise RuntimeError(f"RunOptions does not have configuration with key: {key}")
        return self._entries[key]
