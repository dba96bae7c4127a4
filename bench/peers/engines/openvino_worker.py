"""OpenVINO's CPU plugin in its latency mode: one stream of `threads` threads, f32 where the model is not quantized."""

import numpy
import openvino

import protocol


def load(model, batch, threads):
    core = openvino.Core()
    network = core.read_model(model)
    network.reshape([batch, *(d.get_length() for d in list(network.input(0).partial_shape)[1:])])
    compiled = core.compile_model(
        network,
        "CPU",
        {
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": "1",
            "INFERENCE_NUM_THREADS": str(threads),
            "INFERENCE_PRECISION_HINT": "f32",
        },
    )
    request = compiled.create_infer_request()
    values = numpy.random.default_rng(0).standard_normal(list(compiled.input(0).shape), dtype=numpy.float32)
    request.set_input_tensor(openvino.Tensor(values, shared_memory=True))

    def run(_values=values):  # the tensor shares their memory without keeping it
        request.infer()

    return run


protocol.serve(load)
