"""A torchvision network with random weights as TFLite, in fp32 or with static int8 (s8 per channel), channels last, f32 inputs and outputs.

    python litert_export.py NAME fp32|int8 BATCH OUTPUT.tflite
"""

import pathlib
import sys

import litert_torch
import numpy
import torch
import torchvision
from ai_edge_quantizer import quantizer, recipe


def fp32(name, batch, target):
    torch.manual_seed(0)
    network = litert_torch.to_channel_last_io(torchvision.models.get_model(name, weights=None).eval(), args=[0])
    litert_torch.convert(network, (torch.randn(batch, 224, 224, 3),)).export(str(target))


def int8(source, batch, target):
    work = quantizer.Quantizer(str(source), recipe.static_wi8_ai8())
    random = numpy.random.default_rng(1)
    samples = [{"args_0": random.standard_normal((batch, 224, 224, 3), dtype=numpy.float32)} for _ in range(2)]
    work.quantize(work.calibrate({"serving_default": samples})).export_model(str(target), overwrite=True)


def main():
    name, precision, batch, target = sys.argv[1:]
    source = pathlib.Path(target).with_suffix(".fp32.tflite")
    if not source.exists():
        fp32(name, int(batch), source)
    if precision == "fp32":
        source.rename(target)
    else:
        int8(source, int(batch), target)


main()
