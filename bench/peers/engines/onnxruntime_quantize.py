"""An fp32 ONNX file as ONNX Runtime's own tools quantize it: QDQ, activations u8, weights s8 per channel, min-max of random inputs.

    python onnxruntime_quantize.py MODEL OUTPUT
"""

import pathlib
import sys
import tempfile

import numpy
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quant_pre_process, quantize_static


class Samples(CalibrationDataReader):
    def __init__(self, model):
        given = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).get_inputs()[0]
        random = numpy.random.default_rng(1)
        self.left = [{given.name: random.standard_normal([1, *given.shape[1:]], dtype=numpy.float32)} for _ in range(4)]

    def get_next(self):
        return self.left.pop() if self.left else None


def main():
    source, target = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        prepared = str(pathlib.Path(folder) / "prepared.onnx")
        quant_pre_process(source, prepared, skip_symbolic_shape=True)
        quantize_static(
            prepared,
            target,
            Samples(prepared),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
        )


main()
