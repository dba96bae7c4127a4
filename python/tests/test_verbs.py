"""Every verb of the command line, from Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx_file
import pytest
from conftest import ROOT, as_inputs

import octavo


def test_bench(int8: octavo.Model, digits: str) -> None:
    report = octavo.bench(int8, digits, precision=None, seconds=0.1, threads=1)
    assert [run["precision"] for run in report["runs"]] == ["int8", "fp32"]
    assert report["runs"][0]["latency_ms"]["median"] > 0
    assert "median" in str(report) and "<pre>" in report._repr_html_()


def test_bench_compares_with_samples(digits: str, digits_samples: np.ndarray) -> None:
    report = octavo.bench(digits, calibrate=digits_samples[:16], compare="fp32,int8", seconds=0.1)
    assert [run["precision"] for run in report["runs"]] == ["fp32", "int8"]


def test_explain(int8: octavo.Model) -> None:
    report = octavo.explain(int8, seconds=0.1)
    assert report["steps"] and report["run_ms"] > 0
    assert report._repr_html_().startswith("<iframe srcdoc=")


def test_evaluate(int8: octavo.Model, digits: str, digits_test: dict[str, np.ndarray]) -> None:
    images, labels = as_inputs(digits_test["images"]), digits_test["labels"]
    batches = [(images[i : i + 100], labels[i : i + 100]) for i in range(0, len(images), 100)]
    report = octavo.evaluate(digits, int8, images=batches)
    assert report["models"][0]["samples"] == len(images)
    assert report["models"][0]["top1_percent"] > 90 and report["models"][1]["agreement_percent"] > 95


def top1(outputs: np.ndarray, labels: np.ndarray) -> float:
    return float((outputs.argmax(1) == labels).mean())


def test_evaluate_by_a_metric(int8: octavo.Model, digits: str, digits_test: dict[str, np.ndarray]) -> None:
    images, labels = as_inputs(digits_test["images"]), digits_test["labels"]
    batches = [(images[at : at + 50], labels[at : at + 50]) for at in range(0, 200, 50)]
    report = octavo.evaluate(digits, int8, batches, metric=top1)
    expected = [top1(model(images[:200]), labels[:200]) for model in (octavo.compile(digits, precision="fp32"), int8)]
    assert report["samples"] == 200 and [each["top1"] for each in report["models"]] == expected
    singles = ({"image": image[0], "label": label} for image, label in zip(images[:20, None], labels))
    several = octavo.evaluate(int8, singles, metric=lambda outputs, labels: {"mean": outputs.mean(), "count": len(labels)})
    assert several["models"][0] == {"model": int8.source, "mean": pytest.approx(float(int8(images[:20]).mean())), "count": 20}


def test_a_metric_of_several_outputs_and_labels_of_any_shape() -> None:
    model = octavo.compile(onnx_file.sum_and_difference(), precision="fp32")
    x = np.ones((2, 3), np.float32)
    seen = []
    octavo.evaluate(model, [(x, x, ["one", "two"]), (x, x * 2, ["three", "four"])], metric=lambda outputs, labels: seen.append((outputs, labels)) or 1)
    outputs, labels = seen[0]
    assert outputs["s"].shape == (4, 3) and outputs["d"][2:].tolist() == [[-1] * 3] * 2 and list(labels) == ["one", "two", "three", "four"]


def test_a_metric_needs_samples_and_labels(int8: octavo.Model) -> None:
    x = np.zeros((2, 1, 8, 8), np.float32)
    for data, text in (([], "no sample"), ([(x,)], "sample 0: found 1 values"), ([(x, [1, 2, 3])], "found 3 labels, expected 2")):
        with pytest.raises(ValueError, match=text):
            octavo.evaluate(int8, data, metric=top1)
    with pytest.raises(ValueError, match="1 arguments"):
        octavo.evaluate(int8, metric=top1)
    with pytest.raises(ValueError, match="no images"):
        octavo.evaluate(int8)
    with pytest.raises(ZeroDivisionError):
        octavo.evaluate(int8, [(x, [1, 2])], metric=lambda outputs, labels: 1 / 0)


def test_compare(int8: octavo.Model, digits: str, digits_samples: np.ndarray) -> None:
    assert octavo.compare(int8, int8)["same"]
    report = octavo.compare(digits, int8, input={"image": digits_samples[:1]})
    assert not report["same"] and report["tensors"][0]["sqnr_db"] > 10
    with pytest.raises(octavo.UsageError, match="another model, or against"):
        octavo.compare(digits)


def test_inspect(digits: str, int8: octavo.Model) -> None:
    assert octavo.inspect(digits)["dialect"] == "ONNX fp32"
    assert octavo.inspect(int8)["plans"] == int8.info["plans"]
    assert octavo.inspect(machine=True)["cores"] >= 1


def test_tune(digits: str, digits_samples: np.ndarray, tmp_path: Path) -> None:
    report = octavo.tune(digits, calibrate=digits_samples[:8], tuning_log=tmp_path / "log", trials=4, bench_seconds=0.05, threads=1)
    assert (tmp_path / "log").exists() and report._repr_html_().startswith("<iframe")
    octavo.compile(digits, digits_samples[:8], tuning_log=tmp_path / "log")


def test_zoo() -> None:
    assert "resnet18" in octavo.zoo()
    assert octavo.inspect(octavo.zoo("squeezenet1_1"))["operators"]["conv"] == 26


def test_reduce() -> None:
    nodes = [onnx_file.node("Relu", ["x"], ["a"]), onnx_file.node("NoSuch", ["a"], ["b"]), onnx_file.node("Relu", ["b"], ["y"])]
    ends = [onnx_file.value(name, onnx_file.FLOAT, [1, 2]) for name in ("x", "y")]
    small = octavo.reduce(onnx_file.model(nodes, ends[:1], ends[1:]))
    assert b"NoSuch" in small and b"Relu" not in small


def test_diagnose_measures_its_repairs(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper = onnx.helper
    pairs = ["x", "a", "b", "c", "d"]
    kinds = ["QuantizeLinear", "DequantizeLinear"] * 2
    nodes = [helper.make_node(kind, [begin, "s", "z"], [end]) for kind, begin, end in zip(kinds, pairs, pairs[1:])]
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 8]) for name in ("x", "y")]
    constants = [helper.make_tensor("s", onnx.TensorProto.FLOAT, [], [0.02]), helper.make_tensor("z", onnx.TensorProto.UINT8, [], [128])]
    graph = helper.make_graph([*nodes, helper.make_node("Relu", ["d"], ["y"])], "twice", ends[:1], ends[1:], constants)
    path = tmp_path / "twice.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    report = octavo.diagnose(path, write_fixed=tmp_path / "once.onnx", measure=True, seconds=0.01, threads=1)
    assert [each["name"] for each in report["repairs"]] == ["double-pairs"]
    assert len(onnx.load(tmp_path / "once.onnx").graph.node) == 3
    rows = report["measured"]["rows"]
    assert [row["name"] for row in rows] == ["as it is", "double-pairs"] and rows[1]["sqnr_db"] is None
    assert "gained" in str(report)
    with pytest.raises(octavo.UsageError, match="openvino"):
        octavo.diagnose(path, measure=True, engine="openvino")


def test_diagnose_measures_repairs_of_tflite(tmp_path: Path) -> None:
    """u8, which becomes s8."""
    pytest.importorskip("ai_edge_litert")
    path = ROOT / "tests/import/litert/conv_u8.tflite"
    report = octavo.diagnose(path, write_fixed=tmp_path / "fixed.tflite", measure=True, seconds=0.01, threads=1)
    rows = report["measured"]["rows"]
    assert [row["name"] for row in rows] == ["as it is", *(each["name"] for each in report["repairs"])] == ["as it is", "signed-bytes"]
    assert all(row["min_ms"] > 0 for row in rows) and "gained_ms" in rows[1]
    assert rows[-1]["sqnr_db"] is None or rows[-1]["sqnr_db"] > 20
    assert report["measured"]["engine"].startswith("ai_edge_litert") and (tmp_path / "fixed.tflite").read_bytes()[4:8] == b"TFL3"


def test_a_budget(digits: str, digits_samples: np.ndarray) -> None:
    model = octavo.compile(digits, digits_samples[:32], max_drop=10, metric="agreement", seconds=0.05)
    assert model.info["plans"][0]["precision"] == "int8"


def test_errors_of_verbs_are_those_of_the_command(tmp_path: Path) -> None:
    with pytest.raises(octavo.ResourceError, match="absent.onnx"):
        octavo.bench(tmp_path / "absent.onnx")
    with pytest.raises(octavo.UsageError, match="no-such-option"):
        octavo.inspect(onnx_file.product(2, 2)) and octavo.bench(onnx_file.product(2, 2), no_such_option=3)


def test_the_command_comes_with_the_wheel() -> None:
    for command in ([str(Path(sys.executable).parent / "octavo")], [sys.executable, "-m", "octavo"]):
        told = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True).stdout
        assert told.strip() == f"octavo {octavo.__version__}"
