"""Makes tests/import/litert_builtins: small .tflite files of operators that join others (control flow, variables, sparse constants), with what LiteRT answers.

    python scripts/make_litert_builtins.py [NAME...]

NAME.bin holds the inputs of NAME.tflite in order, then the outputs: raw bytes. A name that ends in _1, _2, ... is the same file with other inputs.
Needs, in any virtual environment: pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import pathlib
import sys

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE, TYPE = schema.BuiltinOperator, schema.TensorType
TYPES = {np.dtype(np.float32): TYPE.FLOAT32, np.dtype(np.int32): TYPE.INT32, np.dtype(np.int64): TYPE.INT64, np.dtype(np.bool_): TYPE.BOOL,
         np.dtype(np.float16): TYPE.FLOAT16, np.dtype(np.int8): TYPE.INT8, np.dtype(np.uint8): TYPE.UINT8}


class Graph:
    """One subgraph of a file."""

    def __init__(self, file, name):
        self.file, self.made = file, schema.SubGraphT()
        self.made.name, self.made.tensors, self.made.inputs, self.made.outputs, self.made.operators = name, [], [], [], []

    def tensor(self, shape, dtype=np.float32, data=None, number=None, is_variable=False, signature=None):
        tensor = schema.TensorT()
        tensor.name = f"{self.made.name}_{len(self.made.tensors)}"
        tensor.type, tensor.shape, tensor.buffer, tensor.isVariable = TYPES[np.dtype(dtype)] if number is None else number, list(shape), 0, is_variable
        tensor.shapeSignature = signature
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            tensor.buffer = len(self.file.model.buffers)
            self.file.model.buffers.append(buffer)
        self.made.tensors.append(tensor)
        return len(self.made.tensors) - 1

    def constant(self, values, dtype=None):
        values = np.asarray(values, dtype)
        return self.tensor(values.shape, values.dtype, values)

    def input(self, shape, dtype=np.float32):
        self.made.inputs.append(self.tensor(shape, dtype))
        return self.made.inputs[-1]

    def resource(self):
        return self.tensor([], number=TYPE.RESOURCE)

    def add(self, name, inputs, outputs, options=None, **fields):
        """The outputs; an operator with options of this kind, filled with the fields."""
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(CODE, name)
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), fields.pop("version", 1)
        self.file.model.operatorCodes.append(code)
        op = schema.OperatorT()
        op.opcodeIndex, op.inputs, op.outputs = len(self.file.model.operatorCodes) - 1, list(inputs), list(outputs)
        if options:
            op.builtinOptions, op.builtinOptionsType = getattr(schema, options + "T")(), getattr(schema.BuiltinOptions, options)
            for key, value in fields.items():
                setattr(op.builtinOptions, key, value)
        self.made.operators.append(op)
        return outputs

    def new(self, name, inputs, shape, dtype=np.float32, options=None, **fields):
        """The one result."""
        return self.add(name, inputs, [self.tensor(shape, dtype)], options, **fields)[0]

    def outputs(self, *tensors):
        self.made.outputs = list(tensors)


class File:
    def __init__(self):
        self.model = schema.ModelT()
        self.model.version, self.model.subgraphs, self.model.buffers, self.model.operatorCodes = 3, [], [schema.BufferT()], []

    def graph(self, name):
        graph = Graph(self, name)
        self.model.subgraphs.append(graph.made)
        return graph

    def content(self):
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def add(graph, a, b, shape, dtype=np.float32):
    return graph.new("ADD", [a, b], shape, dtype, "AddOptions")


def mul(graph, a, b, shape):
    return graph.new("MUL", [a, b], shape, np.float32, "MulOptions")


# ---- control flow


def choice(is_constant):
    """x * 3 + y or tanh(x) - y, by a condition that is computed or a constant."""
    file = File()
    main, yes, no = file.graph("main"), file.graph("yes"), file.graph("no")
    x, y = main.input([2, 3]), main.input([2, 3])
    sum_ = main.new("SUM", [x, main.constant([0, 1], np.int32)], [], np.float32, "ReducerOptions")
    condition = main.constant(True) if is_constant else main.new("GREATER", [sum_, main.constant(0.0, np.float32)], [], np.bool_)
    made = main.tensor([2, 3])
    main.add("IF", [condition, x, y], [made], "IfOptions", thenSubgraphIndex=1, elseSubgraphIndex=2)
    main.outputs(add(main, made, x, [2, 3]))
    a, b = yes.input([2, 3]), yes.input([2, 3])
    yes.outputs(add(yes, mul(yes, a, yes.constant(3.0, np.float32), [2, 3]), b, [2, 3]))
    a, b = no.input([2, 3]), no.input([2, 3])
    no.outputs(no.new("SUB", [no.new("TANH", [a], [2, 3]), b], [2, 3], np.float32, "SubOptions"))
    return file


def loop():
    """Doubles x and counts until the sum is above 100 or ten times."""
    file = File()
    main, test, body = file.graph("main"), file.graph("test"), file.graph("body")
    x = main.input([1, 4])
    made = [main.tensor([], np.int32), main.tensor([1, 4])]
    main.add("WHILE", [main.constant(0, np.int32), x], made, "WhileOptions", condSubgraphIndex=1, bodySubgraphIndex=2)
    main.outputs(made[0], add(main, made[1], x, [1, 4]))
    i, value = test.input([], np.int32), test.input([1, 4])
    sum_ = test.new("SUM", [value, test.constant([0, 1], np.int32)], [], np.float32, "ReducerOptions")
    few = test.new("LESS", [i, test.constant(10, np.int32)], [], np.bool_)
    test.outputs(test.new("LOGICAL_AND", [few, test.new("LESS", [sum_, test.constant(100.0, np.float32)], [], np.bool_)], [], np.bool_))
    i, value = body.input([], np.int32), body.input([1, 4])
    body.outputs(add(body, i, body.constant(1, np.int32), [], np.int32), mul(body, value, body.constant(2.0, np.float32), [1, 4]))
    return file


def choice_in_loop():
    """Collatz's steps of the first number."""
    file = File()
    main, test, body, even, odd = (file.graph(name) for name in ("main", "test", "body", "even", "odd"))
    x = main.input([], np.int32)
    made = [main.tensor([], np.int32), main.tensor([], np.int32)]
    main.add("WHILE", [main.constant(0, np.int32), x], made, "WhileOptions", condSubgraphIndex=1, bodySubgraphIndex=2)
    main.outputs(*made)
    i, value = test.input([], np.int32), test.input([], np.int32)
    test.outputs(test.new("GREATER", [value, test.constant(1, np.int32)], [], np.bool_))
    i, value = body.input([], np.int32), body.input([], np.int32)
    rest = body.new("FLOOR_MOD", [value, body.constant(2, np.int32)], [], np.int32)
    is_even = body.new("EQUAL", [rest, body.constant(0, np.int32)], [], np.bool_)
    chosen = body.tensor([], np.int32)
    body.add("IF", [is_even, value], [chosen], "IfOptions", thenSubgraphIndex=3, elseSubgraphIndex=4)
    body.outputs(add(body, i, body.constant(1, np.int32), [], np.int32), chosen)
    value = even.input([], np.int32)
    even.outputs(even.new("FLOOR_DIV", [value, even.constant(2, np.int32)], [], np.int32))
    value = odd.input([], np.int32)
    tripled = odd.new("MUL", [value, odd.constant(3, np.int32)], [], np.int32, "MulOptions")
    odd.outputs(add(odd, tripled, odd.constant(1, np.int32), [], np.int32))
    return file


def variables():
    """x times a variable that CALL_ONCE has set."""
    file = File()
    main, init = file.graph("main"), file.graph("init")
    x = main.input([2, 3])
    main.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1)
    handle = main.resource()
    main.add("VAR_HANDLE", [], [handle], "VarHandleOptions", container="", sharedName="w")
    weights = main.new("READ_VARIABLE", [handle], [3])
    main.outputs(mul(main, x, weights, [2, 3]))
    handle = init.resource()
    init.add("VAR_HANDLE", [], [handle], "VarHandleOptions", container="", sharedName="w")
    init.add("ASSIGN_VARIABLE", [handle, init.constant([1.5, -2.0, 0.25], np.float32)], [])
    return file


CASES = {
    "if": lambda: choice(False),
    "if_constant": lambda: choice(True),
    "while": loop,
    "while_if": choice_in_loop,
    "variables": variables,
}
INPUTS = {"if": 2, "while": 2}  # vectors of one file; else one
GIVEN = {"while_if": [[np.int32(27)]]}


def random_input(detail, rng, middle):
    if detail["dtype"] == np.float32:
        return rng.normal(middle, 2, detail["shape"]).astype(np.float32)
    return rng.integers(0, 3, detail["shape"]).astype(detail["dtype"])


def answers(content, inputs):
    made = Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    made.allocate_tensors()
    for detail, value in zip(made.get_input_details(), inputs):
        made.set_tensor(detail["index"], value)
    made.invoke()
    return [made.get_tensor(detail["index"]).copy() for detail in made.get_output_details()]


def main():
    folder = ROOT / "tests" / "import" / "litert_builtins"
    folder.mkdir(exist_ok=True)
    for name in sys.argv[1:] or CASES:
        content = CASES[name]().content()
        details = Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF).get_input_details()
        for i in range(INPUTS.get(name, 1)):
            rng = np.random.default_rng([11, i])
            inputs = GIVEN[name][i] if name in GIVEN else [random_input(detail, rng, 1 - 2 * i) for detail in details]
            found = answers(content, inputs)
            own = f"{name}_{i}" if i else name
            (folder / f"{own}.tflite").write_bytes(content)
            (folder / f"{own}.bin").write_bytes(b"".join(np.ascontiguousarray(value).tobytes() for value in [*inputs, *found]))
            print(own, [value.tolist() if value.size < 9 else value.shape for value in found])


if __name__ == "__main__":
    main()
