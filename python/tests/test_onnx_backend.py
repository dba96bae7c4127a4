"""octavo.onnx_backend: onnx's interface, and onnx's own suite through it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_file
import onnx_suite
import pytest
from conftest import ROOT

import octavo

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnx.backend.base", reason="onnx has no backend interface")

from octavo import onnx_backend  # noqa: E402


def loaded(content: bytes) -> Any:
    return onnx.load_from_string(content)


def test_a_model_runs_by_position_name_and_alone() -> None:
    a, b = np.ones((2, 3), np.float32), np.full((2, 3), 2, np.float32)
    prepared = onnx_backend.prepare(loaded(onnx_file.sum_and_difference()))
    for inputs in ([a, b], {"b": b, "a": a}):
        found = prepared.run(inputs)
        np.testing.assert_array_equal(found[0], a + b)
        np.testing.assert_array_equal(found["d"], a - b)
    (y,) = onnx_backend.run_model(loaded(onnx_file.product(16, 4)), np.ones((1, 16), np.float32))
    assert y.shape == (1, 4)
    with pytest.raises(octavo.UsageError, match="found 1 arrays, expected one for each of a, b"):
        prepared.run([a])


def test_a_shape_that_a_run_gives() -> None:
    shape = onnx_file.value("shape", onnx_file.INT64, [2])
    reshape = onnx_file.node("Reshape", ["x", "shape"], ["y"])
    content = onnx_file.model(
        [reshape],
        [onnx_file.value("x", onnx_file.FLOAT, [2, 6]), shape],
        [onnx_file.value("y", onnx_file.FLOAT, ["a", "b"])],
    )
    prepared = onnx_backend.prepare(loaded(content))
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    for wanted in ((3, 4), (12, 1), (3, 4)):
        np.testing.assert_array_equal(prepared.run([x, np.array(wanted)])[0], x.reshape(wanted))


def test_a_node_runs() -> None:
    x = np.array([[-1.0, 2.0]], np.float32)
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    np.testing.assert_array_equal(onnx_backend.run_node(node, [x])[0], np.maximum(x, 0))
    values, places = onnx_backend.run_node(
        onnx.helper.make_node("TopK", ["x", "k"], ["values", "places"]), [x, np.array([1])]
    )
    np.testing.assert_array_equal(values, [[2]])
    assert places.dtype == np.int64 and places.tolist() == [[1]]


def test_devices_and_models_that_are_not_there() -> None:
    assert onnx_backend.supports_device("CPU") and not onnx_backend.supports_device("CUDA")
    with pytest.raises(ValueError, match="device: found 'CUDA'"):
        onnx_backend.prepare(loaded(onnx_file.product(16, 4)), "CUDA")
    text = [onnx_file.value(name, 8, ["n"]) for name in "xy"]
    strings = loaded(onnx_file.model([onnx_file.node("Identity", ["x"], ["y"])], text[:1], text[1:]))
    assert not onnx_backend.is_compatible(strings) and onnx_backend.is_compatible(loaded(onnx_file.product(16, 4)))


def test_keywords_are_those_of_compile(digits: str, digits_samples: np.ndarray) -> None:
    model = onnx.load(digits)
    int8 = onnx_backend.prepare(model, calibrate=digits_samples[:32], weights="max").run([digits_samples[:2]])[0]
    fp32 = onnx_backend.prepare(model).run([digits_samples[:2]])[0]
    noise = np.square(int8 - fp32).sum() / np.square(fp32).sum()
    assert 0 < noise < 1e-2


@pytest.mark.long
def test_onnx_own_suite() -> None:
    """What fails or is skipped has a reason, and every reason counts for something."""
    found = onnx_suite.ran()
    unknown = {
        name: text
        for kind in ("failed", "skipped")
        for name, text in found[kind].items()
        if not onnx_suite.reason_of(name, ROOT)
    }
    assert not unknown
    passing = [name for name in found["passed"] if onnx_suite.reason_of(name, ROOT)]
    assert not passing
    if onnx.__version__.startswith("1.23."):
        assert {kind: len(tests) for kind, tests in found.items()} == {"passed": 1737, "failed": 290, "skipped": 6}
