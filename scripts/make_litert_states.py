"""Makes tests/import/litert_states: small .tflite files that keep values from run to run, with what LiteRT answers one run after the other.

    python scripts/make_litert_states.py

NAME.bin holds, for each of six runs of NAME.tflite, the inputs in order, then the outputs: raw bytes.
Needs, in any virtual environment: pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import pathlib

import numpy as np

from litert_file import File
from litert_recurrent import STREAMS
from make_litert_builtins import add, interpreter, mul, random_input

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "import" / "litert_states"
RUNS = 6
SCALE = (0.05, -128)  # of bytes


def variable(graph, name, values=None, quant=None):
    """What names it; assigned, where there are values."""
    handle = graph.resource()
    graph.add("VAR_HANDLE", [], [handle], "VarHandleOptions", container="", sharedName=name)
    if values is not None:
        graph.add("ASSIGN_VARIABLE", [handle, graph.constant(values, quant=quant)], [])
    return handle


def started():
    """A file whose second subgraph is called once."""
    file = File()
    main, init = file.graph("main"), file.graph("init")
    main.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1)
    return file, main, init


def running_sum():
    """The sum of all x, and twice that, read again; a variable that never changes takes part."""
    file, main, init = started()
    x = main.input([2, 3])
    total, weights = variable(main, "total"), variable(main, "weights")
    scaled = mul(main, x, main.new("READ_VARIABLE", [weights], [3]), [2, 3])
    after = add(main, main.new("READ_VARIABLE", [total], [2, 3]), scaled, [2, 3])
    main.add("ASSIGN_VARIABLE", [total, after], [])
    read_again = main.new("READ_VARIABLE", [total], [2, 3])
    main.outputs(after, add(main, read_again, after, [2, 3]))
    variable(init, "total", np.zeros([2, 3], np.float32))
    variable(init, "weights", np.array([1.5, -2.0, 0.25], np.float32))
    return file


def stream_of_bytes():
    """The last four rows of all x, as streams of sound keep them: bytes whose zero is -128."""
    file, main, init = started()
    x = main.input([1, 2, 1, 5], np.int8, SCALE)
    rows = variable(main, "stream/rows")
    kept = main.tensor([1, 4, 1, 5], np.int8, quant=SCALE)
    main.add("READ_VARIABLE", [rows], [kept])
    longer, last = main.tensor([1, 6, 1, 5], np.int8, quant=SCALE), main.tensor([1, 4, 1, 5], np.int8, quant=SCALE)
    main.add("CONCATENATION", [kept, x], [longer], "ConcatenationOptions", axis=1)
    begin, end, strides = (main.constant(values, np.int32) for values in ([0, 2, 0, 0], [1, 6, 1, 5], [1, 1, 1, 1]))
    main.add("STRIDED_SLICE", [longer, begin, end, strides], [last], "StridedSliceOptions")
    main.add("ASSIGN_VARIABLE", [rows, last], [])
    largest = main.tensor([1, 1, 1, 5], np.int8, quant=SCALE)
    main.add("MAX_POOL_2D", [longer], [largest], "Pool2DOptions", padding=1, strideW=1, strideH=1, filterWidth=1, filterHeight=6)
    main.outputs(largest)
    variable(init, "stream/rows", np.full([1, 4, 1, 5], -128, np.int8), SCALE)
    return file


def state_around_a_branch():
    """Of a file of several parts: what a branch makes of x joins the state."""
    file, main, init = started()
    yes, no = file.graph("yes"), file.graph("no")
    x = main.input([2, 3])
    total = variable(main, "total")
    before = main.new("READ_VARIABLE", [total], [2, 3])
    sum_ = main.new("SUM", [add(main, before, x, [2, 3]), main.constant([0, 1], np.int32)], [], np.float32, "ReducerOptions")
    condition = main.new("GREATER", [sum_, main.constant(0.0, np.float32)], [], np.bool_)
    made = main.tensor([2, 3])
    main.add("IF", [condition, x], [made], "IfOptions", thenSubgraphIndex=2, elseSubgraphIndex=3)
    after = add(main, before, made, [2, 3])
    main.add("ASSIGN_VARIABLE", [total, after], [])
    main.outputs(after)
    variable(init, "total", np.zeros([2, 3], np.float32))
    a = yes.input([2, 3])
    yes.outputs(mul(yes, a, yes.constant(-3.0, np.float32), [2, 3]))
    a = no.input([2, 3])
    no.outputs(no.new("TANH", [a], [2, 3]))
    return file


def main():
    FOLDER.mkdir(exist_ok=True)
    cases = {case.__name__: case for case in (running_sum, stream_of_bytes, state_around_a_branch)} | STREAMS
    for name, case in cases.items():
        content = case().content()
        made, rng, vectors = interpreter(content, name), np.random.default_rng(7), []
        for _ in range(RUNS):
            for detail in made.get_input_details():
                vectors.append(random_input(detail, rng, 0))
                made.set_tensor(detail["index"], vectors[-1])
            made.invoke()
            vectors += [made.get_tensor(detail["index"]).copy() for detail in made.get_output_details()]
        (FOLDER / f"{name}.tflite").write_bytes(content)
        (FOLDER / f"{name}.bin").write_bytes(b"".join(np.ascontiguousarray(value).tobytes() for value in vectors))
        print(name, vectors[-1].tolist())


if __name__ == "__main__":
    main()
