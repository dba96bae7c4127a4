"""Scales that other programs chose are the ones that a compiled model has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import octavo

pytestmark = pytest.mark.long


def are_on_grid(values: np.ndarray, scale: float) -> bool:
    """Whether all are whole multiples of the scale, in f32, and many different ones."""
    steps = np.round(values / np.float32(scale)).astype(np.float32)
    return bool((steps * np.float32(scale) == values).all()) and len(np.unique(steps)) > 20


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
