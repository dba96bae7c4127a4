"""octavo.litert beside ai_edge_litert: the same calls, the same details, the same bits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx_file
import pytest
from conftest import ROOT
from tflite_signature import with_signature

import octavo
from octavo import litert

FILES = sorted((ROOT / "tests/import/litert").glob("*.tflite"))
DATA = Path(os.environ.get("OCTAVO_DATA", ROOT.parent / "shared/data"))
MODELS = sorted((DATA / "models").glob("*.tflite")) or [
    pytest.param(DATA, marks=pytest.mark.skip("no models at ../shared/data"))
]
RESOLVERS = ("AUTO", "BUILTIN_REF")


@pytest.fixture(autouse=True, scope="module")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def real() -> Any:
    return pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")


def filled(detail: dict[str, Any]) -> np.ndarray:
    """Values of the whole range of an input."""
    random, dtype = np.random.default_rng(5), np.dtype(detail["dtype"])
    if dtype.kind == "f":
        return random.standard_normal(detail["shape"]).astype(dtype)
    return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, detail["shape"], endpoint=True, dtype=dtype)


def assert_same(one: Any, other: Any, where: str) -> None:
    if isinstance(other, dict):
        assert list(one) == list(other), where
        for key in other:
            assert_same(one[key], other[key], f"{where}, {key}")
    elif isinstance(other, (list, tuple)):
        assert type(one) is type(other) and len(one) == len(other), where
        for at, (each, its) in enumerate(zip(one, other)):
            assert_same(each, its, f"{where}, {at}")
    elif isinstance(other, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=where)
    else:
        assert one == other, where


def ran(interpreter: Any) -> list[np.ndarray]:
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], filled(detail))
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_answers_of_litert(path: Path) -> None:
    """Beside each file lie inputs and what LiteRT's default and its reference kernels gave for the first output."""
    stored = path.with_suffix(".bin").read_bytes()
    interpreters = [
        litert.Interpreter(path, experimental_op_resolver_type=litert.OpResolverType[name]) for name in RESOLVERS
    ]
    at = 0
    for detail in interpreters[0].get_input_details():
        size = int(np.prod(detail["shape"])) * np.dtype(detail["dtype"]).itemsize
        value = np.frombuffer(stored[at : at + size], detail["dtype"]).reshape(detail["shape"])
        for each in interpreters:
            each.allocate_tensors()
            each.set_tensor(detail["index"], value)
        at += size
    expected = [stored[at : at + (len(stored) - at) // 2], stored[at + (len(stored) - at) // 2 :]]
    for each, answer, resolver in zip(interpreters, expected, RESOLVERS):
        each.invoke()
        if (path.stem, resolver) == ("sum_s8", "BUILTIN_REF"):
            continue  # LiteRT's does not give the sum (docs/numerics.md)
        assert each.get_tensor(each.get_output_details()[0]["index"]).tobytes() == answer, resolver


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_details_and_bits_beside_litert(path: Path, real: Any) -> None:
    ours, theirs = litert.Interpreter(str(path)), real.Interpreter(str(path))
    assert_same(ours.get_tensor_details(), theirs.get_tensor_details(), "tensors")
    assert_same(ran(ours), ran(theirs), "answers")
    for call in ("get_input_details", "get_output_details", "get_signature_list", "num_subgraphs"):
        assert_same(getattr(ours, call)(), getattr(theirs, call)(), call)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_models_beside_litert(path: Path, real: Any) -> None:
    ours, theirs = litert.Interpreter(str(path), num_threads=1), real.Interpreter(str(path), num_threads=1)
    assert_same(ours.get_tensor_details(), theirs.get_tensor_details(), "tensors")
    for answer, its in zip(ran(ours), ran(theirs), strict=True):
        if answer.dtype.kind == "f":
            np.testing.assert_allclose(answer, its, rtol=0, atol=1e-5 * np.abs(its).max())
        else:
            np.testing.assert_array_equal(answer, its)


@pytest.mark.parametrize("path", sorted((ROOT / "tests/import/litert_states").glob("*.tflite")), ids=lambda path: path.stem)
def test_variables_go_on_from_run_to_run(path: Path) -> None:
    stored = path.with_suffix(".bin").read_bytes()
    ours = litert.Interpreter(str(path))
    detail, outputs = ours.get_input_details()[0], ours.get_output_details()
    while stored:
        value = np.frombuffer(stored[: np.zeros(detail["shape"], detail["dtype"]).nbytes], detail["dtype"])
        stored = stored[value.nbytes :]
        ours.allocate_tensors()
        ours.set_tensor(detail["index"], value.reshape(detail["shape"]))
        ours.invoke()
        for each in outputs:
            answer = ours.get_tensor(each["index"])
            expected = np.frombuffer(stored[: answer.nbytes], answer.dtype).reshape(answer.shape)
            np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-5 if answer.dtype.kind == "f" else 0)
            stored = stored[answer.nbytes :]


@pytest.mark.parametrize("name, forgets", [("svdf", True), ("svdf_integer", True), ("running_sum", False)])
def test_reset_forgets_what_svdf_keeps_alone(name: str, forgets: bool, real: Any) -> None:
    path = str(ROOT / f"tests/import/litert_states/{name}.tflite")
    answers = []
    for interpreter in (litert.Interpreter(path), real.Interpreter(path)):
        interpreter.allocate_tensors()
        detail, out = interpreter.get_input_details()[0], interpreter.get_output_details()[0]["index"]
        runs = []
        for turn in range(4):
            if turn == 3:
                interpreter.reset_all_variables()
            interpreter.set_tensor(detail["index"], np.full(detail["shape"], 3, detail["dtype"]))
            interpreter.invoke()
            runs.append(interpreter.get_tensor(out))
        answers.append(runs)
    for ours, theirs in zip(*answers, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
    assert np.array_equal(answers[0][3], answers[0][0]) == forgets


@pytest.fixture
def softmax() -> litert.Interpreter:
    return litert.Interpreter(str(ROOT / "tests/import/litert/softmax_s8.tflite"))


def test_states_and_what_does_not_fit(softmax: litert.Interpreter) -> None:
    index, out = softmax.get_input_details()[0]["index"], softmax.get_output_details()[0]["index"]
    shape, dtype = softmax.get_input_details()[0]["shape"], softmax.get_input_details()[0]["dtype"]
    with pytest.raises(RuntimeError, match="allocate_tensors"):
        softmax.invoke()
    with pytest.raises(ValueError, match="allocate_tensors"):
        softmax.get_tensor(out)
    softmax.allocate_tensors()
    for value in (np.zeros(shape, np.float32), np.zeros([2, *shape], dtype)):
        with pytest.raises(ValueError, match=f"input {index}.*expected int8"):
            softmax.set_tensor(index, value)
    with pytest.raises(ValueError, match="no input"):
        softmax.set_tensor(out, np.zeros(shape, dtype))
    with pytest.raises(ValueError, match="tensor index: found 99"):
        softmax.get_tensor(99)


def test_tensors_are_read_and_written_in_place(softmax: litert.Interpreter) -> None:
    softmax.allocate_tensors()
    given, result = (
        softmax.tensor(details[0]["index"]) for details in (softmax.get_input_details(), softmax.get_output_details())
    )
    given().fill(3)
    softmax.invoke()
    first = result().copy()
    given()[..., 0] = 90
    softmax.invoke()
    assert not np.array_equal(first, result()) and result() is result()


@pytest.mark.parametrize("rows", [1, 5])
def test_inputs_grow(rows: int, softmax: litert.Interpreter) -> None:
    index, out = softmax.get_input_details()[0]["index"], softmax.get_output_details()[0]["index"]
    shape = [rows, *softmax.get_input_details()[0]["shape"][1:].tolist()]
    value = np.random.default_rng(1).integers(-128, 128, shape, dtype=np.int8)
    softmax.resize_tensor_input(index, shape)
    softmax.allocate_tensors()
    softmax.set_tensor(index, value)
    softmax.invoke()
    whole = softmax.get_tensor(out)
    assert softmax.get_output_details()[0]["shape"].tolist() == shape
    for row in range(rows):
        softmax.resize_tensor_input(index, [1, *shape[1:]])
        softmax.allocate_tensors()
        softmax.set_tensor(index, value[row : row + 1])
        softmax.invoke()
        np.testing.assert_array_equal(softmax.get_tensor(out), whole[row : row + 1])


def test_strict_resizing_takes_open_dimensions_only(softmax: litert.Interpreter) -> None:
    detail = softmax.get_input_details()[0]
    with pytest.raises(ValueError, match="of which -1 is open"):
        softmax.resize_tensor_input(detail["index"], detail["shape"] + 1, strict=True)


def test_constants_can_be_read() -> None:
    interpreter = litert.Interpreter(str(ROOT / "tests/import/litert/conv_s8.tflite"))
    graph = interpreter._graph
    weights = [index for index, each in enumerate(graph.tensors) if len(each.data)]
    inside = [index for index in range(len(graph.tensors)) if index not in (*weights, *graph.inputs, *graph.outputs)]
    assert weights and all(interpreter.get_tensor(index).any() for index in weights)
    for index in inside:
        with pytest.raises(ValueError, match="not kept"):
            interpreter.get_tensor(index)


def named(path: Path) -> bytes:
    """The file with a signature `serve`."""
    interpreter = litert.Interpreter(str(path))
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    return with_signature(
        path.read_bytes(),
        "serve",
        {f"in{i}": each["index"] for i, each in enumerate(inputs)},
        {"result": outputs[0]["index"]},
    )


def called(module: Any, content: bytes) -> Any:
    interpreter = module.Interpreter(model_content=content)
    runner = interpreter.get_signature_runner()
    arrays = {name: filled(detail) for name, detail in runner.get_input_details().items()}
    return interpreter.get_signature_list(), runner(**arrays), sorted(runner.get_output_details())


def test_signatures() -> None:
    content = named(ROOT / "tests/import/litert/add_s8.tflite")
    signatures, result, outputs = called(litert, content)
    assert signatures == {"serve": {"inputs": ["in0", "in1"], "outputs": ["result"]}} and outputs == ["result"]
    np.testing.assert_array_equal(result["result"], ran(litert.Interpreter(model_content=content))[0])
    interpreter = litert.Interpreter(model_content=content)
    runner = interpreter.get_signature_runner("serve")
    one = {name: filled(detail) for name, detail in runner.get_input_details().items()}
    two = runner(**{name: np.concatenate([value, value]) for name, value in one.items()})["result"]
    np.testing.assert_array_equal(two, np.concatenate([runner(**one)["result"]] * 2))
    with pytest.raises(ValueError, match="signature_key: found 'nope', expected one of \\['serve'\\]"):
        interpreter.get_signature_runner("nope")
    with pytest.raises(ValueError, match="inputs: found in0, expected in0, in1"):
        interpreter.get_signature_runner("serve")(in0=np.zeros(1))


def test_signatures_beside_litert(real: Any) -> None:
    content = named(ROOT / "tests/import/litert/add_s8.tflite")
    assert_same(called(litert, content), called(real, content), "signature")


def test_names_may_be_any_bytes() -> None:
    content = (ROOT / "tests/import/litert/conv_s8.tflite").read_bytes()
    other = content.replace(b"\x01\0\0\0x\0", b"\x01\0\0\0\xb7\0")
    assert other != content
    assert_same(ran(litert.Interpreter(model_content=other)), ran(litert.Interpreter(model_content=content)), "answers")
    assert octavo.compile(other).inputs[0].name == "\\xb7"
    with pytest.raises(octavo.UsageError, match=r"input '\\xb7'"):
        octavo.compile(other)(np.zeros((1, 2), np.int8))


def test_what_is_refused(tmp_path: Path) -> None:
    path = FILES[0]
    for arguments in ({"experimental_delegates": [object()]}, {"experimental_preserve_all_tensors": True}):
        with pytest.raises(octavo.UnsupportedError, match=next(iter(arguments))):
            litert.Interpreter(path, **arguments)
    with pytest.raises(RuntimeError, match="WITHOUT_DEFAULT_DELEGATES"):
        litert.Interpreter(path, experimental_op_resolver_type=litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    with pytest.raises(octavo.UnsupportedError, match="delegate"):
        litert.load_delegate("libedgetpu.so.1")
    for arguments, text in (
        ({}, "model_path"),
        ({"model_path": tmp_path / "no.tflite"}, "no file"),
        ({"model_content": b"junk"}, "no TFLite file"),
        ({"model_content": onnx_file.product(16, 4)}, "no TFLite file"),
        ({"model_path": path, "num_threads": 0}, "num_threads"),
    ):
        with pytest.raises(ValueError, match=text):
            litert.Interpreter(**arguments)


def test_fp32_becomes_int8_where_that_is_asked_for() -> None:
    path = ROOT / "tests/import/litert_floats/float_depthwise_0.tflite"
    plain = litert.Interpreter(path)
    samples = [filled(plain.get_input_details()[0])]
    quantized = litert.Interpreter(path, octavo={"precision": "int8", "calibrate": samples})
    assert [each._model.info["plans"][0]["precision"] for each in (plain, quantized)] == ["fp32", "int8"]
    noise = np.square(ran(plain)[0] - ran(quantized)[0]).sum() / np.square(ran(plain)[0]).sum()
    assert 0 < noise < 1e-2
