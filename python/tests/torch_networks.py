"""Networks of torch that the tests share, and labelled pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from conftest import ROOT  # noqa: E402
from torch import nn  # noqa: E402

DATA = Path(os.environ.get("OCTAVO_DATA", ROOT / "../shared/data"))


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Where it is imported: the same numbers in every test, on one thread."""
    torch.manual_seed(1)
    torch.set_num_threads(1)


class Block(nn.Module):
    """Two convolutions beside the identity, which is thinned out and filled up with zeros where the sizes change."""

    def __init__(self, channels: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.first = nn.Conv2d(channels // stride, channels, 3, stride, 1)
        self.second = nn.Conv2d(channels, channels, 3, 1, 1)

    def forward(self, x: Any) -> Any:
        y = self.second(self.first(x).relu())
        if self.stride == 2:
            x = x[:, :, ::2, ::2]
            x = nn.functional.pad(x, (0, 0, 0, 0, x.shape[1] // 2, x.shape[1] // 2))
        return (y + x).relu()


class ResNet20(nn.Module):
    """For 32 x 32 pixels, its batch normalisations folded."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 1, 1)
        plan = [(16, 1)] * 3 + [(32, 2)] + [(32, 1)] * 2 + [(64, 2)] + [(64, 1)] * 2
        self.blocks = nn.Sequential(*(Block(*each) for each in plan))
        self.scores = nn.Linear(64, 10)

    def forward(self, x: Any) -> Any:
        return self.scores(self.blocks(self.stem(x).relu()).mean((2, 3)))


def trained_resnet20() -> ResNet20:
    """With the weights of the shared data's file."""
    onnx = pytest.importorskip("onnx", reason="needs onnx")
    path = DATA / "models/cifar10_resnet20_fp32.onnx"
    if not path.exists():
        pytest.skip("no shared data")
    graph = onnx.load(path).graph
    arrays = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
    module = ResNet20().eval()
    layers = [each for each in module.modules() if isinstance(each, (nn.Conv2d, nn.Linear))]
    nodes = [node for node in graph.node if node.op_type in ("Conv", "Gemm")]
    assert len(layers) == len(nodes)
    with torch.no_grad():
        for layer, node in zip(layers, nodes):
            layer.weight.copy_(torch.from_numpy(arrays[node.input[1]].copy()))
            layer.bias.copy_(torch.from_numpy(arrays[node.input[2]].copy()))
    return module


def cifar() -> dict[str, Any]:
    """`images` [1000, 3, 32, 32], `labels` and `calibration` [300, 3, 32, 32]."""
    path = DATA / "images/cifar10_jpeg_dev.npz"
    if not path.exists():
        pytest.skip("no shared data")
    mean, deviation = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])

    def inputs(images: np.ndarray) -> Any:
        return torch.from_numpy(((images / np.float32(255) - mean) / deviation).transpose(0, 3, 1, 2).copy())

    with np.load(path) as arrays:
        return {
            "images": inputs(arrays["images"]),
            "labels": torch.from_numpy(arrays["labels"]),
            "calibration": inputs(arrays["calibration"]),
        }
