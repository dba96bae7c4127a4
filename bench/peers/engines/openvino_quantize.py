"""An fp32 ONNX file as NNCF quantizes it for OpenVINO: its default (performance) preset, random inputs. Writes OpenVINO's XML and weights.

    python openvino_quantize.py MODEL OUTPUT.xml
"""

import sys

import nncf
import numpy
import openvino


def main():
    source, target = sys.argv[1:]
    network = openvino.Core().read_model(source)
    shape = [1, *(d.get_length() for d in list(network.input(0).partial_shape)[1:])]
    random = numpy.random.default_rng(1)
    samples = nncf.Dataset([random.standard_normal(shape, dtype=numpy.float32) for _ in range(4)])
    openvino.save_model(nncf.quantize(network, samples, subset_size=4), target, compress_to_fp16=False)


main()
