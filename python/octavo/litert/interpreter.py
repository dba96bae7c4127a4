"""Interpreter, as ai_edge_litert.interpreter has it."""

from __future__ import annotations

import enum
import os
from typing import Any, Callable, Mapping, NoReturn, Sequence

import numpy as np

from .. import _cache, _tflite_file
from .._compile import compile as compile_model
from .._errors import InvalidInputError, Problem, UnsupportedError, usage
from .._model import Model, TensorInfo
from .._sources import Source
from .._tflite_file import Tensor

Details = dict[str, Any]


class OpResolverType(enum.Enum):
    """Whose formulas a quantized file is computed by: AUTO and BUILTIN are LiteRT's default (XNNPACK), BUILTIN_REF
    its reference kernels. Octavo has none for BUILTIN_WITHOUT_DEFAULT_DELEGATES."""

    AUTO = 0
    BUILTIN = 1
    BUILTIN_REF = 2
    BUILTIN_WITHOUT_DEFAULT_DELEGATES = 3


_ROUNDING = {
    OpResolverType.AUTO: "tflite-xnnpack",
    OpResolverType.BUILTIN: "tflite-xnnpack",
    OpResolverType.BUILTIN_REF: "tflite-double",
}


def _refused(where: str, found: str, expected: str) -> UnsupportedError:
    return UnsupportedError(
        [Problem("unsupported", where, found, expected, "", f"{where}: found {found}, expected {expected}")]
    )


def _zeros(state: TensorInfo) -> np.ndarray:
    return np.full([int(extent) for extent in state.shape], state.zero_point or 0, state.dtype)


def load_delegate(library: str, options: Mapping[str, str] | None = None) -> NoReturn:
    """Raises UnsupportedError: Octavo's kernels are all that runs."""
    raise _refused("load_delegate", f"'{library}'", "no delegate")


def _details(tensor: Tensor, index: int, shape: Sequence[int]) -> Details:
    is_one = len(tensor.scales) == 1
    return {
        "name": tensor.name,
        "index": index,
        "shape": np.array(shape, np.int32),
        "shape_signature": np.array(shape, np.int32) if tensor.signature is None else tensor.signature,
        "dtype": tensor.dtype,
        "quantization": (float(tensor.scales[0]), int(tensor.zero_points[0])) if is_one else (0.0, 0),
        "quantization_parameters": {
            "scales": tensor.scales,
            "zero_points": tensor.zero_points,
            "quantized_dimension": tensor.quantized_dimension,
            "block_size": 0,
        },
        "sparsity_parameters": tensor.sparsity,
    }


def _source(model_path: str | os.PathLike[str] | None, model_content: bytes | None) -> Source:
    if model_content is not None:
        source = Source("model_content", model_content)
    elif model_path is not None:
        source = Source(os.fspath(model_path))
    else:
        raise usage("Interpreter", "neither model_path nor model_content", "one of them")
    if source.is_file and not os.path.isfile(source.name):
        raise usage("model_path", f"no file '{source.name}'", "a TFLite file")
    return source


def _no_tflite(source: Source) -> InvalidInputError:
    message = f"{source.name}: found no TFLite file, expected one of version 3"
    return InvalidInputError([Problem("invalid_input", source.name, "no TFLite file", "one of version 3", "", message)])


class Interpreter:
    """A TFLite model that runs. The compiled model is kept in the cache, quantized files run in their integers, with
    LiteRT's bits (docs/numerics.md), others in fp32.

    `model_path` or `model_content`; `num_threads`: None is all cores. `octavo`: keywords of octavo.compile, as
    {"precision": "int8", "calibrate": samples}. Tensors between operators are not kept; variables are, from run to run, as
    long as the interpreter lasts. Raises UsageError (a
    ValueError) for arguments, InvalidInputError (a ValueError) for what is no TFLite file, UnsupportedError (a
    RuntimeError) for what Octavo does not read, and for delegates and `experimental_preserve_all_tensors`. For one
    thread at a time."""

    def __init__(
        self,
        model_path: str | os.PathLike[str] | None = None,
        model_content: bytes | None = None,
        experimental_delegates: Sequence[Any] | None = None,
        num_threads: int | None = None,
        experimental_op_resolver_type: OpResolverType = OpResolverType.AUTO,
        experimental_preserve_all_tensors: bool = False,
        *,
        octavo: Mapping[str, Any] | None = None,
    ) -> None:
        if num_threads is not None and (not isinstance(num_threads, int) or num_threads < 1):
            raise usage("num_threads", repr(num_threads), "an int of at least 1")
        if experimental_delegates:
            raise _refused("experimental_delegates", f"{len(experimental_delegates)}", "none")
        if experimental_preserve_all_tensors:
            raise _refused("experimental_preserve_all_tensors", "True", "False")
        if experimental_op_resolver_type not in _ROUNDING:
            raise _refused(
                "experimental_op_resolver_type", str(experimental_op_resolver_type), "AUTO, BUILTIN or BUILTIN_REF"
            )
        self._source = _source(model_path, model_content)
        content = self._source.read()
        if not _tflite_file.is_tflite(content):
            raise _no_tflite(self._source)
        self._options = {
            "rounding": _ROUNDING[experimental_op_resolver_type],
            "threads": num_threads or 0,
            **(octavo or {}),
        }
        self._model = self._compiled({})  # first: it checks the whole file
        file = _tflite_file.read(content)
        if file is None:
            raise _no_tflite(self._source)
        self._file = file
        self._graph = self._file.subgraphs[0]
        self._shapes = {index: tuple(self._graph.tensors[index].shape.tolist()) for index in self._graph.inputs}
        self._states = [_zeros(each) for each in self._model.inputs[len(self._graph.inputs) :]]
        self._arrays: dict[int, np.ndarray] = {}  # of inputs and outputs, by tensor
        self._invoke: Callable[[], None] | None = None

    def _compiled(self, shape: Mapping[str, Any]) -> Model:
        options: dict[str, Any] = {"unquantized": "fp32", "cache_dir": _cache.default_directory(), **self._options}
        return compile_model(self._source, progress=False, **{**options, **({"shape": shape} if shape else {})})

    def _takes(self, shapes: Mapping[int, tuple[int, ...]]) -> bool:
        """Whether the compiled model runs at these."""
        for index, told in zip(self._graph.inputs, self._model.inputs):
            if len(told.shape) != len(shapes[index]) or any(
                isinstance(own, int) and own != each for own, each in zip(told.shape, shapes[index])
            ):
                return False
        return True

    def _at(self, shapes: Mapping[int, tuple[int, ...]]) -> Model:
        """The model, made anew where it does not take these."""
        if self._takes(shapes):
            return self._model
        return self._compiled({self._graph.tensors[index].name: list(shape) for index, shape in shapes.items()})

    def _called(self, inputs: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        """Outputs by tensor, without the arrays of this interpreter."""
        self._model = self._at({index: array.shape for index, array in inputs.items()})
        return self._ran([inputs[index] for index in self._graph.inputs])

    def _ran(self, inputs: list[np.ndarray]) -> dict[int, np.ndarray]:
        """Outputs by tensor; the file's own come before the states'."""
        results = list(self._model.run([*inputs, *self._states]).values())
        self._keep_states(results)
        return dict(zip(self._graph.outputs, results))

    def _keep_states(self, results: Sequence[np.ndarray]) -> None:
        for state, result in zip(self._states, results[len(self._graph.outputs) :]):
            state[...] = result

    def allocate_tensors(self) -> None:
        """Makes the arrays of inputs and outputs, and a model for the sizes that were asked for. Inputs keep their
        values where their sizes stay, and are zeros else. Raises RuntimeError where the model does not run at these
        sizes."""
        if self._invoke is not None:
            return
        self._model = self._at(self._shapes)
        inputs = [self._kept(index) for index in self._graph.inputs]
        if self._model.info["parts"]:  # shapes of outputs are data
            self._arrays = dict(zip(self._graph.inputs, inputs))
            self._invoke = lambda: self._arrays.update(self._ran(inputs))
            return
        bound = self._model.bind([*inputs, *self._states])
        outputs = list(bound.outputs.values())
        self._arrays = dict(zip(self._graph.outputs, outputs)) | dict(zip(self._graph.inputs, inputs))

        def invoke() -> None:
            bound.run()
            self._keep_states(outputs)

        self._invoke = invoke if self._states else bound.run

    def _kept(self, index: int) -> np.ndarray:
        array = self._arrays.get(index)
        shape = self._shapes[index]
        return (
            array if array is not None and array.shape == shape else np.zeros(shape, self._graph.tensors[index].dtype)
        )

    def invoke(self) -> None:
        """Runs. Raises RuntimeError before allocate_tensors()."""
        if self._invoke is None:
            raise RuntimeError("Invoke called on model that is not ready: call allocate_tensors()")
        self._invoke()

    def _tensor(self, index: int, subgraph: int = 0) -> Tensor:
        tensors = self._file.subgraphs[subgraph].tensors
        if not 0 <= index < len(tensors):
            raise usage("tensor index", f"{index}", f"0 to {len(tensors) - 1}")
        return tensors[index]

    def _array(self, index: int) -> np.ndarray:
        tensor = self._tensor(index)
        if index in self._arrays and self._invoke is not None:
            return self._arrays[index]
        if index in (*self._graph.inputs, *self._graph.outputs):
            raise usage(
                f"tensor {index} ('{tensor.name}')",
                "no data",
                "allocate_tensors() before, and invoke() where its shape depends on data",
            )
        if not len(tensor.data) or tensor.sparsity or tensor.dtype is None:
            raise usage(
                f"tensor {index} ('{tensor.name}')",
                "a tensor that is not kept",
                "an input, an output or a dense constant",
            )
        return np.frombuffer(tensor.data, tensor.dtype).reshape(tensor.shape)

    def set_tensor(self, tensor_index: int, value: Any) -> None:
        """Copies `value` into an input, whose type and shape it has. Raises UsageError."""
        tensor = self._tensor(tensor_index)
        if tensor_index not in self._shapes:
            raise usage(f"tensor {tensor_index} ('{tensor.name}')", "no input", f"one of {self._graph.inputs}")
        array, given = self._array(tensor_index), np.asarray(value)
        if (given.dtype, given.shape) != (array.dtype, array.shape):
            raise usage(
                f"input {tensor_index} ('{tensor.name}')",
                f"{given.dtype}{list(given.shape)}",
                f"{array.dtype}{list(array.shape)}",
            )
        array[...] = given

    def get_tensor(self, tensor_index: int, subgraph_index: int = 0) -> np.ndarray:
        """A copy of an input, an output or a constant. Raises UsageError for tensors between operators."""
        if subgraph_index != 0:
            raise usage("subgraph_index", f"{subgraph_index}", "0")
        return self._array(tensor_index).copy()

    def tensor(self, tensor_index: int) -> Callable[[], np.ndarray]:
        """A function that gives an input or output in place. The array holds until allocate_tensors()."""
        return lambda: self._array(tensor_index)

    def resize_tensor_input(self, input_index: int, tensor_size: Sequence[int], strict: bool = False) -> None:
        """The input's shape from the next allocate_tensors() on. `strict`: only dimensions that the file leaves open.
        Raises UsageError."""
        tensor = self._tensor(input_index)
        if input_index not in self._shapes:
            raise usage(f"tensor {input_index} ('{tensor.name}')", "no input", f"one of {self._graph.inputs}")
        shape = tuple(int(extent) for extent in tensor_size)
        signature = (tensor.shape if tensor.signature is None else tensor.signature).tolist()
        if strict and (
            len(shape) != len(signature) or any(own not in (-1, each) for own, each in zip(signature, shape))
        ):
            raise usage(
                f"input {input_index} ('{tensor.name}')", f"shape {list(shape)}", f"{signature}, of which -1 is open"
            )
        if shape != self._shapes[input_index]:
            self._shapes[input_index], self._invoke = shape, None

    def _end_details(self, index: int) -> Details:
        tensor = self._tensor(index)
        array = self._arrays.get(index)
        shape = (
            self._shapes[index] if index in self._shapes else tensor.shape.tolist() if array is None else array.shape
        )
        return _details(tensor, index, shape)

    def get_input_details(self) -> list[Details]:
        """Name, index, shape, type and quantization of each input."""
        return [self._end_details(index) for index in self._graph.inputs]

    def get_output_details(self) -> list[Details]:
        """Name, index, shape, type and quantization of each output."""
        return [self._end_details(index) for index in self._graph.outputs]

    def get_tensor_details(self, subgraph_index: int = 0) -> list[Details]:
        """Of every tensor of a subgraph; those between operators with the shape that the file has."""
        if not 0 <= subgraph_index < self.num_subgraphs():
            raise usage("subgraph_index", f"{subgraph_index}", f"0 to {self.num_subgraphs() - 1}")
        if subgraph_index == 0:
            return [self._end_details(index) for index in range(len(self._graph.tensors))]
        return [
            _details(each, index, each.shape.tolist())
            for index, each in enumerate(self._file.subgraphs[subgraph_index].tensors)
        ]

    def num_subgraphs(self) -> int:
        """How many the file has."""
        return len(self._file.subgraphs)

    def reset_all_variables(self) -> None:
        """What SVDF keeps is zeros again. VAR_HANDLE's variables stay as they are, as in LiteRT; states of LSTMs and RNNs
        are zeros at the beginning of every run anyway."""
        kept = {each.name for each in self._graph.tensors if each.is_variable}
        for told, state in zip(self._model.inputs[len(self._graph.inputs) :], self._states):
            if told.name in kept:
                state[...] = _zeros(told)

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """Names of inputs and outputs by signature."""
        return {
            key: {"inputs": sorted(each.inputs), "outputs": sorted(each.outputs)}
            for key, each in self._file.signatures.items()
        }

    def get_signature_runner(self, signature_key: str | None = None) -> SignatureRunner:
        """The signature as a function; None: the only one. Raises UsageError."""
        keys = list(self._file.signatures)
        if signature_key is None and len(keys) == 1:
            signature_key = keys[0]
        if signature_key not in self._file.signatures:
            raise usage("signature_key", repr(signature_key), f"one of {keys}")
        return SignatureRunner(self, signature_key)


class SignatureRunner:
    """`runner(x=array)` gives outputs by their names in the signature."""

    def __init__(self, interpreter: Interpreter, signature_key: str) -> None:
        self._interpreter = interpreter
        self._signature = interpreter._file.signatures[signature_key]
        if self._signature.subgraph != 0:
            raise _refused(f"signature '{signature_key}'", f"subgraph {self._signature.subgraph}", "subgraph 0")

    def __call__(self, **inputs: Any) -> dict[str, np.ndarray]:
        """Takes an array for each input, of any size at which the model runs. Raises UsageError."""
        if set(inputs) != set(self._signature.inputs):
            raise usage("inputs", ", ".join(sorted(inputs)) or "none", ", ".join(sorted(self._signature.inputs)))
        arrays = {self._signature.inputs[name]: np.asarray(value) for name, value in inputs.items()}
        results = self._interpreter._called(arrays)
        return {name: results[index] for name, index in self._signature.outputs.items()}

    def get_input_details(self) -> dict[str, Details]:
        """Of each input, by its name in the signature."""
        return {name: self._interpreter._end_details(index) for name, index in self._signature.inputs.items()}

    def get_output_details(self) -> dict[str, Details]:
        """Of each output, by its name in the signature."""
        return {name: self._interpreter._end_details(index) for name, index in self._signature.outputs.items()}
