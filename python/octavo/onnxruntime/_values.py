"""What ends of a model are, and arrays that a session takes and gives: NodeArg, ModelMetadata, OrtDevice, OrtValue."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Sequence

import numpy as np

from .._onnx_file import ELEMENT_NAMES, Extent
from ._errors import NotImplemented, problem

#: numpy's types by TensorProto.DataType; numpy has no bfloat16, whose bits are uint16.
_NUMPY = {
    1: np.float32,
    2: np.uint8,
    3: np.int8,
    4: np.uint16,
    5: np.int16,
    6: np.int32,
    7: np.int64,
    9: np.bool_,
    10: np.float16,
    11: np.float64,
    12: np.uint32,
    13: np.uint64,
    16: np.uint16,
}
_BFLOAT16 = 16


def element_of(dtype: Any) -> int:
    """TensorProto.DataType of a numpy type, or the number itself. Raises RuntimeError for types that tensors do not
    have."""
    if isinstance(dtype, int):
        if dtype not in _NUMPY:
            raise RuntimeError(f"element type: found {dtype}, expected one of {', '.join(map(str, _NUMPY))}")
        return dtype
    for element, each in _NUMPY.items():
        if np.dtype(dtype) == np.dtype(each):
            return element
    raise RuntimeError(f"element type: found {np.dtype(dtype)}, expected a number or bool")


def numpy_of(element: int) -> np.dtype:
    """The numpy type of a TensorProto.DataType."""
    return np.dtype(_NUMPY[element])


def dtype_of_type(kind: str) -> np.dtype | None:
    """`tensor(float)` as float32; None where numpy has no such arrays."""
    name = kind.removeprefix("tensor(").removesuffix(")")
    return next((numpy_of(each) for each, text in ELEMENT_NAMES.items() if text == name and each in _NUMPY), None)


def type_of_octavo(dtype: str) -> str:
    """Octavo's `float32` as `tensor(float)`."""
    return f"tensor({ {'float32': 'float', 'float64': 'double'}.get(dtype, dtype) })"


class NodeArg(NamedTuple):
    """An input or output. `shape` has text where a dimension is open, None where it also has no name."""

    name: str
    type: str
    shape: list[Extent]


class ModelMetadata(NamedTuple):
    """What a model says of itself."""

    producer_name: str = ""
    graph_name: str = ""
    graph_description: str = ""
    domain: str = ""
    description: str = ""
    version: int = (1 << 63) - 1
    custom_metadata_map: dict[str, str] = {}


class OrtDevice:
    """Where memory is: the CPU's is all that Octavo has."""

    def __init__(self, device_type: str = "cpu", device_id: int = 0) -> None:
        if device_type.lower() != "cpu":
            raise problem(NotImplemented, "device", f"'{device_type}'", "'cpu'")
        self._id = device_id

    @staticmethod
    def make(device_type: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """Raises NotImplemented for anything but 'cpu'."""
        return OrtDevice(device_type, device_id)

    def device_type(self) -> int:
        """0: the CPU."""
        return 0

    def device_id(self) -> int:
        """As it was given."""
        return self._id


class OrtValue:
    """An array with the name of its type. Memory is shared with the numpy array that it was made of."""

    def __init__(self, array: np.ndarray, element: int | None = None) -> None:
        self._array = array
        self._element = element_of(array.dtype) if element is None else element

    @classmethod
    def ortvalue_from_numpy(
        cls, numpy_obj: np.ndarray, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """On top of the array where it is contiguous. Raises RuntimeError for anything but an array of numbers."""
        OrtDevice(device_type, device_id)
        if not isinstance(numpy_obj, np.ndarray):
            raise RuntimeError(f"OrtValue: found {type(numpy_obj).__name__}, expected a numpy array")
        return cls(np.ascontiguousarray(numpy_obj).reshape(numpy_obj.shape))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray, onnx_element_type: int) -> OrtValue:
        """The array's bytes as elements of another type of the same size (TensorProto.DataType)."""
        wanted = numpy_of(element_of(onnx_element_type))
        if wanted.itemsize != data.dtype.itemsize:
            raise RuntimeError(f"OrtValue: found elements of {data.dtype.itemsize} bytes, expected {wanted.itemsize}")
        return cls(np.ascontiguousarray(data).view(wanted).reshape(data.shape), onnx_element_type)

    @classmethod
    def ortvalue_from_shape_and_type(
        cls, shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """A new array, of a numpy type or TensorProto.DataType, whose values are not set."""
        OrtDevice(device_type, device_id)
        element = element_of(element_type)
        return cls(np.empty(tuple(shape), numpy_of(element)), element)

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """The memory of another library's array on the CPU."""
        return cls(np.from_dlpack(data))

    def numpy(self) -> np.ndarray:
        """The array, in place. Raises RuntimeError for bfloat16, which numpy does not have."""
        if self._element == _BFLOAT16:
            raise RuntimeError(
                "OrtValue: found tensor(bfloat16), expected a type that numpy has. data_ptr() is its memory"
            )
        return self._array

    def update_inplace(self, np_arr: np.ndarray) -> None:
        """Copies the array's values into the memory. Raises RuntimeError where the number of bytes differs."""
        if np_arr.nbytes != self._array.nbytes:
            raise RuntimeError(f"update_inplace: found {np_arr.nbytes} bytes, expected {self._array.nbytes}")
        self._array.view(np.uint8).reshape(-1)[:] = np.ascontiguousarray(np_arr).view(np.uint8).reshape(-1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        return np.array(array, dtype=dtype) if copy else np.asarray(array, dtype=dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def data_ptr(self) -> int:
        """Where the first element is."""
        return int(self._array.ctypes.data)

    def device_name(self) -> str:
        """'cpu'."""
        return "cpu"

    def shape(self) -> list[int]:
        """Of the array."""
        return list(self._array.shape)

    def data_type(self) -> str:
        """As 'tensor(float)'."""
        return f"tensor({ELEMENT_NAMES[self._element]})"

    def element_type(self) -> int:
        """TensorProto.DataType."""
        return self._element

    def tensor_size_in_bytes(self) -> int:
        """Of all elements."""
        return int(self._array.nbytes)

    def has_value(self) -> bool:
        """Always."""
        return True

    def is_tensor(self) -> bool:
        """Always."""
        return True

    def is_sparse_tensor(self) -> bool:
        """Never."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Never."""
        return False


def array_at(address: int, element_type: Any, shape: Sequence[int]) -> np.ndarray:
    """Memory of the caller's as an array, in place."""
    dtype = numpy_of(element_of(element_type))
    extents = tuple(int(extent) for extent in shape)
    size = int(np.prod(extents, dtype=np.int64)) * dtype.itemsize
    memory = (ctypes.c_uint8 * size).from_address(int(address))
    return np.ctypeslib.as_array(memory).view(dtype).reshape(extents)


__all__ = ["ModelMetadata", "NodeArg", "OrtDevice", "OrtValue"]
