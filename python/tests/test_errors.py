"""Bad input is the right exception, with a message as good as the command line's."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import onnx_file
import pytest

import octavo


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((1, 16)), "input 'x'.*f64|float64"),
        (np.zeros((1, 15), np.float32), "x"),
        (np.zeros((1, 1, 16), np.float32), "x"),
        (np.array([[None] * 16]), "input 'x': found an array of Python objects, expected an array of float32"),
        (np.zeros((1, 16), np.complex64), "input 'x': found elements of another kind"),
        ("text", "input 'x': found an object of type 'str'"),
        ([[0.0] * 16], "input 'x': found an object of type 'list'"),
        (None, "input 'x': found an object of type 'NoneType'"),
    ],
)
def test_arrays_that_do_not_fit(tiny_model: octavo.Model, given: object, message: str) -> None:
    with pytest.raises(octavo.UsageError, match=message) as raised:
        tiny_model(given)
    assert isinstance(raised.value, ValueError) and len(raised.value.errors) == 1
    assert raised.value.errors[0].kind == "usage"


class OnDevice:
    """An array of a GPU, as DLPack tells it."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **_: object) -> object:
        raise BufferError("memory of a device")


def test_an_array_elsewhere(tiny_model: octavo.Model) -> None:
    with pytest.raises(octavo.UsageError, match="input 'x': found .*memory of a device"):
        tiny_model(OnDevice())


def test_too_few_arrays_and_unknown_names(tiny_model: octavo.Model) -> None:
    with pytest.raises(octavo.UsageError, match="inputs: found 0 arrays, expected 1: 'x'"):
        tiny_model()
    with pytest.raises(octavo.UsageError, match="inputs: found 'z', expected each of x once"):
        tiny_model(z=np.zeros((1, 16), np.float32))
    with pytest.raises(octavo.UsageError, match="outputs: found z, expected each of y"):
        tiny_model(np.zeros((1, 16), np.float32), out={"z": np.zeros((1, 4), np.float32)})


def test_outputs_are_never_copied_silently(tiny_model: octavo.Model) -> None:
    x = np.zeros((1, 16), np.float32)
    fixed = np.zeros((1, 4), np.float32)
    fixed.flags.writeable = False
    for out, message in ((fixed, "read-only"), (np.zeros((1, 4)), "y"), (np.zeros((1, 5), np.float32), "y")):
        with pytest.raises(octavo.UsageError, match=message):
            tiny_model(x, out=out)


def test_models_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"\x08\x07nonsense")
    with pytest.raises(octavo.InvalidInputError, match="broken.onnx"):
        octavo.compile(tmp_path / "broken.onnx", precision="fp32")
    with pytest.raises(OSError, match="absent.onnx"):
        octavo.compile(tmp_path / "absent.onnx", precision="fp32")
    with pytest.raises((octavo.ResourceError, octavo.InvalidInputError), match="directory|folder"):
        octavo.compile(tmp_path, precision="fp32")
    with pytest.raises(FileNotFoundError, match="absent.octv"):
        octavo.load(tmp_path / "absent.octv")
    with pytest.raises(octavo.InvalidInputError):
        octavo.load(b"nothing")
    with pytest.raises(octavo.UsageError, match="an object of type 'int'"):
        octavo.compile(7)  # type: ignore[arg-type]


def test_options_that_are_none(tiny: bytes) -> None:
    with pytest.raises(octavo.UsageError, match="--precision.*int4"):
        octavo.compile(tiny, precision="int4")
    with pytest.raises(octavo.UsageError, match="--precision fp32, or --calibrate"):
        octavo.compile(tiny)
    with pytest.raises(octavo.UsageError, match="no-such-option"):
        octavo.compile(tiny, precision="fp32", no_such_option=1)  # type: ignore[call-arg]
    with pytest.raises(octavo.UsageError, match="compiled model"):
        octavo.compile(octavo.compile(tiny, precision="fp32").to_bytes())


def test_every_problem_of_a_file_is_listed() -> None:
    nodes = [onnx_file.node("NoSuch", ["x"], ["a"]), onnx_file.node("NorThis", ["a"], ["y"])]
    file = onnx_file.model(nodes, [onnx_file.value("x", onnx_file.FLOAT, [1, 2])], [onnx_file.value("y", onnx_file.FLOAT, [1, 2])])
    with pytest.raises(octavo.UnsupportedError) as raised:
        octavo.compile(file, precision="fp32")
    assert isinstance(raised.value, NotImplementedError)
    assert len(raised.value.errors) == 2 and "NoSuch" in str(raised.value) and "NorThis" in str(raised.value)


def test_samples_that_do_not_fit(digits: str) -> None:
    with pytest.raises(octavo.UsageError, match="sample 1.*shape"):
        octavo.compile(digits, [np.zeros((1, 1, 8, 8), np.float32), np.zeros(3, np.float32)])
    with pytest.raises(octavo.OctavoError, match="samples"):
        octavo.compile(digits, [np.full((1, 1, 8, 8), np.nan, np.float32)])
    with pytest.raises(octavo.UsageError, match="samples: found none"):
        octavo.compile(digits, [])


def test_what_a_generator_raises_comes_out(digits: str) -> None:
    def samples():  # type: ignore[no-untyped-def]
        yield np.zeros((1, 1, 8, 8), np.float32)
        raise RuntimeError("the disk of samples is gone")

    with pytest.raises(RuntimeError, match="the disk of samples is gone"):
        octavo.compile(digits, samples())


def test_more_memory_than_allowed() -> None:
    model = octavo.compile(onnx_file.two_products(16, 4096, 4, 1), precision="fp32", context_bytes=1 << 12)
    with pytest.raises(MemoryError) as raised:
        model(np.zeros((1, 16), np.float32))
    assert isinstance(raised.value, octavo.ResourceError)


def test_errors_pickle(tiny: bytes) -> None:
    with pytest.raises(octavo.UsageError) as raised:
        octavo.compile(tiny)
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is octavo.UsageError and again.errors == raised.value.errors


def test_a_file_without_scales_needs_a_word_for_fp32(digits: str) -> None:
    x = np.ones((1, 1, 8, 8), np.float32)
    with pytest.raises(octavo.UsageError, match="neither a precision nor calibration data"):
        octavo.compile(digits)
    with pytest.raises(octavo.UsageError, match="--unquantized"):
        octavo.compile(digits, unquantized="maybe")
    as_it_is, fp32 = octavo.compile(digits, unquantized="fp32"), octavo.compile(digits, precision="fp32")
    np.testing.assert_array_equal(as_it_is(x), fp32(x))
