"""An fp32 ONNX file as NNCF quantizes it for OpenVINO: its default (performance) preset, random inputs, its transformer scheme where there is attention.
Writes OpenVINO's XML and weights.

    python openvino_quantize.py MODEL OUTPUT.xml
"""

import sys

import nncf
import numpy
import openvino


def has_attention(network):
    return any(op.get_type_name() == "Softmax" and len(op.output(0).partial_shape) >= 3 for op in network.get_ops())


def main():
    source, target = sys.argv[1:]
    network = openvino.Core().read_model(source)
    shape = [1, *(d.get_length() for d in list(network.input(0).partial_shape)[1:])]
    kind = nncf.ModelType.TRANSFORMER if has_attention(network) else None
    random = numpy.random.default_rng(1)
    samples = nncf.Dataset([random.standard_normal(shape, dtype=numpy.float32) for _ in range(4)])
    openvino.save_model(nncf.quantize(network, samples, subset_size=4, model_type=kind), target, compress_to_fp16=False)


main()
