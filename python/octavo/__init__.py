"""Octavo: 8-bit neural networks, compiled ahead of time, on CPUs.

    model = octavo.compile("resnet18.onnx", calibrate=loader)
    scores = model(image)

docs/python.md tells the rest."""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

from . import _cache, _core
from ._compile import QuantizedModel, compile, quantize
from ._core import Stop
from ._errors import (
    CancelledError,
    InternalError,
    InvalidInputError,
    OctavoError,
    OutOfMemoryError,
    Problem,
    ResourceError,
    UnsupportedError,
    UsageError,
)
from ._model import BoundModel, Model, TensorInfo, load
from ._report import Report

if TYPE_CHECKING:
    from . import metrics
    from ._diagnose import diagnose
    from ._search import SearchResult, search
    from ._verbs import bench, compare, evaluate, explain, inspect, reduce, tune, zoo

_VERBS = ("bench", "compare", "evaluate", "explain", "inspect", "reduce", "tune", "zoo")


def __getattr__(name: str) -> Any:
    """Verbs come when they are used, with what they need of Python's library: so that importing stays short."""
    if name in ("SearchResult", "search"):
        from . import _search

        return getattr(_search, name)
    if name == "metrics":
        return importlib.import_module("octavo.metrics")
    if name == "diagnose":
        from . import _diagnose

        return _diagnose.diagnose
    if name not in _VERBS:
        raise AttributeError(f"module 'octavo' has no attribute '{name}'")
    from . import _verbs

    return getattr(_verbs, name)


__version__: str = _core.version()

#: Where compiled models are kept (None: nowhere; the environment's OCTAVO_CACHE_DIR), and the most bytes that they take together.
cache_dir: Any
cache_bytes: int


class _Module(types.ModuleType):
    """The module with two settings that `_cache` holds."""

    @property
    def cache_dir(self) -> Any:
        return _cache.directory

    @cache_dir.setter
    def cache_dir(self, value: Any) -> None:
        _cache.directory = value

    @property
    def cache_bytes(self) -> int:
        return _cache.most_bytes

    @cache_bytes.setter
    def cache_bytes(self, value: int) -> None:
        _cache.most_bytes = value


sys.modules[__name__].__class__ = _Module

__all__ = [
    "BoundModel",
    "CancelledError",
    "InternalError",
    "InvalidInputError",
    "Model",
    "OctavoError",
    "OutOfMemoryError",
    "Problem",
    "QuantizedModel",
    "Report",
    "ResourceError",
    "SearchResult",
    "Stop",
    "TensorInfo",
    "UnsupportedError",
    "UsageError",
    "bench",
    "compare",
    "compile",
    "diagnose",
    "evaluate",
    "explain",
    "inspect",
    "load",
    "quantize",
    "reduce",
    "search",
    "tune",
    "zoo",
]
