"""ONNX Runtime's Python API on Octavo: `from octavo import onnxruntime`, and the rest of the script stays.

docs/python.md tells what the session's options choose, and what is not there."""

from __future__ import annotations

from .. import _core
from . import capi
from ._binding import IOBinding
from ._options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from ._session import PROVIDER, InferenceSession
from ._values import ModelMetadata, NodeArg, OrtDevice, OrtValue
from .capi import onnxruntime_pybind11_state  # noqa: F401  (reached by its name from here, too)

__version__ = "1.32.0"  #: of ONNX Runtime's API, for scripts that ask


def get_available_providers() -> list[str]:
    """The CPU's."""
    return [PROVIDER]


def get_all_providers() -> list[str]:
    """The CPU's."""
    return [PROVIDER]


def get_device() -> str:
    """'CPU'."""
    return "CPU"


def get_version_string() -> str:
    """Of ONNX Runtime's API."""
    return __version__


def get_build_info() -> str:
    """Octavo's release."""
    return f"Octavo {_core.version()}"


def set_default_logger_severity(severity: int) -> None:
    """Accepted: Octavo writes no log."""


def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepted: Octavo writes no log."""


def set_seed(seed: int) -> None:
    """Accepted: models with random numbers are not read."""


def disable_telemetry_events() -> None:
    """Accepted: there are none."""


def enable_telemetry_events() -> None:
    """Accepted: there are none."""


__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtDevice",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "capi",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_version_string",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
]
