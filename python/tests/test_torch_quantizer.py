"""OctavoQuantizer: what it annotates is computed in integers, all of it, and answers are nearer to fp32 than with XNNPACK's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import octavo

torch = pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("torchao.quantization.pt2e", reason="needs torchao")
pytestmark = pytest.mark.long

import torch_networks  # noqa: E402
from octavo.torch import OctavoQuantizer  # noqa: E402
from torch import nn  # noqa: E402
from torch_networks import seeded  # noqa: E402, F401
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e  # noqa: E402


class Everything(nn.Module):
    """An inverted residual with two gates, a dense block, attention written out, positions and every way to the scores."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU6(inplace=True))
        self.wide = nn.Sequential(nn.Conv2d(8, 16, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish())
        self.depth = nn.Sequential(
            nn.Conv2d(16, 16, 3, padding=1, groups=16, bias=False), nn.BatchNorm2d(16), nn.SiLU()
        )
        self.squeeze, self.excite = nn.Conv2d(16, 4, 1), nn.Conv2d(4, 16, 1)
        self.narrow = nn.Sequential(nn.Conv2d(16, 8, 1, bias=False), nn.BatchNorm2d(8))
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.norm, self.positions = nn.LayerNorm(8), nn.Parameter(torch.randn(1, 64, 8))
        self.keys, self.gelu, self.scores = nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        y = self.depth(self.wide(x))
        gate = nn.functional.hardsigmoid(self.excite(self.squeeze(y.mean((2, 3), keepdim=True)).relu()))
        x = x + self.narrow(y * gate)
        dense = torch.cat([x, nn.functional.max_pool2d(x, 3, 1, 1)], 1)
        x = (self.up(nn.functional.avg_pool2d(dense, 2)) * torch.sigmoid(x)).relu()
        tokens = self.norm(x.flatten(2).transpose(1, 2) + self.positions)
        weights = torch.sigmoid(self.keys(tokens) @ tokens.transpose(1, 2))
        tokens = nn.functional.adaptive_avg_pool2d(self.gelu(weights @ tokens).transpose(1, 2).reshape(-1, 8, 8, 8), 1)
        return self.scores(tokens.flatten(1))


def converted(module: nn.Module, samples: Any, quantizer: Any) -> Any:
    prepared = prepare_pt2e(torch.export.export(module, (samples[:1],)).module(), quantizer)
    with torch.no_grad():
        for sample in samples:
            prepared(sample[None])
    return convert_pt2e(prepared)


def compiled(module: Any, x: Any) -> octavo.Model:
    return octavo.compile(torch.export.export(module, (x,)), progress=False)


def floats_of(model: octavo.Model) -> list[Any]:
    report = octavo.explain(model, seconds=0.05)
    return [*report["islands"], *report["notes"]] + ([] if report["integer_share_of_macs"] == 1.0 else ["a product"])


def test_every_annotated_operator_is_in_integers() -> None:
    module, samples = Everything().eval(), torch.randn(16, 3, 8, 8)
    for norm in (each for each in module.modules() if isinstance(each, nn.BatchNorm2d)):
        norm.running_var.uniform_(0.5, 2)
    model = converted(module, samples, OctavoQuantizer())
    octavo_model = compiled(model, samples[:1])
    assert floats_of(octavo_model) == []
    with torch.no_grad():
        steps = [
            abs(torch.from_numpy(octavo_model(each[None])) - model(each[None])).max() / model(each[None]).abs().max()
            for each in samples
        ]
    assert max(steps) < 0.1


def test_skipped_modules_stay_in_floats() -> None:
    module, samples = Everything().eval(), torch.randn(4, 3, 8, 8)
    model = converted(module, samples, OctavoQuantizer(skip=["squeeze", "norm"]))
    report = octavo.explain(compiled(model, samples[:1]), seconds=0.05)
    assert report["integer_share_of_macs"] < 1 and any("layer_norm" in str(each) for each in report["islands"])
    with pytest.raises(octavo.UsageError, match="'none.such'.*squeeze"):
        converted(module, samples, OctavoQuantizer(skip=["none.such"]))


def scales(model: Any) -> dict[str, tuple[float, int]]:
    """Scale and zero point by the operator whose result is rounded."""
    found = [
        node
        for node in model.graph.nodes
        if str(node.target).endswith("quantize_per_tensor.default") and "dequantize" not in str(node.target)
    ]
    return {str(node.args[0].target): (node.args[1], node.args[2]) for node in reversed(found)}


def test_what_moves_elements_keeps_the_scale() -> None:
    class Moves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 3)

        def forward(self, x: Any) -> Any:
            x = nn.functional.max_pool2d(self.first(x), 2)
            return self.second(torch.cat([x[:, 2:], x[:, :2]], 1)).flatten(1)

    found = scales(converted(Moves().eval(), torch.randn(4, 3, 12, 12), OctavoQuantizer()))
    assert (
        found["aten.conv2d.default"]
        == found["aten.max_pool2d.default"]
        == found["aten.slice.Tensor"]
        == found["aten.cat.default"]
    )


def test_weights_by_channel_or_tensor() -> None:
    module, samples = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 1)).eval(), torch.randn(4, 3, 8, 8)
    by_channel, by_tensor = (converted(module, samples, OctavoQuantizer(is_per_channel=each)) for each in (True, False))
    assert sum("dequantize_per_channel" in str(node.target) for node in by_channel.graph.nodes) == 2
    assert not any("per_channel" in str(node.target) for node in by_tensor.graph.nodes)
    for model in (by_channel, by_tensor):
        assert floats_of(compiled(model, samples[:1])) == []


def test_quantization_aware_training() -> None:
    module, samples = Everything(), torch.randn(8, 3, 8, 8)
    prepared = prepare_qat_pt2e(
        torch.export.export(module, (samples[:2],), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)).module(),
        OctavoQuantizer(is_qat=True),
    )
    optimizer = torch.optim.SGD(prepared.parameters(), 1e-3)
    losses = []
    for _ in range(6):
        loss = nn.functional.cross_entropy(prepared(samples), torch.arange(8) % 5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    model = convert_pt2e(prepared)
    from torchao.quantization.pt2e import move_exported_model_to_eval

    move_exported_model_to_eval(model)
    assert floats_of(compiled(model, samples[:2])) == []


def test_answers_beside_xnnpack() -> None:
    xnnpack = pytest.importorskip("executorch.backends.xnnpack.quantizer.xnnpack_quantizer", reason="needs executorch")
    module, data = torch_networks.trained_resnet20(), torch_networks.cifar()
    others = xnnpack.XNNPACKQuantizer().set_global(xnnpack.get_symmetric_quantization_config(is_per_channel=True))
    right, near = [], []
    with torch.no_grad():
        expected = module(data["images"])
        fp32 = int((expected.argmax(1) == data["labels"]).sum())
        for quantizer in (OctavoQuantizer(), others):
            model = compiled(converted(module, data["calibration"][:100], quantizer), data["images"][:1])
            assert floats_of(model) == []
            found = torch.from_numpy(np.concatenate([model(each[None].numpy()) for each in data["images"]]))
            right.append(int((found.argmax(1) == data["labels"]).sum()))
            near.append(float(10 * torch.log10((expected**2).sum() / ((found - expected) ** 2).sum())))
    print(
        f"of 1000: fp32 {fp32}, OctavoQuantizer {right[0]} ({near[0]:.1f} dB), XNNPACKQuantizer {right[1]} ({near[1]:.1f} dB)"
    )
    assert fp32 == 804 and right[0] >= fp32 - 8 and near[0] > near[1]
