"""Trains the example network on scikit-learn's handwritten digits and writes what the demo needs.

    pip install torch==2.15.0 scikit-learn==1.9.1 onnx==1.22.0
    python examples/digits/train.py            # about two minutes on two cores

Writes beside itself: digits.onnx (fp32, opset 17, input [N,1,8,8] f32 in -1..1), test.npz (`images` u8 [597,8,8,1],
`labels`) and calibration.npz (`images` u8 [200,8,8,1], from the training part). Seeds are fixed; the split is by index.
"""

import pathlib

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

HERE = pathlib.Path(__file__).parent
TRAIN = 1200  # the rest is for testing


class SqueezeExcite(nn.Module):
    def __init__(self, channels, squeezed):
        super().__init__()
        self.fc1 = nn.Conv2d(channels, squeezed, 1)
        self.fc2 = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        gate = x.mean((2, 3), keepdim=True)
        return x * torch.sigmoid(self.fc2(nn.functional.silu(self.fc1(gate))))


class Block(nn.Module):
    """Inverted residual with squeeze-excite: expand, depthwise, gate, project."""

    def __init__(self, cin, cout, stride):
        super().__init__()
        mid = cin * 4
        self.expand = nn.Sequential(nn.Conv2d(cin, mid, 1, bias=False), nn.BatchNorm2d(mid), nn.SiLU())
        self.depthwise = nn.Sequential(
            nn.Conv2d(mid, mid, 3, stride, 1, groups=mid, bias=False), nn.BatchNorm2d(mid), nn.SiLU()
        )
        self.gate = SqueezeExcite(mid, cin)
        self.project = nn.Sequential(nn.Conv2d(mid, cout, 1, bias=False), nn.BatchNorm2d(cout))
        self.is_residual = stride == 1 and cin == cout

    def forward(self, x):
        y = self.project(self.gate(self.depthwise(self.expand(x))))
        return x + y if self.is_residual else y


class DigitsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 24, 3, 1, 1, bias=False), nn.BatchNorm2d(24), nn.SiLU())
        self.blocks = nn.Sequential(Block(24, 24, 1), Block(24, 48, 2), Block(48, 48, 1), Block(48, 48, 1))
        self.head = nn.Sequential(nn.Conv2d(48, 128, 1, bias=False), nn.BatchNorm2d(128), nn.SiLU())
        self.classifier = nn.Linear(128, 10)

    def forward(self, x):
        return self.classifier(self.head(self.blocks(self.stem(x))).mean((2, 3)))


def load():
    digits = load_digits()
    images = (digits.images * 15).astype(np.uint8)[..., None]  # 0..16 to 0..240
    return images, digits.target.astype(np.int64)


def to_input(images):
    return torch.from_numpy(images.astype(np.float32) / 127.5 - 1.0).permute(0, 3, 1, 2).contiguous()


def shifted(x):
    """Random shifts by up to one pixel: the only augmentation."""
    padded = nn.functional.pad(x, (1, 1, 1, 1), value=-1.0)
    dy, dx = torch.randint(0, 3, (2,)).tolist()
    return padded[:, :, dy : dy + 8, dx : dx + 8]


def train(model, x, y, epochs=60, batch=64):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=epochs * (len(x) // batch))
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(len(x))
        for i in range(len(x) // batch):
            pick = order[i * batch : (i + 1) * batch]
            loss = nn.functional.cross_entropy(model(shifted(x[pick])), y[pick], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {loss.item():.4f}", flush=True)


def main():
    torch.manual_seed(1)
    images, labels = load()
    x, y = to_input(images), torch.from_numpy(labels)
    model = DigitsNet()
    train(model, x[:TRAIN], y[:TRAIN])
    model.eval()
    with torch.no_grad():
        right = int((model(x[TRAIN:]).argmax(1) == y[TRAIN:]).sum())
    print(f"test: {right} of {len(x) - TRAIN} right, {sum(p.numel() for p in model.parameters())} parameters")
    torch.onnx.export(
        model,
        (x[:1],),
        HERE / "digits.onnx",
        dynamo=False,
        opset_version=17,
        input_names=["image"],
        output_names=["logits"],
        dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}},
    )
    np.savez_compressed(HERE / "test.npz", images=images[TRAIN:], labels=labels[TRAIN:])
    np.savez_compressed(HERE / "calibration.npz", images=images[: TRAIN : TRAIN // 200], labels=labels[: TRAIN : TRAIN // 200])


if __name__ == "__main__":
    main()
