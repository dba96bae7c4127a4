"""octavo.onnxruntime beside onnxruntime: the same scripts, and what is Octavo's alone."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx_file
import pytest
from onnxruntime_scripts import SCRIPTS, Files, Found

import octavo
from octavo import _core
from octavo import onnxruntime as ort


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def twice(kind: int) -> bytes:
    """y = x beside x."""
    concat = onnx_file.node("Concat", ["x", "x"], ["y"], axis=0)
    return onnx_file.model([concat], [onnx_file.value("x", kind, ["n", 3])], [onnx_file.value("y", kind, ["m", 3])])


def models() -> dict[str, bytes]:
    f32, value, node = onnx_file.FLOAT, onnx_file.value, onnx_file.node
    ab = [value("a", f32, ["n", 2]), value("b", f32, ["n", 2])]
    pair = [value(name, f32, ["n", "k"]) for name in "abs"]
    unnamed = onnx_file.model(
        [node("Relu", ["x"], ["y"])], [value("x", f32, [None, 3]), value("unused", f32, [2])], [value("y", f32, None)]
    )
    weights = onnx_file.tensor("w", np.ones((3, 3), np.float32))
    overridable = onnx_file.model(
        [node("MatMul", ["x", "w"], ["y"])],
        [value("x", f32, ["n", 3]), value("w", f32, [3, 3])],
        [value("y", f32, ["n", 3])],
        [weights],
    )
    kinds = {"int64": 7, "double": 11, "bool": 9, "float16": 10, "uint8": 2}
    return {
        "product": onnx_file.product(16, 4, "batch"),
        "wide": onnx_file.product(256, 64, "batch"),
        "sum": onnx_file.model(
            [node("Add", ["a", "b"], ["s"]), node("Sub", ["a", "b"], ["d"])],
            ab,
            [value("s", f32, ["n", 2]), value("d", f32, ["n", 2])],
        ),
        "loop": onnx_file.loop(),
        "open_sum": onnx_file.model([node("Add", ["a", "b"], ["s"])], pair[:2], pair[2:]),
        "unnamed": unnamed,
        "overridable": overridable,
        "described": onnx_file.described(
            onnx_file.product(16, 4, 1), "octavo's tests", {"classes": "4", "colour": "none"}
        ),
    } | {f"twice_{name}": twice(kind) for name, kind in kinds.items()}


@pytest.fixture
def files(tmp_path: Path, digits: str, digits_samples: np.ndarray) -> Files:
    return Files(tmp_path, digits, digits_samples[:64], models())


def assert_same(one: Any, other: Any, where: str = "") -> None:
    """Arrays to what sums of another order differ by, all else exactly."""
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4, err_msg=where)
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same(one[key], other[key], f"{where} {key}")
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), where
        for at, (each, its) in enumerate(zip(one, other)):
            assert_same(each, its, f"{where} {at}")
    else:
        assert one == other, where


def ran(script: Any, rt: Any, files: Files) -> Found:
    if "dynamic" in script.__name__ or ("quantization" in script.__name__ and rt is not ort):
        pytest.importorskip("onnx", reason="onnx is not installed")
    found: Found = script(rt, files)
    assert found and all(
        value is not False for key, value in found.items() if key in ("smaller", "agreeing", "near")
    ), found
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_a_script_runs(script: Any, files: Files) -> None:
    ran(script, ort, files)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_a_script_finds_what_it_finds_with_onnxruntime(script: Any, files: Files) -> None:
    real = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    assert_same(ran(script, ort, files), ran(script, real, files), script.__name__)


def options_with(**entries: str) -> ort.SessionOptions:
    options = ort.SessionOptions()
    for name, value in entries.items():
        options.add_session_config_entry(f"octavo.{name}", value)
    return options


def test_a_second_session_is_a_load(digits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    compile_ = _core.compile
    monkeypatch.setattr(_core, "compile", lambda name, *rest: calls.append(name) or compile_(name, *rest))
    x = np.ones((2, 1, 8, 8), np.float32)
    first = ort.InferenceSession(digits).run(None, {"image": x})[0]
    np.testing.assert_array_equal(first, ort.InferenceSession(digits).run(None, {"image": x})[0])
    assert calls == [digits]
    ort.InferenceSession(digits, options_with(cache_dir=""))
    assert calls == [digits, digits]


def test_precision_and_calibration_are_entries(digits: str, digits_samples: np.ndarray, tmp_path: Path) -> None:
    samples = tmp_path / "samples.npy"
    np.save(samples, digits_samples[:32])
    session = ort.InferenceSession(
        digits, options_with(precision="int8", calibrate=str(samples), skip="position:first")
    )
    x = digits_samples[:4]
    expected = octavo.compile(digits, str(samples), precision="int8", skip="position:first", batch=1).run(
        {"image": x[:1]}
    )
    np.testing.assert_array_equal(session.run(None, {"image": x[:1]})[0], expected["logits"])
    assert not np.array_equal(
        session.run(None, {"image": x})[0], ort.InferenceSession(digits).run(None, {"image": x})[0]
    )


def test_precision_auto(digits: str, digits_samples: np.ndarray, tmp_path: Path) -> None:
    samples = tmp_path / "samples.npy"
    np.save(samples, digits_samples[:32])
    session = ort.InferenceSession(digits, options_with(precision="auto", calibrate=str(samples)))
    x = digits_samples[:1]
    noise = np.square(session.run(None, {"image": x})[0] - ort.InferenceSession(digits).run(None, {"image": x})[0])
    assert noise.sum() < 0.1 and "auto:" in str(session._engine.model.info["plans"][0]["notes"])


def test_a_quantized_file_keeps_its_integers(digits: str, digits_samples: np.ndarray) -> None:
    quantized = octavo.quantize(digits, digits_samples[:32], weights="max", corrections="none").onnx
    x = digits_samples[:3]
    np.testing.assert_array_equal(
        ort.InferenceSession(quantized).run(None, {"image": x})[0], octavo.compile(quantized)(x)
    )


def test_entries_that_are_wrong(digits: str) -> None:
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument, match="'octavo.nope'"):
        ort.InferenceSession(digits, options_with(nope="1"))
    with pytest.raises(ValueError, match="octavo.fallback.*'yes', expected '0' or '1'"):
        ort.InferenceSession(digits, options_with(fallback="yes"))
    with pytest.raises(octavo.UsageError, match="precision"):
        ort.InferenceSession(digits, options_with(precision="int9"))


def test_options_for_providers_have_to_fit(digits: str) -> None:
    with pytest.raises(ValueError, match="same length"):
        ort.InferenceSession(digits, providers=["CPUExecutionProvider"], provider_options=[{}, {}])
    with pytest.raises(ValueError, match="sequence"):
        ort.InferenceSession(digits, providers="CPUExecutionProvider")


def test_numbers_of_numpy_are_numbers(digits: str) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = np.int64(1)
    assert type(options.intra_op_num_threads) is int


@pytest.mark.parametrize("name, value", [("enable_profiling", True), ("optimized_model_filepath", "x.onnx")])
def test_options_that_cannot_be_honoured_are_refused(digits: str, name: str, value: Any) -> None:
    options = ort.SessionOptions()
    setattr(options, name, value)
    with pytest.raises(NotImplementedError, match=name):
        ort.InferenceSession(digits, options)


def strings() -> bytes:
    """A model of text, which Octavo does not read."""
    value = [onnx_file.value(name, 8, ["n"]) for name in "xy"]
    return onnx_file.model([onnx_file.node("Identity", ["x"], ["y"])], value[:1], value[1:])


def test_what_octavo_does_not_read_is_an_error_that_both_kinds_of_code_catch() -> None:
    with pytest.raises(octavo.UnsupportedError, match="STRING") as caught:
        ort.InferenceSession(strings())
    assert (
        isinstance(caught.value, ort.capi.onnxruntime_pybind11_state.NotImplemented) and caught.value.errors[0].expected
    )


def test_fallback_runs_by_onnxruntime_and_says_so() -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    with pytest.warns(RuntimeWarning, match="onnxruntime runs it.*STRING"):
        session = ort.InferenceSession(strings(), options_with(fallback="1"))
    assert session.get_inputs()[0] == ("x", "tensor(string)", ["n"])
    assert session.run(None, {"x": np.array(["a", "b"])})[0].tolist() == ["a", "b"]


def test_fallback_ends_runs_too() -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    with pytest.warns(RuntimeWarning, match="onnxruntime runs it"):
        session = ort.InferenceSession(onnx_file.loop(with_text=True), options_with(fallback="1"))
    options = ort.RunOptions()
    options.log_severity_level = 4
    feeds = {"x": np.zeros(4, np.float32), "t": np.array(["a"])}
    assert session.run(["y"], feeds | {"trips": np.array(2)}, options)[0].tolist() == [2.0] * 4
    timer = threading.Timer(0.1, lambda: setattr(options, "terminate", True))
    timer.start()
    with pytest.raises(Exception, match="terminate"):
        session.run(["y"], feeds | {"trips": np.array(1 << 60)}, options)
    timer.join()


def test_fallback_without_onnxruntime_says_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(NotImplementedError, match="(?s)STRING.*no onnxruntime"):
        ort.InferenceSession(strings(), options_with(fallback="1"))


def test_a_compiled_file_is_a_session(tmp_path: Path, tiny_model: octavo.Model) -> None:
    path = tmp_path / "tiny.octv"
    tiny_model.save(path)
    x = np.ones((1, 16), np.float32)
    session = ort.InferenceSession(path)
    assert session.get_inputs() == [("x", "tensor(float)", [1, 16])]
    np.testing.assert_array_equal(session.run(["y"], {"x": x})[0], tiny_model(x))
    with pytest.raises(ValueError, match="a compiled model and 'octavo.precision'"):
        ort.InferenceSession(path, options_with(precision="fp32"))


def test_outputs_whose_shape_is_data_are_bound_without_memory() -> None:
    session = ort.InferenceSession(onnx_file.nonzero())
    x = np.eye(4, dtype=np.float32)
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("i")
    for row in range(3):
        x[row] = row
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], np.stack(np.nonzero(x)))


def test_quantizing_refuses_all_that_it_cannot_write_at_once(digits: str, tmp_path: Path) -> None:
    quantization = importlib.import_module("octavo.onnxruntime.quantization")
    with pytest.raises(NotImplementedError, match="(?s)activation_type.*quant_format.*calibrate_method"):
        quantization.quantize_static(
            digits,
            tmp_path / "q.onnx",
            None,
            quantization.QuantFormat.QOperator,
            activation_type=quantization.QuantType.QInt16,
            calibrate_method=quantization.CalibrationMethod.Distribution,
        )
    assert not (tmp_path / "q.onnx").exists()


def test_nodes_that_are_left_out_stay_in_floats(digits: str, digits_samples: np.ndarray, tmp_path: Path) -> None:
    quantization = importlib.import_module("octavo.onnxruntime.quantization")

    class Reader:
        def __init__(self) -> None:
            self.samples = iter(digits_samples[:8])

        def get_next(self) -> dict[str, Any] | None:
            sample = next(self.samples, None)
            return None if sample is None else {"image": sample[None]}

    path = tmp_path / "q.onnx"
    with pytest.warns(UserWarning, match="reduce_range"):
        quantization.quantize_static(
            digits,
            path,
            Reader(),
            op_types_to_quantize=["Gemm"],
            reduce_range=True,
            extra_options={"octavo.corrections": "none", "octavo.weights": "max"},
        )
    operators = [each.op for each in octavo._onnx_file.nodes(octavo._sources.Source(str(path)))]
    # One operand, one matrix, one bias.
    assert operators.count("QuantizeLinear") == 1 and operators.count("DequantizeLinear") == 3
    with pytest.raises(ValueError, match="'nope', which no node matches"):
        quantization.quantize_static(digits, path, Reader(), nodes_to_exclude=["nope"])


def test_nodes_without_names_are_left_out_by_their_operator(tmp_path: Path) -> None:
    quantization = importlib.import_module("octavo.onnxruntime.quantization")
    nodes = [
        onnx_file.node("MatMul", ["x", "w"], ["h"]),
        onnx_file.node("Sigmoid", ["h"], ["g"]),
        onnx_file.node("Mul", ["h", "g"], ["y"]),
    ]
    nodes = [each.replace(b"\x1a\x06" + name, b"") for each, name in zip(nodes, (b"h_node", b"g_node", b"y_node"))]
    ends = [onnx_file.value(name, onnx_file.FLOAT, [1, 16]) for name in "xy"]
    weights = onnx_file.tensor("w", np.random.default_rng(1).standard_normal((16, 16)).astype(np.float32))
    source, path = tmp_path / "silu.onnx", tmp_path / "q.onnx"
    source.write_bytes(onnx_file.model(nodes, ends[:1], ends[1:], [weights]))

    class Reader:
        left = 4

        def get_next(self) -> dict[str, Any] | None:
            self.left -= 1
            sample = np.random.default_rng(abs(self.left)).standard_normal((1, 16)).astype(np.float32)
            return {"x": sample} if self.left >= 0 else None

    found = []
    for chosen in (None, ["Conv"]):
        quantization.quantize_static(
            source, path, Reader(), op_types_to_quantize=chosen, extra_options={"octavo.output_sqnr": 0}
        )
        nodes = octavo._onnx_file.nodes(octavo._sources.Source(str(path)))
        found.append(sum(each.op == "QuantizeLinear" for each in nodes))
    assert found == [1, 0]


def test_preprocessing_from_the_command_line(digits: str, tmp_path: Path) -> None:
    path = tmp_path / "ready.onnx"
    words = ["--input", digits, "--output", str(path), "--skip_symbolic_shape", "True"]
    subprocess.run([sys.executable, "-m", "octavo.onnxruntime.quantization.preprocess", *words], check=True)
    assert path.read_bytes() == Path(digits).read_bytes()


def test_empty_batches() -> None:
    add = ort.InferenceSession(models()["sum"])
    none, one = np.zeros((0, 2), np.float32), np.zeros((1, 2), np.float32)
    assert [each.shape for each in add.run(None, {"a": none, "b": none})] == [(0, 2), (0, 2)]
    for feed in (
        {"a": none, "b": one},
        {"a": none, "b": none.astype(np.float64)},
        {"a": none, "b": np.zeros((0, 3), np.float32)},
    ):
        with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument):
            add.run(None, feed)
    twice = ort.InferenceSession(models()["twice_int64"]).run(None, {"x": np.zeros((0, 3), np.int64)})
    assert [(each.dtype, each.shape) for each in twice] == [(np.dtype(np.int64), (0, 3))]


def test_tables_become_bytes(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    quantization = importlib.import_module("octavo.onnxruntime.quantization")
    source, path = tmp_path / "tokens.onnx", tmp_path / "dynamic.onnx"
    source.write_bytes(onnx_file.tokens())
    ids = np.arange(12).reshape(2, 6)
    expected = ort.InferenceSession(source).run(None, {"ids": ids})[0]
    noise = []
    for chosen in (None, ["Gather"], ["MatMul"]):
        quantization.quantize_dynamic(source, path, op_types_to_quantize=chosen)
        found = ort.InferenceSession(path).run(None, {"ids": ids})[0]
        noise.append(np.square(found - expected).sum() / np.square(expected).sum())
    assert noise[0] > max(noise[1:]) > min(noise[1:]) > 1e-7 and noise[0] < 1e-3
    assert path.stat().st_size < 0.95 * source.stat().st_size
