"""Files as exporters write them, at sizes of all kinds, beside ONNX Runtime."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

EXPORTER = ROOT.parent / "shared/tools/export_transformers.py"
NETWORKS = ("distilbert", "gpt2", "llama", "swin", "t5_small", "vits", "whisper_tiny", "yolos")
#: Draws random numbers while it runs: no two runs agree.
RANDOM = ("vits",)

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exporter's folder; $OCTAVO_EXPORTS names one that is there already."""
    if "OCTAVO_EXPORTS" in os.environ:
        return Path(os.environ["OCTAVO_EXPORTS"])
    for package in ("onnx", "onnxruntime", "optimum.exporters.onnx"):
        pytest.importorskip(package, reason=f"needs {package}")
    if not EXPORTER.exists():
        pytest.skip("needs ../shared/tools")
    folder = tmp_path_factory.mktemp("exports")
    subprocess.run([sys.executable, EXPORTER, folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder


@pytest.mark.parametrize("network", NETWORKS)
def test_fp32_at_every_size(exports: Path, network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts/compare")
    comparison: Any = importlib.import_module("exports")
    paths = sorted((exports / network).glob("*.onnx"))
    assert paths
    for path in paths:
        file = comparison.compared(path, 20)
        assert not file.refusal, file.refusal
        assert not file.refused, [(each.sizes, each.refusal) for each in file.refused]
        worst = min(file.at, key=lambda each: each.worst)
        assert network in RANDOM or worst.worst >= 100, (path.name, worst.sizes, worst.output, worst.worst)
