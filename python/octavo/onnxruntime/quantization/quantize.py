"""quantize_static, quantize_dynamic and quantize, as onnxruntime.quantization has them."""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from ... import _onnx_file
from ..._compile import QuantizedModel, calibration_words
from ..._compile import quantize as quantize_model
from ..._errors import Problem, UsageError
from ..._sources import Source, source_of
from .._errors import InvalidArgument, NotImplemented, as_onnxruntime
from .calibrate import CalibrationMethod, samples_of
from .quant_utils import QuantFormat, QuantType

Model = Any  # a path, or an onnx.ModelProto

_EIGHT_BITS = (QuantType.QInt8, QuantType.QUInt8)
_METHODS = {
    CalibrationMethod.MinMax: "minmax",
    CalibrationMethod.Entropy: "entropy",
    CalibrationMethod.Percentile: "percentile",
}
_PREFIX = "octavo."
#: Operators that compute in 8 bits; others follow what they read.
_QUANTIZED = (
    "Add AveragePool Clip Concat Conv ConvTranspose Div Einsum Gather Gelu Gemm GlobalAveragePool "
    "GlobalMaxPool HardSigmoid HardSwish LSTM LayerNormalization LeakyRelu MatMul MaxPool Mul Pad ReduceMean "
    "Relu Resize Sigmoid Softmax Split Sub Sum Tanh Upsample Where "
).split()


def _refused(problems: Sequence[tuple[str, str, str]]) -> None:
    """All of (argument, found, expected) at once."""
    if problems:
        raise NotImplemented(
            [
                Problem("unsupported", where, found, expected, "", f"{where}: found {found}, expected {expected}")
                for where, found, expected in problems
            ]
        )


def _calibration(method: CalibrationMethod, extra: Mapping[str, Any]) -> str:
    if method is CalibrationMethod.MinMax and extra.get("CalibMovingAverage"):
        return "average"
    if method is CalibrationMethod.Percentile and "CalibPercentile" in extra:
        return f"percentile:{extra['CalibPercentile']}"
    return _METHODS[method]


def _without_effect(names: Sequence[str]) -> None:
    if names:
        warnings.warn(f"no effect on Octavo's quantizer: {', '.join(names)}", stacklevel=3)


def _is_chosen(name: str, op: str, op_types: Sequence[str] | None, names: Sequence[str] | None) -> bool:
    return (not op_types or op in op_types) and (not names or name in names)


def _left_out(
    source: Source, op_types: Sequence[str] | None, chosen: Sequence[str] | None, excluded: Sequence[str] | None
) -> list[str]:
    """Nodes that stay in floats: those that are excluded, and what was not chosen."""
    if not (op_types or chosen or excluded):
        return []
    nodes = _onnx_file.nodes(source)
    without = set(excluded or ())
    keys = [
        each.key
        for each in nodes
        if each.name in without or (each.op in _QUANTIZED and not _is_chosen(each.name, each.op, op_types, chosen))
    ]
    unknown = without - {each.name for each in nodes}
    return [*keys, *sorted(unknown)]  # to be refused by their names


def _is_gone(error: UsageError, skip: Sequence[str]) -> str | None:
    """The node of `skip` that importing made part of another one, or of a constant, so that there is nothing to leave
    out."""
    found = error.errors[0].found
    return next(
        (name for name in skip if error.errors[0].where == "--skip" and found == f"'{name}', which no node matches"),
        None,
    )


def _quantized(source: Source, reader: Any, skip: list[str], options: dict[str, Any]) -> QuantizedModel:
    with ExitStack() as stack:
        words = calibration_words(source, samples_of(reader), options, stack)
        path = words[0].removeprefix("--calibrate=")
        known = {each.key for each in _onnx_file.nodes(source)} if skip else set()
        while True:
            try:
                return quantize_model(source, path, progress=False, **{**options, **({"skip": skip} if skip else {})})
            except UsageError as error:
                gone = _is_gone(error, skip)
                if gone is None or gone not in known:
                    raise
                skip = [name for name in skip if name != gone]


def quantize_static(
    model_input: Model,
    model_output: str | os.PathLike[str],
    calibration_data_reader: Any = None,
    quant_format: QuantFormat = QuantFormat.QDQ,
    op_types_to_quantize: Sequence[str] | None = None,
    per_channel: bool = False,
    reduce_range: bool = False,
    activation_type: QuantType = QuantType.QInt8,
    weight_type: QuantType = QuantType.QInt8,
    nodes_to_quantize: Sequence[str] | None = None,
    nodes_to_exclude: Sequence[str] | None = None,
    use_external_data_format: bool = False,
    calibrate_method: CalibrationMethod = CalibrationMethod.MinMax,
    calibration_providers: Sequence[str] | None = None,
    extra_options: Mapping[str, Any] | None = None,
    calibration_cache_path: str | os.PathLike[str] | None = None,
) -> None:
    """Writes an fp32 model as a QDQ file by the samples of a CalibrationDataReader.

    Activations are u8 and weights s8 per channel, whatever 8-bit types and `per_channel` say: the file keeps the
    meaning and is no less exact. `extra_options`: `CalibMovingAverage`, `CalibPercentile`, and `octavo.NAME` for
    options of `octavo.quantize`; others, and `reduce_range`, are named in a warning. Raises NotImplemented for other
    types and formats, and what `octavo.quantize` raises, as the classes of `capi.onnxruntime_pybind11_state`."""
    extra = dict(extra_options or {})
    problems = [
        (name, str(each), "QInt8 or QUInt8")
        for name, each in (("activation_type", activation_type), ("weight_type", weight_type))
        if each not in _EIGHT_BITS
    ]
    if quant_format is not QuantFormat.QDQ:
        problems.append(("quant_format", str(quant_format), "QDQ"))
    if calibrate_method not in _METHODS:
        problems.append(("calibrate_method", str(calibrate_method), "MinMax, Entropy or Percentile"))
    if calibration_cache_path is not None:
        problems.append(("calibration_cache_path", f"'{os.fspath(calibration_cache_path)}'", "None"))
    _refused(problems)
    if calibration_data_reader is None:
        raise InvalidArgument(
            [
                Problem(
                    "usage",
                    "calibration_data_reader",
                    "None",
                    "a CalibrationDataReader",
                    "",
                    "calibration_data_reader: found None, expected a CalibrationDataReader",
                )
            ]
        )
    options = {"calibration": _calibration(calibrate_method, extra)} | {
        name.removeprefix(_PREFIX): value for name, value in extra.items() if name.startswith(_PREFIX)
    }
    ignored = [
        name for name in extra if not name.startswith(_PREFIX) and name not in ("CalibMovingAverage", "CalibPercentile")
    ]
    _without_effect([f"extra_options['{name}']" for name in ignored] + (["reduce_range"] if reduce_range else []))
    with as_onnxruntime(model_input if isinstance(model_input, str) else ""):
        source = source_of(model_input)
        skip = _left_out(source, op_types_to_quantize, nodes_to_quantize, nodes_to_exclude)
        _quantized(source, calibration_data_reader, skip, options).save(model_output)


def quantize_dynamic(
    model_input: Model,
    model_output: str | os.PathLike[str],
    op_types_to_quantize: Sequence[str] | None = None,
    per_channel: bool = False,
    reduce_range: bool = False,
    weight_type: QuantType = QuantType.QInt8,
    nodes_to_quantize: Sequence[str] | None = None,
    nodes_to_exclude: Sequence[str] | None = None,
    use_external_data_format: bool = False,
    extra_options: Mapping[str, Any] | None = None,
) -> None:
    """Writes an fp32 model with products (MatMul, Gemm) by constant matrices in 8 bits, whose other operand is
    quantized as it comes, and with tables of embeddings (Gather) in 8 bits.

    Weights are s8 with a scale per channel, tables with one per row. Needs the `onnx` package. Operators that are
    asked for but stay in floats, and options, are named in a warning. Raises NotImplemented for weights of other
    types."""
    from ._dynamic import OPERATORS, written

    _refused([("weight_type", str(weight_type), "QInt8 or QUInt8")] if weight_type not in _EIGHT_BITS else [])
    _without_effect(
        [f"extra_options['{name}']" for name in extra_options or {}]
        + (["reduce_range"] if reduce_range else [])
        + [f"op_types_to_quantize '{op}'" for op in op_types_to_quantize or () if op not in OPERATORS]
    )

    def is_chosen(name: str, op: str) -> bool:
        return _is_chosen(name, op, op_types_to_quantize, nodes_to_quantize) and name not in (nodes_to_exclude or ())

    written(model_input, model_output, is_chosen, use_external_data_format)


@dataclass
class StaticQuantConfig:
    """Arguments of quantize_static, for `quantize`."""

    calibration_data_reader: Any
    calibrate_method: CalibrationMethod = CalibrationMethod.MinMax
    quant_format: QuantFormat = QuantFormat.QDQ
    activation_type: QuantType = QuantType.QInt8
    weight_type: QuantType = QuantType.QInt8
    op_types_to_quantize: Sequence[str] | None = None
    nodes_to_quantize: Sequence[str] | None = None
    nodes_to_exclude: Sequence[str] | None = None
    per_channel: bool = False
    reduce_range: bool = False
    use_external_data_format: bool = False
    calibration_providers: Sequence[str] | None = None
    extra_options: Mapping[str, Any] | None = None


@dataclass
class DynamicQuantConfig:
    """Arguments of quantize_dynamic, for `quantize`."""

    weight_type: QuantType = QuantType.QInt8
    op_types_to_quantize: Sequence[str] | None = None
    nodes_to_quantize: Sequence[str] | None = None
    nodes_to_exclude: Sequence[str] | None = None
    per_channel: bool = False
    reduce_range: bool = False
    use_external_data_format: bool = False
    extra_options: Mapping[str, Any] | None = None


def quantize(
    model_input: Model, model_output: str | os.PathLike[str], quant_config: StaticQuantConfig | DynamicQuantConfig
) -> None:
    """quantize_static or quantize_dynamic, as the configuration says."""
    call = quantize_static if isinstance(quant_config, StaticQuantConfig) else quantize_dynamic
    call(model_input, model_output, **vars(quant_config))


__all__ = ["DynamicQuantConfig", "StaticQuantConfig", "quantize", "quantize_dynamic", "quantize_static"]
