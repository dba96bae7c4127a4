"""Makes the files beside this one, a network of Brevitas by both of its exports, and expected.npz with its own answers. Development
only; in any virtual environment:

    pip install numpy onnx==1.22.0 onnxoptimizer torch==2.15.0 brevitas==0.13.4
    python tests/import/qonnx/make.py
"""

import pathlib
import warnings

import brevitas.nn as qnn
import numpy as np
import onnx
import torch
from brevitas.export import export_onnx_qcdq, export_qonnx
from brevitas.quant import Int8ActPerTensorFloat, Int8WeightPerChannelFloat, Int32Bias, Uint8ActPerTensorFloat
from torch import nn

HERE = pathlib.Path(__file__).parent


class Network(nn.Module):
    """Scales of channels, learned ones of activations, 8 bits everywhere but in the second convolution's weights, which have 4."""

    def __init__(self):
        super().__init__()
        layer = {"weight_quant": Int8WeightPerChannelFloat, "bias": True, "bias_quant": Int32Bias, "return_quant_tensor": True}
        relu = {"act_quant": Uint8ActPerTensorFloat, "return_quant_tensor": True}
        self.input = qnn.QuantIdentity(act_quant=Int8ActPerTensorFloat, return_quant_tensor=True)
        self.first, self.first_relu = qnn.QuantConv2d(1, 8, 3, **layer), qnn.QuantReLU(**relu)
        self.second, self.second_relu = qnn.QuantConv2d(8, 8, 3, weight_bit_width=4, **layer), qnn.QuantReLU(**relu)
        self.scores = qnn.QuantLinear(8 * 16, 10, **layer)
        self.output = qnn.QuantIdentity(act_quant=Int8ActPerTensorFloat)

    def forward(self, x):
        x = self.first_relu(self.first(self.input(x)))
        x = self.second_relu(self.second(x))
        return self.output(self.scores(x.flatten(1)))


def trained():
    torch.manual_seed(1)
    network = Network().train()
    optimizer = torch.optim.SGD(network.parameters(), 1e-2)
    for _ in range(20):
        optimizer.zero_grad()
        network(torch.randn(16, 1, 8, 8)).square().mean().backward()
        optimizer.step()
    return network.eval()


def main():
    warnings.simplefilter("ignore")
    network, x = trained(), torch.randn(8, 1, 8, 8)
    with torch.no_grad():
        np.savez_compressed(HERE / "expected.npz", x=x.numpy(), y=network(x).numpy())
    for name, export in (("qcdq", export_onnx_qcdq), ("qonnx", export_qonnx)):
        path = HERE / f"{name}.onnx"
        export(network, args=x, export_path=str(path), dynamo=False, opset_version=17, input_names=["x"], output_names=["y"])
        model = onnx.load(path)
        for holder in [model, model.graph, *model.graph.node, *model.graph.value_info]:
            holder.ClearField("doc_string")
            del holder.metadata_props[:]
        onnx.save(model, path)


if __name__ == "__main__":
    main()
