"""What onnxruntime.quantization names types and formats by."""

from __future__ import annotations

import enum


class QuantType(enum.Enum):
    """The types that ONNX Runtime's quantizer writes; Octavo's writes those of 8 bits."""

    QInt8 = 0
    QUInt8 = 1
    QFLOAT8E4M3FN = 2
    QInt16 = 3
    QUInt16 = 4
    QInt4 = 5
    QUInt4 = 6

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def from_string(text: str) -> QuantType:
        """Raises ValueError for another word."""
        if text not in QuantType.__members__:
            raise ValueError(f"QuantType: found '{text}', expected one of {', '.join(QuantType.__members__)}")
        return QuantType[text]


class QuantFormat(enum.Enum):
    """QDQ is what Octavo writes."""

    QOperator = 0
    QDQ = 1

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def from_string(text: str) -> QuantFormat:
        """Raises ValueError for another word."""
        if text not in QuantFormat.__members__:
            raise ValueError(f"QuantFormat: found '{text}', expected one of {', '.join(QuantFormat.__members__)}")
        return QuantFormat[text]


class QuantizationMode(enum.Enum):
    """How a file is quantized, by the operators that it then has."""

    IntegerOps = 0
    QLinearOps = 1
