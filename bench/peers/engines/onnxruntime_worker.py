"""ONNX Runtime with its CPU provider: all graph optimizations, one pool of `threads` threads that spin (the default)."""

import numpy
import onnxruntime

import protocol


def load(model, batch, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    shape = [batch, *(int(d) for d in given.shape[1:])]
    # Bound once, so that a run copies nothing.
    binding = session.io_binding()
    binding.bind_cpu_input(given.name, numpy.random.default_rng(0).standard_normal(shape, dtype=numpy.float32))
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return lambda: session.run_with_iobinding(binding)


protocol.serve(load)
