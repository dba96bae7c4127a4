"""Scales that other programs chose are the ones that a compiled model has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import octavo

BREVITAS = ROOT / "tests/import/qonnx"


def are_on_grid(values: np.ndarray, scale: float) -> bool:
    """Whether all are whole multiples of the scale, in f32, and many different ones."""
    steps = np.round(values / np.float32(scale)).astype(np.float32)
    return bool((steps * np.float32(scale) == values).all()) and len(np.unique(steps)) > 20


@pytest.mark.parametrize("name", ["qcdq", "qonnx"])
def test_a_file_of_brevitas_gives_its_answers(name: str) -> None:
    """Learned scales, by channel of the weights, some of 4 bits: bit for bit what Brevitas computes."""
    with np.load(BREVITAS / "expected.npz") as arrays:
        x, y = arrays["x"], arrays["y"]
    model = octavo.compile(BREVITAS / f"{name}.onnx", progress=False, batch=len(x))
    np.testing.assert_array_equal(model(x), y)
    assert len(np.unique(y)) > 40
    kernels = model.info["plans"][0]["kernels"]
    assert sum(count for kernel, count in kernels.items() if kernel.startswith("conv_u8s8")) == 3, kernels


@pytest.mark.long
@pytest.mark.parametrize("name", ["qcdq", "qonnx"])
def test_brevitas(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    qnn = pytest.importorskip("brevitas.nn", reason="needs brevitas")
    export = pytest.importorskip("brevitas.export", reason="needs brevitas")
    quant = pytest.importorskip("brevitas.quant", reason="needs brevitas")
    pytest.importorskip("onnxoptimizer", reason="needs onnxoptimizer")
    torch.manual_seed(1)
    layer = {"weight_quant": quant.Int8WeightPerTensorFloat, "bias_quant": quant.Int32Bias, "return_quant_tensor": True}
    net = torch.nn.Sequential(
        qnn.QuantIdentity(act_quant=quant.Int8ActPerTensorFloat, return_quant_tensor=True),
        qnn.QuantLinear(24, 32, bias=True, **layer),
        qnn.QuantReLU(act_quant=quant.Uint8ActPerTensorFloat, return_quant_tensor=True),
        qnn.QuantLinear(32, 16, bias=True, **layer),
        qnn.QuantIdentity(act_quant=quant.Int8ActPerTensorFloat),
    )
    with torch.no_grad():
        for _ in range(30):
            net.train()(torch.randn(16, 24))
        x = torch.randn(64, 24)
        y = net.eval()(x).numpy()
    path = tmp_path / "net.onnx"
    getattr(export, {"qcdq": "export_onnx_qcdq", "qonnx": "export_qonnx"}[name])(
        net, args=x, export_path=str(path), dynamo=False, opset_version=17
    )
    np.testing.assert_array_equal(octavo.compile(path, progress=False)(x.numpy()), y)


@pytest.mark.long
def test_nncf(digits: str, digits_samples: np.ndarray) -> None:
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    nncf = pytest.importorskip("nncf", reason="needs nncf")
    model = nncf.quantize(onnx.load(digits), nncf.Dataset(list(digits_samples), lambda each: {"image": each[None]}))
    constants = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    readers = {name: node for node in model.graph.node for name in node.input}
    pairs = {}
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear" and constants[node.input[1]].size == 1 and node.input[0] not in constants:
            pairs[readers[node.output[0]].output[0]] = float(constants[node.input[1]].reshape(()))
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in pairs)
    compiled = octavo.compile(model, progress=False)
    assert len(pairs) > 10
    found = [compiled.run({"image": each[None]}) for each in digits_samples[:32]]
    for name, scale in pairs.items():
        values = np.concatenate([each[name].ravel() for each in found])
        steps = np.round(values / np.float32(scale)).astype(np.float32)
        assert (steps * np.float32(scale) == values).all(), name
        assert len(np.unique(steps)) > 1


@pytest.mark.long
def test_torchao_in_training() -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("torchao.quantization.pt2e", reason="needs torchao")
    xnnpack = pytest.importorskip("executorch.backends.xnnpack.quantizer.xnnpack_quantizer", reason="needs executorch")
    from torchao.quantization.pt2e import move_exported_model_to_eval
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

    torch.manual_seed(1)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Conv2d(8, 4, 3)
    )
    x = torch.randn(8, 3, 12, 12)
    quantizer = xnnpack.XNNPACKQuantizer().set_global(
        xnnpack.get_symmetric_quantization_config(is_per_channel=True, is_qat=True)
    )
    prepared = prepare_qat_pt2e(torch.export.export(module, (x,)).module(), quantizer)
    optimizer = torch.optim.SGD(prepared.parameters(), 1e-2)
    for _ in range(4):
        prepared(x).square().mean().backward()
        optimizer.step()
    model = convert_pt2e(prepared)
    move_exported_model_to_eval(model)
    nodes: list[Any] = [
        each for each in model.graph.nodes if str(each.target) == "quantized_decomposed.quantize_per_tensor.default"
    ]
    scale = next(float(each.args[1]) for each in reversed(nodes))
    found = octavo.compile(torch.export.export(model, (x,)), progress=False)(x.numpy())
    assert are_on_grid(found, scale)
    with torch.no_grad():
        assert float(np.abs(found - model(x).numpy()).max()) <= 1.01 * scale


def test_a_file_of_tensorflow_model_optimization_gives_its_answers() -> None:
    """Ranges that training found are the scales, and the answers those of LiteRT, bit for bit."""
    folder = ROOT / "tests/import/tfmot"
    with np.load(folder / "expected.npz") as arrays:
        x, y, (least, largest) = arrays["x"], arrays["y"], arrays["range"]
    model = octavo.compile(folder / "digits.tflite", progress=False, batch=len(x))
    np.testing.assert_array_equal(model(x), y)
    assert are_on_grid(y, (float(largest) - float(least)) / 255)
    kernels = model.info["plans"][0]["kernels"]
    assert sum(count for kernel, count in kernels.items() if "u8s8" in kernel) == 4, kernels
