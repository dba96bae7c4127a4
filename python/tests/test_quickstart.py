"""The notebook runs as it stands, and shows what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

NOTEBOOK = ROOT / "examples/quickstart.ipynb"


def shown(cell: Any) -> str:
    """What a notebook shows last for a cell that gives a value."""
    (result,) = [output.data for output in cell.outputs if output.output_type == "execute_result"]
    return str(result.get("text/html", result["text/plain"]))


def test_no_outputs_are_stored() -> None:
    code = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(code) == 10
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.long
def test_every_cell_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat")
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient")
    for name in ("torch", "torchvision", "ipykernel"):
        pytest.importorskip(name, reason=f"needs {name}")
    (tmp_path / "digits").symlink_to(ROOT / "examples/digits")
    monkeypatch.setenv("OCTAVO_CACHE_DIR", str(tmp_path / "cache"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=folder).execute()

    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    _, _, _, compiled, accuracy, times, report, opened, scores, difference = cells
    assert any("octavo.Model" in output.get("text", "") for output in compiled.outputs)
    right = [int(each) for each in re.findall(r"(?:fp32|int8) +597 +(\d+)", shown(accuracy))]
    assert len(right) == 2 and right[0] > 450 and right[1] > right[0] - 15
    assert re.search(r"\w+ is [\d.]+ times faster than \w+", shown(times))
    assert shown(report).startswith("<iframe") and "int8" in shown(report)
    assert "shape=(1, 10)" in shown(opened)
    assert (tmp_path / "resnet18.octv").stat().st_size < 13 << 20  # 11.2 million weights
    assert (tmp_path / "resnet18.qdq.onnx").exists()
    assert re.fullmatch(r"\(.*7.*, tensor\(7\)\)", shown(scores))
    assert float(shown(difference).removeprefix("tensor(").removesuffix(")")) < 1e-4
