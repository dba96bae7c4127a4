"""Two small networks made to be hard to quantize, trained on scikit-learn's digits: min-max against automatic ranges against corrections.

`gated` has SiLU, squeeze-excite blocks and residual additions. `uneven` is depthwise; after training its channels are rescaled, up to 100 times from
the largest to the smallest, in a way that leaves the network in floats as it is.

    pip install numpy onnx onnxscript torch scikit-learn
    python scripts/compare/hard_cases.py --octavo build/bin/octavo --work /tmp/hard
"""

import argparse
import json
import pathlib
import subprocess
import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

VARIANTS = [
    ("min-max", "--calibration minmax --corrections none --weights max"),
    ("auto", "--calibration auto --corrections none --weights max"),
    ("auto, bias", "--calibration auto --corrections bias --weights max"),
    ("auto, bias, equalize", "--calibration auto --corrections bias,equalize --weights max"),
    ("default", ""),
    ("default, equalize", "--corrections bias,equalize"),
]


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, channels // 4, 1), nn.SiLU(), nn.Conv2d(channels // 4, channels, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.gate(x)


class GatedBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(channels, 2 * channels, 1), nn.SiLU(), nn.Conv2d(2 * channels, 2 * channels, 3, padding=1, groups=2 * channels),
                                  nn.SiLU(), SqueezeExcite(2 * channels), nn.Conv2d(2 * channels, channels, 1))

    def forward(self, x):
        return x + self.body(x)


def gated():
    return nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.SiLU(), GatedBlock(24), GatedBlock(24), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10))


def uneven():
    def block(channels, to):
        return [nn.Conv2d(channels, channels, 3, padding=1, groups=channels), nn.ReLU(), nn.Conv2d(channels, to, 1), nn.ReLU()]

    return nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), *block(32, 32), *block(32, 48), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10))


def rescale(network):
    """Divides the channels in front of each depthwise convolution by up to 100 and multiplies its weights."""
    random = np.random.default_rng(3)
    convolutions = [layer for layer in network if isinstance(layer, nn.Conv2d)]
    with torch.no_grad():
        for before, depthwise in zip(convolutions, convolutions[1:]):
            if depthwise.groups == 1:
                continue
            factor = torch.tensor(100.0 ** -random.uniform(0, 1, before.out_channels), dtype=torch.float32)
            before.weight.mul_(factor[:, None, None, None])
            before.bias.mul_(factor)
            depthwise.weight.div_(factor[:, None, None, None])


def train(network, images, labels, epochs):
    optimizer = torch.optim.Adam(network.parameters(), 3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    generator = torch.Generator().manual_seed(0)
    for _ in range(epochs):
        for batch in torch.randperm(len(images), generator=generator).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(images[batch]), labels[batch]).backward()
            optimizer.step()
        schedule.step()


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)


def compare(octavo, work, model):
    names = []
    for name, words in VARIANTS:
        path = work / f"{len(names)}.octv"
        run([octavo, "compile", model, "-o", path, "--calibrate", work / "calibration.npz", *words.split()])
        names.append((name, path))
    fp32 = work / "fp32.octv"
    run([octavo, "compile", model, "-o", fp32, "--precision", "fp32"])
    run([octavo, "evaluate", fp32, *[path for _, path in names], "--images", work / "test.npz", "--json", work / "result.json"])
    models = json.load(open(work / "result.json"))["models"]
    print(f"\n{model.stem}: fp32 {models[0]['top1']} of {models[0]['samples']} right\n\n| variant | right | SQNR |\n| --- | --- | --- |")
    for (name, _), result in zip(names, models[1:]):
        print(f"| {name} | {result['top1']} | {result['sqnr_db']:.1f} dB |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--epochs", type=int, default=60)
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(2)
    images, labels = load_digits(return_X_y=True)
    images = (images / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    order = np.random.default_rng(0).permutation(len(images))
    learn, test = order[:1200], order[1200:]
    np.savez(work / "calibration.npz", image=images[learn[:64]])
    np.savez(work / "test.npz", image=images[test], labels=labels[test])
    for name, make in (("gated", gated), ("uneven", uneven)):
        torch.manual_seed(1)
        network = make()
        train(network, torch.tensor(images[learn]), torch.tensor(labels[learn]), arguments.epochs)
        if name == "uneven":
            rescale(network)
        model = work / f"{name}.onnx"
        torch.onnx.export(network.eval(), (torch.tensor(images[:1]),), str(model), input_names=["image"], output_names=["scores"], dynamo=False)
        compare(arguments.octavo, work, model)


if __name__ == "__main__":
    main()
