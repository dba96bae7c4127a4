"""Models for CUDA devices, by the driver that tests/cuda pretends to have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import octavo

_PRETENDED = ROOT / "build/tests/cuda/fake"


def test_arrays_in_the_memory_of_a_device() -> None:
    if not (_PRETENDED / "libcuda.so.1").exists():
        pytest.skip(f"needs the pretended driver (make build): {_PRETENDED}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__).with_name("device_tests.py"))]
    done = subprocess.run(command, env={**os.environ, "LD_LIBRARY_PATH": str(_PRETENDED)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_where_there_is_none(tiny: bytes) -> None:
    try:
        octavo.compile(tiny, precision="fp32", target="cuda")
    except octavo.ResourceError as error:
        assert "CUDA" in str(error)
