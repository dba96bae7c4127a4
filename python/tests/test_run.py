"""Calls of a model: arrays of all kinds in, results out."""

from __future__ import annotations

import array
import pickle
from pathlib import Path

import numpy as np
import onnx_file
import pytest

import octavo


def weights_of(width: int, outputs: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((width, outputs)).astype(np.float32)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32)


def test_one_output_is_an_array(tiny_model: octavo.Model) -> None:
    x = numbers(1, 16)
    y = tiny_model(x)
    assert isinstance(y, np.ndarray) and y.dtype == np.float32 and y.shape == (1, 4)
    np.testing.assert_allclose(y, np.maximum(x @ weights_of(16, 4), 0), rtol=1e-5, atol=1e-5)


def test_inputs_in_order_by_name_and_as_a_mapping() -> None:
    model = octavo.compile(onnx_file.sum_and_difference(), precision="fp32")
    a, b = numbers(2, 3), numbers(2, 3) * 2
    for s, d in (model(a, b), model(a, b=b), model(b=b, a=a), model.run({"a": a, "b": b}).values()):
        np.testing.assert_array_equal(s, a + b)
        np.testing.assert_array_equal(d, a - b)
    assert [each.name for each in model.inputs] == ["a", "b"] and [each.name for each in model.outputs] == ["s", "d"]


def test_out_is_written_in_place(tiny_model: octavo.Model) -> None:
    x = numbers(1, 16)
    out = np.zeros((1, 4), np.float32)
    assert tiny_model(x, out=out) is out
    np.testing.assert_array_equal(out, tiny_model(x))
    tiny_model.run({"x": x}, out={"y": out})


def test_the_buffer_protocol(tiny_model: octavo.Model) -> None:
    x = numbers(1, 16)
    flat = memoryview(array.array("f", x.ravel())).cast("B").cast("f", (1, 16))
    np.testing.assert_array_equal(tiny_model(flat), tiny_model(x))


class Lent:
    """What other libraries' arrays are: DLPack and nothing else."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **options: object) -> object:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def test_dlpack(tiny_model: octavo.Model) -> None:
    x = numbers(1, 16)
    out = np.zeros((1, 4), np.float32)
    tiny_model(Lent(x), out=Lent(out))
    np.testing.assert_array_equal(out, tiny_model(x))


def test_what_is_not_dense_is_copied_as_an_input_and_refused_elsewhere(tiny_model: octavo.Model) -> None:
    wide = numbers(1, 32)
    np.testing.assert_array_equal(tiny_model(wide[:, ::2]), tiny_model(wide[:, ::2].copy()))
    with pytest.raises(ValueError, match="output 'y': found an array that is not contiguous"):
        tiny_model(wide[:, ::2], out=np.zeros((1, 8), np.float32)[:, ::2])
    with pytest.raises(ValueError, match="input 'x': found an array that is not contiguous"):
        tiny_model.bind({"x": wide[:, ::2]})


def test_bound_arrays_are_read_and_written_in_place(tiny_model: octavo.Model) -> None:
    x = numbers(1, 16)
    bound = tiny_model.bind({"x": x})
    first = bound.outputs["y"].copy()
    x *= -1
    assert bound()["y"] is bound.outputs["y"]
    assert not np.array_equal(first, bound.outputs["y"])
    np.testing.assert_array_equal(bound.outputs["y"], tiny_model(x))


def test_open_sizes_run_at_any() -> None:
    model = octavo.compile(onnx_file.product(16, 4, "N"), precision="fp32", shape={"x": [(1, 64), 16]})
    assert model.inputs[0].shape == ("N", 16)
    for batch in (1, 7, 64, 7):
        x = numbers(batch, 16)
        np.testing.assert_allclose(model(x), np.maximum(x @ weights_of(16, 4), 0), rtol=1e-4, atol=1e-4)
    with pytest.raises(octavo.UsageError, match="x"):
        model(numbers(65, 16))


def test_plans_of_several_batches(digits: str, digits_samples: np.ndarray) -> None:
    model = octavo.compile(digits, digits_samples, batch=[1, 4])
    one = model(digits_samples[:1])
    four = model(digits_samples[:4])
    assert len(one) == 1 and len(four) == 4
    np.testing.assert_array_equal(one[0], four[0])


def test_shapes_that_depend_on_data() -> None:
    model = octavo.compile(onnx_file.nonzero(), precision="fp32")
    for x in (np.eye(4, dtype=np.float32), np.zeros((4, 4), np.float32), numbers(4, 4)):
        np.testing.assert_array_equal(model(x), np.stack(np.nonzero(x)))
    # Rows of what was found: an array of 0 rows, whose strides say nothing.
    rows = octavo.compile(onnx_file.nonzero_rows(), precision="fp32")
    for x in (np.zeros((4, 4), np.float32), np.eye(4, dtype=np.float32)):
        np.testing.assert_array_equal(rows(x), np.argwhere(x))
    with pytest.raises(NotImplementedError, match="known after a run"):
        model.bind({"x": numbers(4, 4)})


def test_saved_loaded_pickled_and_as_bytes(int8: octavo.Model, digits_samples: np.ndarray, tmp_path: Path) -> None:
    expected = int8(digits_samples[:1])
    int8.save(tmp_path / "digits.octv")
    for again in (octavo.load(tmp_path / "digits.octv"), octavo.load(int8.to_bytes()), pickle.loads(pickle.dumps(int8))):
        np.testing.assert_array_equal(again(digits_samples[:1]), expected)
        assert again.source == "digits.onnx"


def test_a_model_tells_what_it_is(int8: octavo.Model) -> None:
    assert "digits.onnx" in repr(int8) and "float32" in repr(int8)
    assert int8.info["plans"][0]["precision"] == "int8"
    assert "<pre>" in int8._repr_html_()


def test_8_bit_ends_have_scales(digits: str, digits_samples: np.ndarray) -> None:
    model = octavo.compile(digits, digits_samples, integer_only=True)
    told = model.inputs[0]
    assert told.dtype == "uint8" and told.scale is not None and told.scale > 0 and told.zero_point is not None
    stored = np.clip(np.rint(digits_samples[:1] / told.scale) + told.zero_point, 0, 255).astype(np.uint8)
    assert model(stored).dtype == np.uint8
