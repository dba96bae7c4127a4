"""Small .tflite files of recurrent layers, for make_litert_builtins.py.

Needs: pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import numpy as np

from litert_file import File


def lstm(is_time_major=False, kind="UNIDIRECTIONAL_SEQUENCE_LSTM", couples_gates=False, has_peepholes=False, function=4, outputs=0, has_norms=False,
         clip=0.0, bytes_=None):
    """Two sequences of five steps, or one step of two. `outputs`: of a projection; `bytes_`: weights of 8 bits, symmetric or asymmetric."""
    file, rng = File(), np.random.default_rng(3)
    main, batch, steps, size, hidden = file.graph("main"), 2, 5, 4, 3
    projected = outputs or hidden
    order = [batch] if kind == "LSTM" else [steps, batch] if is_time_major else [batch, steps]

    def normal(*shape):
        return main.constant(rng.normal(0, 0.6, shape), np.float32)

    def weights(*shape):
        if not bytes_:
            return normal(*shape)
        return main.constant(rng.integers(-127, 128, shape), np.int8, (rng.uniform(0.005, 0.01), 0))

    def gates(*shape, make=normal):
        made = [make(*shape) for _ in range(4)]
        return [-1, *made[1:]] if couples_gates else made

    def peepholes():
        made = [weights(hidden) for _ in range(3)]
        return [-1 if couples_gates else made[0], *made[1:]] if has_peepholes else [-1, -1, -1]

    def direction():
        products = [*gates(hidden, size, make=weights), *gates(hidden, projected, make=weights)]
        projection = [weights(outputs, hidden), normal(outputs)] if outputs else [-1, -1]
        return [*products, *peepholes(), *gates(hidden), *projection]

    def states(count):
        return [main.tensor([batch, hidden if i % 2 else projected], is_variable=True) for i in range(count)]

    inputs = [main.input([*order, size]), *direction()]
    fields = {"fusedActivationFunction": function, "cellClip": clip, "projClip": clip / 2, "asymmetricQuantizeInputs": bytes_ == "asymmetric"}
    if kind == "BIDIRECTIONAL_SEQUENCE_LSTM":
        inputs += [*direction(), *states(4), *[-1] * 9]
        made = [main.tensor([*order, projected]) for _ in range(2)]
        main.outputs(*main.add(kind, inputs, made, "BidirectionalSequenceLSTMOptions", timeMajor=is_time_major, mergeOutputs=False, **fields))
        return file
    inputs += [*states(2), *(gates(hidden) if has_norms else [-1] * 4)]
    options = "LSTMOptions" if kind == "LSTM" else "UnidirectionalSequenceLSTMOptions"
    main.outputs(main.new(kind, inputs, [*order, projected], np.float32, options, **fields | ({} if kind == "LSTM" else {"timeMajor": is_time_major})))
    return file


def integer_lstm(couples_gates=False, has_projection=False, cell_exponent=-11, clip=0.0):
    """Two sequences of seven steps in 8 bits, with cells of 16 bits."""
    file, rng = File(), np.random.default_rng(8)
    main, batch, steps, size, hidden = file.graph("main"), 2, 7, 12, 10
    outputs = 6 if has_projection else hidden
    of_x, of_h, of_hidden = (0.03, -7), (0.0079, 5), (0.007, -3) if has_projection else (0.0079, 5)

    def weights(*shape):
        scale = rng.uniform(0.004, 0.02)
        return main.constant(rng.integers(-127, 128, shape), np.int8, (scale, 0))

    def bias(n, scale):
        return main.constant(rng.integers(-3000, 3000, n), np.int32, (scale, 0))

    def gates(make, *arguments):
        made = [make(*arguments) for _ in range(4)]
        return [-1, *made[1:]] if couples_gates else made

    projection = [weights(outputs, hidden), bias(outputs, 0.0001)] if has_projection else [-1, -1]
    inputs = [main.input([batch, steps, size], np.int8, of_x), *gates(weights, hidden, size), *gates(weights, hidden, outputs), -1, -1, -1]
    inputs += [*gates(bias, hidden, 0.0003), *projection, main.tensor([batch, outputs], np.int8, is_variable=True, quant=of_h)]
    inputs += [main.tensor([batch, hidden], np.int16, is_variable=True, quant=(2.0**cell_exponent, 0)), *[-1] * 4]
    inner = [main.tensor([], np.int16, quant=(2.0**-12, 0)) for _ in range(4)] + [main.tensor([], np.int8, quant=of_hidden)]
    made = main.tensor([batch, steps, outputs], np.int8, quant=of_h)
    main.add("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [made], "UnidirectionalSequenceLSTMOptions", fusedActivationFunction=4, intermediates=inner,
             cellClip=clip, projClip=clip / 4)
    main.outputs(made)
    return file


def basic_lstm():
    file, rng = File(), np.random.default_rng(3)
    main, batch, size, hidden = file.graph("main"), 2, 4, 3
    x, h, c = main.input([batch, size]), main.input([batch, hidden]), main.input([batch, hidden])
    w, bias = (main.constant(rng.normal(0, 0.6, shape), np.float32) for shape in ([4 * hidden, size + hidden], [4 * hidden]))
    made = [main.tensor([batch, n]) for n in (hidden, hidden, size + hidden, 4 * hidden)]
    main.add("LSTM", [x, h, w, bias, c], made, "LSTMOptions", fusedActivationFunction=4, kernelType=1)
    main.outputs(*made[:2])
    return file


def rnn(kind, is_time_major=False, is_merged=False, function=4):
    file, rng = File(), np.random.default_rng(6)
    main, batch, steps, size, hidden = file.graph("main"), 2, 5, 4, 3
    order = [batch] if kind == "RNN" else [steps, batch] if is_time_major else [batch, steps]

    def direction():
        made = [main.constant(rng.normal(0, 0.6, shape), np.float32) for shape in ([hidden, size], [hidden, hidden], [hidden])]
        return [*made, main.tensor([batch, hidden], is_variable=True)]

    inputs, fields = [main.input([*order, size]), *direction()], {"fusedActivationFunction": function}
    if kind == "RNN":
        main.outputs(main.new(kind, inputs, [batch, hidden], np.float32, "RNNOptions", **fields))
    elif kind == "UNIDIRECTIONAL_SEQUENCE_RNN":
        main.outputs(main.new(kind, inputs, [*order, hidden], np.float32, "SequenceRNNOptions", timeMajor=is_time_major, **fields))
    else:
        inputs += [*direction(), -1, -1, -1]
        made = [main.tensor([*order, n]) for n in ([2 * hidden] if is_merged else [hidden, hidden])]
        main.outputs(*main.add(kind, inputs, made, "BidirectionalSequenceRNNOptions", timeMajor=is_time_major, mergeOutputs=is_merged, **fields))
    return file


def svdf(has_bias=True, rank=2):
    """Filters of rank 2 over a memory of five steps."""
    file, rng = File(), np.random.default_rng(7)
    main, batch, size, units, memory = file.graph("main"), 2, 6, 4, 5
    filters = rank * units
    features, by_time, bias = (main.constant(rng.normal(0, 0.6, shape), np.float32) for shape in ([filters, size], [filters, memory], [units]))
    state = main.tensor([batch, memory * filters], is_variable=True)
    inputs = [main.input([batch, size]), features, by_time, bias if has_bias else -1, state]
    main.outputs(main.new("SVDF", inputs, [batch, units], np.float32, "SVDFOptions", rank=rank, fusedActivationFunction=1))
    return file


def svdf_in_bytes():
    """The same in 8 bits, with a memory of 16 bits."""
    file, rng = File(), np.random.default_rng(9)
    main, batch, size, units, memory, rank = file.graph("main"), 3, 6, 4, 5, 2
    filters, of_y = rank * units, (0.05, -13)
    inputs = [main.input([batch, size], np.int8, (0.04, 3)), main.constant(rng.integers(-127, 128, (filters, size)), np.int8, (0.01, 0)),
              main.constant(rng.integers(-3000, 3000, (filters, memory)), np.int16, (0.0001, 0)),
              main.constant(rng.integers(-900, 900, units), np.int32, (0.0000001, 0)),
              main.tensor([batch, memory * filters], np.int16, is_variable=True, quant=(0.0007, 0))]
    made = main.tensor([batch, units], np.int8, quant=of_y)
    main.outputs(*main.add("SVDF", inputs, [made], "SVDFOptions", rank=rank, fusedActivationFunction=1))
    return file


RECURRENT = {
    "lstm": lstm,
    "lstm_time_major": lambda: lstm(True),
    "lstm_peepholes": lambda: lstm(has_peepholes=True, function=1),
    "lstm_coupled": lambda: lstm(couples_gates=True),
    "lstm_coupled_peepholes": lambda: lstm(couples_gates=True, has_peepholes=True, function=3),
    "lstm_step": lambda: lstm(kind="LSTM", has_peepholes=True),
    "lstm_two_ways": lambda: lstm(kind="BIDIRECTIONAL_SEQUENCE_LSTM"),
    "lstm_projected": lambda: lstm(outputs=2, has_peepholes=True),
    "lstm_clipped": lambda: lstm(outputs=5, clip=0.4, couples_gates=True),
    "lstm_normalized": lambda: lstm(has_norms=True, has_peepholes=True, outputs=2),
    "lstm_normalized_coupled": lambda: lstm(has_norms=True, couples_gates=True, is_time_major=True),
    "lstm_bytes": lambda: lstm(bytes_="symmetric", has_peepholes=True, outputs=2),
    "lstm_bytes_asymmetric": lambda: lstm(bytes_="asymmetric", couples_gates=True),
    "lstm_bytes_step": lambda: lstm(kind="LSTM", bytes_="symmetric"),
    "lstm_two_ways_projected": lambda: lstm(kind="BIDIRECTIONAL_SEQUENCE_LSTM", outputs=2, has_peepholes=True),
    "lstm_two_ways_bytes": lambda: lstm(kind="BIDIRECTIONAL_SEQUENCE_LSTM", bytes_="asymmetric"),
    "lstm_basic": basic_lstm,
    "lstm_integer": integer_lstm,
    "lstm_integer_coupled": lambda: integer_lstm(couples_gates=True, cell_exponent=-12),
    "lstm_integer_projected": lambda: integer_lstm(has_projection=True),
    "lstm_integer_clipped": lambda: integer_lstm(has_projection=True, cell_exponent=-9, clip=1.3),
    "rnn": lambda: rnn("RNN"),
    "rnn_sequence": lambda: rnn("UNIDIRECTIONAL_SEQUENCE_RNN", function=1),
    "rnn_two_ways": lambda: rnn("BIDIRECTIONAL_SEQUENCE_RNN"),
    "rnn_two_ways_merged": lambda: rnn("BIDIRECTIONAL_SEQUENCE_RNN", is_time_major=True, is_merged=True, function=3),
}
STREAMS = {"svdf": svdf, "svdf_integer": svdf_in_bytes, "svdf_without_bias": lambda: svdf(has_bias=False, rank=1)}
