"""Samples and the way to ranges, as onnxruntime.quantization.calibrate has them."""

from __future__ import annotations

import abc
import enum
from typing import Any, Iterator


class CalibrationMethod(enum.Enum):
    """How ranges come from samples (docs/cli.md, `--calibration`); Distribution is of 8-bit floats."""

    MinMax = 0
    Entropy = 1
    Percentile = 2
    Distribution = 3


class CalibrationDataReader(metaclass=abc.ABCMeta):
    """Samples: `get_next()` gives arrays by the names of the inputs, and None behind the last."""

    @classmethod
    def __subclasshook__(cls, subclass: type) -> Any:
        return callable(getattr(subclass, "get_next", None)) or NotImplemented

    @abc.abstractmethod
    def get_next(self) -> dict[str, Any] | None:
        """The next sample."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        sample = self.get_next()
        if sample is None:
            raise StopIteration
        return sample


def samples_of(reader: Any) -> Iterator[dict[str, Any]]:
    """Of whatever has `get_next`."""
    while (sample := reader.get_next()) is not None:
        yield sample
