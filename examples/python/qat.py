"""Training with Octavo's integers: the digits network after quantization alone, and after training with it.

    pip install octavo torch scikit-learn numpy
    python examples/python/qat.py            # some minutes

What the module in training says of every picture is what the compiled model says, bit for bit."""

import sys
from pathlib import Path

import numpy as np
import octavo
import octavo.torch
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "digits"))
import train as digits  # noqa: E402

SETTINGS = {
    "8 bits, by channel": {},
    "3-bit weights, 4-bit activations, by tensor": {"weight_bits": 3, "activation_bits": 4, "is_per_channel": False},
}


def fine_tune(qat: octavo.torch.QatModule, x: torch.Tensor, y: torch.Tensor, epochs: int) -> None:
    optimizer = torch.optim.Adam(qat.parameters(), 5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * (len(x) // 64))
    qat.train()
    for _ in range(epochs):
        for pick in torch.randperm(len(x)).split(64)[: len(x) // 64]:
            loss = torch.nn.functional.cross_entropy(qat(digits.shifted(x[pick])), y[pick], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


def judged(qat: octavo.torch.QatModule, x: torch.Tensor, y: torch.Tensor) -> tuple[int, int]:
    """How many are right, and how many pictures the compiled model says anything else of than the module."""
    qat.eval()
    model = octavo.compile(qat, progress=False)
    with torch.no_grad():
        simulated = qat(x)
    deployed = torch.from_numpy(np.concatenate([model(each[None].numpy()) for each in x]))
    return int((deployed.argmax(1) == y).sum()), int((simulated != deployed).any(1).sum())


def main(epochs: int = 60, tuning: int = 15) -> dict[str, dict[str, tuple[int, int]]]:
    torch.manual_seed(1)
    images, labels = digits.load()
    x, y = digits.to_input(images), torch.from_numpy(labels)
    seen, unseen = slice(0, digits.TRAIN), slice(digits.TRAIN, None)
    net = digits.DigitsNet()
    digits.train(net, x[seen], y[seen], epochs=epochs)
    net.eval()
    with torch.no_grad():
        right = int((net(x[unseen]).argmax(1) == y[unseen]).sum())
    print(f"fp32: {right} of {len(y[unseen])} right")
    results = {"fp32": {"": (right, 0)}}
    for name, options in SETTINGS.items():
        qat = octavo.torch.prepare_qat(net, (x[:2],), **options)
        with torch.no_grad():  # a few batches show the ranges
            for batch in x[seen].split(200):
                qat.train()(batch)
        before = judged(qat, x[unseen], y[unseen])
        fine_tune(qat, x[seen], y[seen], tuning)
        after = judged(qat, x[unseen], y[unseen])
        results[name] = {"quantized": before, "trained": after}
        print(
            f"{name}: {before[0]} right quantized, {after[0]} trained; other answers than simulated: {before[1]}, {after[1]}"
        )
    return results


if __name__ == "__main__":
    main()
