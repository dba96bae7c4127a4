"""Training with Octavo's integers: the compiled model says what the module in training says, bit for bit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import octavo

torch = pytest.importorskip("torch", reason="needs torch")
pytestmark = pytest.mark.long

import torch_networks  # noqa: E402
from conftest import ROOT  # noqa: E402
from octavo.torch import QatModule, _integers, prepare_qat  # noqa: E402
from torch import nn  # noqa: E402
from torch_networks import seeded  # noqa: E402, F401


class Everything(nn.Module):
    """Every operator that has an integer meaning in training, and two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        self.up, self.mix, self.depth = (
            nn.ConvTranspose2d(8, 8, 2, 2),
            nn.Conv2d(16, 8, 1),
            nn.Conv2d(8, 8, 3, 1, 1, groups=8),
        )
        self.squeeze, self.excite = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)
        self.narrow = nn.Sequential(nn.Conv2d(8, 8, 1, bias=False), nn.BatchNorm2d(8))
        self.first, self.second = nn.Linear(8, 6), nn.Linear(6, 5)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        y = nn.functional.relu6(self.up(nn.functional.max_pool2d(x, 2)))
        z = nn.functional.gelu(self.mix(torch.cat([x, y], 1)))
        z = z * torch.sigmoid(self.excite(nn.functional.silu(self.squeeze(z.mean((2, 3), keepdim=True)))))
        w = torch.tanh(self.depth(z)) + x
        w = (w + self.narrow(z)).relu_() * torch.sigmoid(w)
        w = nn.functional.pad(w[:, :, 1:], (1, 1, 0, 0))
        v = nn.functional.hardtanh(self.mix(torch.cat([w, w], 1)).relu(), -0.5, 0.75)  # the tighter bounds of both
        w = torch.cat([w[:, :4], v[:, 4:]], 1)
        scores = self.second(
            self.first(nn.functional.hardsigmoid(nn.functional.adaptive_avg_pool2d(w, 1)).flatten(1)).relu()
        )
        return scores, nn.functional.mish(self.depth(w)).flatten(1)


def everything() -> Everything:
    module = Everything().eval()
    for norm in (each for each in module.modules() if isinstance(each, nn.BatchNorm2d)):
        norm.running_var.uniform_(0.2, 2)
        norm.running_mean.normal_(0, 0.3)
    return module


def deployed(qat: QatModule, x: Any) -> list[Any]:
    """What the compiled model gives, picture by picture."""
    model = octavo.compile(qat, progress=False)
    assert [plan["islands"] for plan in model.info["plans"]] == [[] for _ in model.info["plans"]]
    answers = [model(each[None].numpy()) for each in x]
    several = [each if isinstance(each, tuple) else (each,) for each in answers]
    return [torch.from_numpy(np.concatenate(parts)) for parts in zip(*several)]


def simulated(qat: QatModule, x: Any) -> list[Any]:
    with torch.no_grad():
        answers = qat.eval()(x)
    return list(answers) if isinstance(answers, tuple) else [answers]


def check_same(qat: QatModule, x: Any) -> None:
    for wanted, found in zip(simulated(qat, x), deployed(qat, x), strict=True):
        assert wanted.dtype == found.dtype == torch.float32
        assert torch.equal(wanted, found), f"{int((wanted != found).sum())} of {wanted.numel()} differ"


def calibrated(qat: QatModule, samples: Any) -> QatModule:
    with torch.no_grad():
        for batch in samples.split(16):
            qat.train()(batch)
    return qat


SETTINGS: list[dict[str, Any]] = [
    {},
    {"is_per_channel": False},
    {"weight_bits": 4, "activation_bits": 6},
    {"is_per_channel": False, "weight_bits": 3, "activation_bits": 4, "is_learned": True},
]


@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_trained_and_deployed_are_the_same(options: dict[str, Any]) -> None:
    module, x = everything(), torch.randn(64, 3, 8, 8) * 2
    qat = calibrated(prepare_qat(module, (x[:1],), **options), x)
    assert qat.floats == []
    check_same(qat, x)
    with torch.no_grad():
        wanted = [1.5 * each + 0.5 for each in module(x)]
    optimizer = torch.optim.Adam([each for each in qat.parameters() if each.requires_grad], 1e-3)
    losses = []
    for _ in range(25):
        loss = sum(nn.functional.mse_loss(found, each) for found, each in zip(qat.train()(x), wanted))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.9 * losses[0]
    assert all(each.grad is not None for each in qat.parameters() if each.requires_grad)
    check_same(qat, torch.randn(64, 3, 8, 8) * 3)


def test_forward_is_the_same_in_training() -> None:
    x = torch.randn(32, 3, 8, 8)
    qat = calibrated(prepare_qat(everything(), (x[:2],)), x)
    frozen = simulated(qat, x)
    qat.train()
    for rounding in qat.modules():  # the ranges stay
        rounding.observe = lambda *_, **__: None
    for wanted, found in zip(frozen, qat(x)):
        assert torch.equal(wanted, found.detach())


def test_gradients_go_straight_through() -> None:
    module = nn.Sequential(nn.Linear(4, 3))
    x = torch.randn(8, 4)
    qat = calibrated(prepare_qat(module, (x,)), x)
    qat.eval()
    weight = next(each for name, each in qat.body.named_parameters() if name.endswith("weight"))
    qat(x).sum().backward()
    torch.testing.assert_close(weight.grad, x.sum(0).expand(3, 4), rtol=0.02, atol=0.1)
    weight.grad = None
    qat(x * 4).sum().backward()  # beyond the range nothing goes on
    inside = x.abs() * 4 <= x.abs().max()
    assert not torch.allclose(weight.grad, (4 * x).sum(0).expand(3, 4), rtol=0.02) and not inside.all()


def test_state_is_kept() -> None:
    x = torch.randn(16, 3, 8, 8)
    module = everything()
    qat = calibrated(prepare_qat(module, (x[:2],)), x)
    other = prepare_qat(module, (x[:2],))
    other.load_state_dict(qat.state_dict())
    for wanted, found in zip(simulated(qat, x), simulated(other, x)):
        assert torch.equal(wanted, found)


def test_operators_without_integers_are_named() -> None:
    class Soft(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            return self.second(torch.softmax(self.first(x), -1))

    x = torch.randn(16, 4)
    qat = calibrated(prepare_qat(Soft(), (x[:2],)), x)
    assert len(qat.floats) == 1 and "softmax" in qat.floats[0]
    found = torch.from_numpy(octavo.compile(qat, progress=False)(x[:1].numpy()))
    torch.testing.assert_close(simulated(qat, x[:1])[0], found, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("end", ["product", "clamp", "concatenation", "sum", "function"])
def test_what_nothing_rounds(end: str) -> None:
    """The last operator's result stays f32: exact of what moves or multiplies, named where it is a float operator."""

    class Ends(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            x = self.first(x).relu()
            y = self.second(x)
            ends = {
                "product": lambda: y,
                "clamp": y.relu,
                "concatenation": lambda: torch.cat([x, x], 1),
                "sum": lambda: x + y,
            }
            return ends.get(end, lambda: nn.functional.silu(y))()

    x = torch.randn(32, 4)
    qat = calibrated(prepare_qat(Ends(), (x[:2],)), x)
    (wanted,), model = simulated(qat, x), octavo.compile(qat, progress=False)
    found = torch.from_numpy(np.concatenate([model(each[None].numpy()) for each in x]))
    assert len(qat.floats) == (end in ("sum", "function"))
    if qat.floats:
        torch.testing.assert_close(wanted, found, rtol=1e-4, atol=1e-4)
    else:
        assert torch.equal(wanted, found)


def test_bits_are_checked() -> None:
    with pytest.raises(octavo.UsageError, match="weight_bits.*9.*2 to 8"):
        prepare_qat(nn.Linear(4, 4), (torch.randn(2, 4),), weight_bits=9)


def test_onnx_and_pt2e(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    pytest.importorskip("onnxscript", reason="needs onnxscript")
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    x = torch.randn(32, 3, 8, 8)
    for options in ({}, {"activation_bits": 6}):
        qat = calibrated(prepare_qat(everything(), (x[:2],), **options), x)
        path = tmp_path / "qat.onnx"
        qat.to_onnx(path)
        operators = [node.op_type for node in onnx.load(path).graph.node]
        assert "QuantizeLinear" in operators and "DequantizeLinear" in operators
        model, session = octavo.compile(path, progress=False), runtime.InferenceSession(str(path))
        name = session.get_inputs()[0].name
        for index, wanted in enumerate(simulated(qat, x)):
            spread = float(wanted.std())
            ours = np.concatenate([model(each[None].numpy())[index] for each in x])
            theirs = session.run(None, {name: x.numpy()})[index]
            for found in (ours, theirs):  # a value at a tie may be the next one
                assert np.abs(found - wanted.numpy()).mean() < 0.02 * spread
        program = torch.export.load(_saved(qat, tmp_path))
        with torch.no_grad():
            for wanted, found in zip(simulated(qat, x), program.module()(x)):
                assert float((wanted - found).abs().mean()) < 0.02 * float(wanted.std())


def _saved(qat: QatModule, folder: Path) -> str:
    torch.export.save(qat.to_pt2e(), folder / "qat.pt2")
    return str(folder / "qat.pt2")


def test_fma_is_rounded_once() -> None:
    from fractions import Fraction

    a, b = torch.randn(4000) * 100, torch.randn(4000)
    c = -(a * b) + torch.randn(4000) * 2.0 ** -torch.randint(0, 30, (4000,))
    for x, y, z, found in zip(a.tolist(), b.tolist(), c.tolist(), _integers.fma(a, b, c).numpy(), strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        near = [Fraction(float(np.nextafter(found, np.float32(end)))) for end in (-np.inf, np.inf)]
        assert all(abs(Fraction(float(found)) - exact) <= abs(each - exact) for each in near)


def test_resnet20_is_the_same_on_every_picture() -> None:
    module, data = torch_networks.trained_resnet20(), torch_networks.cifar()
    qat = calibrated(prepare_qat(module, (data["images"][:2],)), data["calibration"][:96])
    (wanted,), (found,) = simulated(qat, data["images"]), deployed(qat, data["images"])
    assert torch.equal(wanted, found)
    right = int((found.argmax(1) == data["labels"]).sum())
    print(f"of 1000: fp32 804, in integers {right}")
    assert right >= 796


def test_digits_by_the_example() -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    sys.path.insert(0, str(ROOT / "examples/python"))
    import qat as example

    results = example.main(epochs=12, tuning=4)
    fp32 = results.pop("fp32")[""][0]
    for name, each in results.items():
        assert each["quantized"][1] == each["trained"][1] == 0, f"{name}: deployed differs from simulated"
    easy, hard = results.values()
    assert easy["trained"][0] >= fp32 - 6 and hard["trained"][0] > hard["quantized"][0]
