"""ONNX's backend interface (`onnx.backend.base`) on Octavo, with which onnx's own tests run:

    from octavo import onnx_backend
    onnx_backend.run_model(model, [x])

Needs the `onnx` package."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import onnx
import onnx.version_converter
from onnx import ModelProto, NodeProto, helper, numpy_helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from . import _onnx_file
from ._compile import compile as compile_model
from ._errors import OctavoError, usage
from ._model import Model
from ._sources import source_of

#: Types of tensors that Octavo has; no strings, sequences, 8-bit floats, integers below 8 bits or complex numbers.
_TYPES = {
    f"tensor({name})"
    for name in "float uint8 int8 uint16 int16 int32 int64 bool float16 double uint32 uint64 bfloat16".split()
}

_OLDEST_OPSET, _NEWEST_OPSET = 7, 28


def _given(model: ModelProto) -> list[str]:
    """Inputs without a value in the file."""
    constants = {each.name for each in model.graph.initializer}
    return [each.name for each in model.graph.input if each.name not in constants]


def _element_types(model: ModelProto) -> list[int]:
    return [each.type.tensor_type.elem_type for each in model.graph.output]


def _readable(model: ModelProto) -> ModelProto:
    """At the oldest opset that Octavo reads, where the file is older and onnx can convert it."""
    opsets = [each.version for each in model.opset_import if each.domain in ("", "ai.onnx")]
    if not opsets or min(opsets) >= _OLDEST_OPSET:
        return model
    try:
        return onnx.version_converter.convert_version(model, _OLDEST_OPSET)
    except (RuntimeError, onnx.version_converter.ConvertError):
        return model


def _bits(array: np.ndarray) -> np.ndarray:
    """bfloat16, of which numpy knows nothing, as its bits."""
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


class OctavoRep(BackendRep):
    """A model that runs. Where it cannot be compiled before the values of some inputs are known (a shape, axes,
    weights), it is compiled in a run, with all inputs but the first as constants, or all; the next run with the same
    constants takes what was made. What cannot be compiled at all is an error of the run."""

    def __init__(self, model: ModelProto, options: dict[str, Any]) -> None:
        self._proto = model
        self._options = {"unquantized": "fp32", "progress": False, **options}
        self._names = _given(model)
        self._output = namedtupledict("Outputs", [each.name for each in model.graph.output])
        self._made: dict[tuple[Any, ...], Model] = {}
        self._error: OctavoError | None = None
        try:
            self._model: Model | None = compile_model(model, **self._options)
        except OctavoError as error:
            self._model, self._error = None, error
            if not self._names:
                raise

    def _with_constants(self, constants: dict[str, np.ndarray]) -> Model:
        key = tuple((name, str(array.dtype), array.shape, array.tobytes()) for name, array in constants.items())
        if key not in self._made:
            proto = ModelProto()
            proto.CopyFrom(self._proto)
            kept = [each for each in proto.graph.input if each.name not in constants]
            del proto.graph.input[:]
            proto.graph.input.extend(kept)
            proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
            self._made[key] = compile_model(proto, **self._options)
        return self._made[key]

    def _results(self, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        # A plan takes no extent of 0; what is made of constants may be empty.
        if self._model is not None and all(array.size for array in arrays.values()):
            return self._model.run({name: _bits(array) for name, array in arrays.items()})
        for first in (1, 0) if len(arrays) > 1 else (0,):
            constants = {name: arrays[name] for name in self._names[first:]}
            try:
                return self._with_constants(constants).run({name: _bits(arrays[name]) for name in self._names[:first]})
            except OctavoError as error:
                failed = self._error or error
        raise failed

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, by position and name, of a sequence of arrays, a mapping by name, or one array. Raises
        UsageError and what `octavo.compile` raises."""
        if not isinstance(inputs, (list, tuple, dict)):
            inputs = [inputs]
        arrays = inputs if isinstance(inputs, dict) else dict(zip(self._names, inputs))
        if len(arrays) != len(inputs) or set(arrays) != set(self._names):
            raise usage("inputs", f"{len(inputs)} arrays", f"one for each of {', '.join(self._names)}")
        results = self._results({name: np.asarray(array) for name, array in arrays.items()})
        ordered = []
        for output, element in zip(self._proto.graph.output, _element_types(self._proto)):
            result = results[output.name]
            is_bfloat = element == onnx.TensorProto.BFLOAT16
            ordered.append(result.view(helper.tensor_dtype_to_np_dtype(element)) if is_bfloat else result)
        made: tuple[Any, ...] = self._output(*ordered)
        return made


class OctavoBackend(Backend):
    """Octavo as onnx's tools know a backend; keywords are those of `octavo.compile`."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether inputs and outputs have types that Octavo's tensors have."""
        file = _onnx_file.read(source_of(model))
        return file is not None and all(each.type in _TYPES for each in (*file.inputs, *file.outputs))

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> OctavoRep:
        """The model, checked by onnx and compiled. Raises what these raise, and UsageError for a device but the CPU."""
        if not cls.supports_device(device):
            raise usage("device", f"'{device}'", "'CPU'")
        super().prepare(model, device, **kwargs)
        return OctavoRep(_readable(model), kwargs)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """The outputs of one node. `opset_version`: of its operator, else the newest that both onnx
        and Octavo know. Raises what `prepare` raises."""
        if not cls.supports_device(device):
            raise usage("device", f"'{device}'", "'CPU'")
        super().run_node(node, inputs, device, outputs_info, **kwargs)
        arrays = [np.asarray(each) for each in inputs]
        values = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip((name for name in node.input if name), arrays)
        ]
        newest = min(onnx.defs.onnx_opset_version(), _NEWEST_OPSET)
        opset = helper.make_opsetid(node.domain, kwargs.pop("opset_version", newest))
        model = helper.make_model(helper.make_graph([node], "node", values, []), opset_imports=[opset])
        elements = [helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) for dtype, _ in outputs_info or []]
        told = dict(zip(node.output, elements)) if elements else _inferred(model)
        unknown = onnx.TensorProto.FLOAT  # of an operator that onnx cannot infer
        outputs = [helper.make_tensor_value_info(name, told.get(name, unknown), None) for name in node.output if name]
        model.graph.output.extend(outputs)
        return OctavoRep(_readable(model), kwargs).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """'CPU' alone."""
        return device.split(":")[0] == "CPU"


def _inferred(model: ModelProto) -> dict[str, int]:
    """Element types of what nodes give, by name."""
    inferred = onnx.shape_inference.infer_shapes(model).graph.value_info
    return {each.name: each.type.tensor_type.elem_type for each in inferred}


is_compatible = OctavoBackend.is_compatible
prepare = OctavoBackend.prepare
run_model = OctavoBackend.run_model
run_node = OctavoBackend.run_node
supports_device = OctavoBackend.supports_device
