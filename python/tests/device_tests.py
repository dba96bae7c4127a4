"""Arrays in a device's memory. Run by test_devices.py with the pretended driver (tests/cuda/fake), whose memory is this process's."""

from __future__ import annotations

import ctypes
import pickle
from typing import Any

import numpy as np
import pytest

import octavo

_CUDA, _PINNED, _OPENCL = 2, 3, 4
_driver = ctypes.CDLL("libcuda.so.1")
_context = ctypes.c_void_p()
assert _driver.cuDevicePrimaryCtxRetain(ctypes.byref(_context), 0) == 0
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class There:
    """A tensor of a device as other libraries lend it: DLPack and nothing else."""

    def __init__(self, values: np.ndarray, kind: int = _CUDA) -> None:
        self.kind = kind
        self.streams: list[Any] = []  #: that it was asked to be ready for
        self._memory = ctypes.c_uint64()
        _driver.cuCtxPushCurrent_v2(_context)
        assert _driver.cuMemAlloc_v2(ctypes.byref(self._memory), ctypes.c_size_t(values.nbytes)) == 0
        _driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        content = (ctypes.c_byte * values.nbytes).from_address(self._memory.value)
        self.values = np.frombuffer(content, values.dtype).reshape(values.shape)  #: as the driver sees them
        self.values[...] = values

    def __getitem__(self, key: Any) -> There:
        self.values = self.values[key]
        return self

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        self.streams.append(stream)
        capsule = self.values.__dlpack__(**options)
        is_versioned = "versioned" in repr(capsule)  # DLManagedTensorVersioned has 32 bytes before its tensor
        tensor = _get_pointer(capsule, b"dltensor_versioned" if is_versioned else b"dltensor") + (32 if is_versioned else 0)
        ctypes.c_int32.from_address(tensor + 8).value = self.kind
        return capsule


@pytest.fixture(scope="module")
def model(tiny: bytes) -> octavo.Model:
    return octavo.compile(tiny, precision="fp32", target="cuda", device=0)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def test_inputs_and_outputs_may_lie_there(model: octavo.Model) -> None:
    x = numbers(1, 16)
    expected = model(x)
    assert isinstance(expected, np.ndarray) and expected.any()
    there, out = There(x), There(np.zeros((1, 4), np.float32))
    np.testing.assert_array_equal(model(there), expected)
    assert there.streams[-1] == 1, "the legacy default stream, which runs wait for"
    assert model(there, out=out) is out and out.streams[-2:].count(1) == 1
    np.testing.assert_array_equal(out.values, expected)
    out.values[...] = 0
    model.run({"x": x}, out={"y": out})
    np.testing.assert_array_equal(out.values, expected)
    np.testing.assert_array_equal(model(There(x, _PINNED)), expected)


def test_bound_arrays_may_lie_there(model: octavo.Model) -> None:
    there, out = There(numbers(1, 16)), There(np.zeros((1, 4), np.float32))
    bound = model.bind({"x": there}, out=out)
    np.testing.assert_array_equal(out.values, model(there))
    there.values *= -1
    assert bound()["y"] is out
    np.testing.assert_array_equal(out.values, model(there))


def test_models_of_open_sizes(tiny: bytes) -> None:
    import onnx_file

    model = octavo.compile(onnx_file.product(16, 4, "N"), precision="fp32", target="cuda", shape={"x": [(1, 64), 16]})
    for batch in (1, 7):
        x = numbers(batch, 16)
        np.testing.assert_array_equal(model(There(x)), model(x))


def test_what_does_not_fit(model: octavo.Model, tiny_model: octavo.Model) -> None:
    x = numbers(1, 16)
    with pytest.raises(octavo.UsageError, match="input 'x': found an array in the memory of CUDA device 0, expected one in the CPU's memory.*target='cuda'"):
        tiny_model(There(x))
    with pytest.raises(octavo.UsageError, match="output 'y': found an array in the memory of CUDA device 0"):
        tiny_model(x, out=There(np.zeros((1, 4), np.float32)))
    with pytest.raises(octavo.UsageError, match="found an array in memory of device type 4 .of DLPack., expected one in memory of the CPU or a CUDA device"):
        model(There(x, _OPENCL))
    with pytest.raises(octavo.UsageError, match="input 'x': found an array that is not contiguous"):
        model(There(numbers(1, 32))[:, ::2])
    fixed = There(np.zeros((1, 4), np.float32))
    fixed.values.flags.writeable = False
    with pytest.raises(octavo.UsageError, match="output 'y': found a read-only array"):
        model(x, out=fixed)
    with pytest.raises(octavo.UsageError, match="input 'x': found f32 1x15, expected f32 1x16"):
        model(There(numbers(1, 15)))


def test_other_devices(tiny: bytes, model: octavo.Model) -> None:
    with pytest.raises(octavo.UsageError, match="device 1, expected 0, the only one"):
        octavo.compile(tiny, precision="fp32", target="cuda", device=1)
    with pytest.raises(octavo.UsageError, match="device -1, expected 0, the only one"):
        octavo.load(model.to_bytes(), device=-1)
    assert pickle.loads(pickle.dumps(model))(numbers(1, 16)).any()


def test_more_memory_than_allowed(tiny: bytes) -> None:
    model = octavo.compile(tiny, precision="fp32", target="cuda", context_bytes=100)
    with pytest.raises(octavo.OutOfMemoryError, match="bytes of memory for a context, expected at most 100"):
        model(numbers(1, 16))
