"""Models and samples that the tests share: files of this repository, and networks of a few nodes written here."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx_file
import pytest

import octavo

ROOT = Path(os.environ.get("OCTAVO_SOURCE_DIR", Path(__file__).resolve().parents[2]))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: needs torch and its relatives, and minutes; scripts/test-python-long.sh runs these")


def as_inputs(images: np.ndarray) -> np.ndarray:
    """u8 [N, 8, 8, 1] as what the digits network takes."""
    return np.ascontiguousarray((images.astype(np.float32) - np.float32(127.5)) / np.float32(127.5)).reshape(-1, 1, 8, 8)


@pytest.fixture(scope="session")
def digits() -> str:
    """A small network of pictures [N, 1, 8, 8] in fp32, whose batch is open or 1."""
    return str(ROOT / "examples/digits/digits.onnx")


@pytest.fixture(scope="session")
def digits_test() -> dict[str, np.ndarray]:
    with np.load(ROOT / "examples/digits/test.npz") as arrays:
        return dict(arrays)


@pytest.fixture(scope="session")
def digits_samples() -> np.ndarray:
    """f32 [N, 1, 8, 8], as the network's input has them."""
    with np.load(ROOT / "examples/digits/calibration.npz") as arrays:
        return as_inputs(arrays["images"])


@pytest.fixture(scope="session")
def int8(digits: str, digits_samples: np.ndarray) -> octavo.Model:
    """The digits in int8."""
    return octavo.compile(digits, digits_samples)


@pytest.fixture(scope="session")
def tiny() -> bytes:
    """y = relu(x w), f32 [1, 16] -> [1, 4]."""
    return onnx_file.product(16, 4)


@pytest.fixture(scope="session")
def tiny_model(tiny: bytes) -> octavo.Model:
    return octavo.compile(tiny, precision="fp32")
