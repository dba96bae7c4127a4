"""onnxruntime.quantization's calls on Octavo's quantizer: they write files that ONNX Runtime and Octavo run.

Static quantization writes QDQ files with activations u8, weights s8 per channel and biases s32; dynamic quantization
DynamicQuantizeLinear and MatMulInteger with weights s8 per channel."""

from .calibrate import CalibrationDataReader, CalibrationMethod
from .quant_utils import QuantFormat, QuantizationMode, QuantType
from .quantize import DynamicQuantConfig, StaticQuantConfig, quantize, quantize_dynamic, quantize_static
from .shape_inference import quant_pre_process

__all__ = [
    "CalibrationDataReader",
    "CalibrationMethod",
    "DynamicQuantConfig",
    "QuantFormat",
    "QuantType",
    "QuantizationMode",
    "StaticQuantConfig",
    "quant_pre_process",
    "quantize",
    "quantize_dynamic",
    "quantize_static",
]
