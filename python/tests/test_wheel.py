"""What is in the package, and what a process gets by it."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import octavo

FOLDER = Path(octavo.__file__).parent


def run(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_types_and_the_program_are_inside() -> None:
    assert (FOLDER / "py.typed").exists() and (FOLDER / "_core.pyi").exists() and (FOLDER / "bin/octavo").exists()


def test_no_openmp_comes_with_it(digits: str) -> None:
    script = f"""
        import octavo
        octavo.compile({digits!r}, precision="fp32")
        print([line.split()[-1] for line in open("/proc/self/maps") if any(word in line for word in ("omp.so", "dnnl", "OpenCL"))])
    """
    assert run(script).strip() == "[]"


def test_nothing_is_taken_from_a_build_tree() -> None:
    script = """
        import octavo, os
        print({line.split()[-1] for line in open("/proc/self/maps") if ".so" in line and "octavo" in line})
    """
    for path in eval(run(script)):
        assert Path(path).is_relative_to(FOLDER.parent)


def test_the_library_exports_octavo_alone() -> None:
    library = ctypes.CDLL(str(FOLDER / "liboctavo.so"))
    for name in ("octavo_onednn_is_there", "dnnl_memory_create", "octavo_open"):
        assert not hasattr(library, name)


def test_onednn_where_it_is_named(digits: str, tmp_path: Path) -> None:
    try:
        ctypes.CDLL("libdnnl.so.2")
    except OSError:
        pytest.skip("no libdnnl.so.2 on this machine")
    script = f"""
        import octavo
        model = octavo.compile({digits!r}, precision="fp32", batch=1, shape={{"image": [1, 1, 8, 8]}})
        model.save({str(tmp_path / "onednn.octv")!r})
        print(sorted(model.info["plans"][0]["kernels"]))
    """
    assert "onednn" not in run(script, OCTAVO_ONEDNN="none")
    assert "conv_f32_onednn" in run(script, OCTAVO_ONEDNN="libdnnl.so.2")
    without = f"""
        import octavo
        try:
            octavo.load({str(tmp_path / "onednn.octv")!r})
        except octavo.UnsupportedError as error:
            print(error)
    """
    assert "octavo[onednn]" in run(without, OCTAVO_ONEDNN="none")
