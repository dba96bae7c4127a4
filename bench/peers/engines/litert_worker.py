"""LiteRT with XNNPACK, its default on a CPU."""

import numpy
from ai_edge_litert.interpreter import Interpreter

import protocol


def load(model, batch, threads):
    interpreter = Interpreter(model_path=model, num_threads=threads)
    given = interpreter.get_input_details()[0]
    if given["shape"][0] != batch:
        interpreter.resize_tensor_input(given["index"], [batch, *given["shape"][1:]])
    interpreter.allocate_tensors()
    shape = interpreter.get_input_details()[0]["shape"]
    random = numpy.random.default_rng(0)
    if given["dtype"] == numpy.float32:
        values = random.standard_normal(shape, dtype=numpy.float32)
    else:
        values = random.integers(numpy.iinfo(given["dtype"]).min, numpy.iinfo(given["dtype"]).max, shape, dtype=given["dtype"])
    interpreter.set_tensor(given["index"], values)
    return interpreter.invoke


protocol.serve(load)
