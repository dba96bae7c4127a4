"""A .tflite file while it is made, for make_litert_builtins.py: its subgraphs, their tensors and operators.

Needs: pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

CODE, TYPE = schema.BuiltinOperator, schema.TensorType
TYPES = {np.dtype(np.int16): TYPE.INT16, np.dtype(np.float32): TYPE.FLOAT32, np.dtype(np.int32): TYPE.INT32, np.dtype(np.int64): TYPE.INT64, np.dtype(np.bool_): TYPE.BOOL,
         np.dtype(np.float16): TYPE.FLOAT16, np.dtype(np.int8): TYPE.INT8, np.dtype(np.uint8): TYPE.UINT8}


class Graph:
    """One subgraph of a file."""

    def __init__(self, file, name):
        self.file, self.made = file, schema.SubGraphT()
        self.made.name, self.made.tensors, self.made.inputs, self.made.outputs, self.made.operators = name, [], [], [], []

    def tensor(self, shape, dtype=np.float32, data=None, number=None, is_variable=False, signature=None, quant=None):
        """`quant`: scale and zero point."""
        tensor = schema.TensorT()
        tensor.name = f"{self.made.name}_{len(self.made.tensors)}"
        tensor.type, tensor.shape, tensor.buffer, tensor.isVariable = TYPES[np.dtype(dtype)] if number is None else number, list(shape), 0, is_variable
        tensor.shapeSignature = signature
        if quant:
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale, tensor.quantization.zeroPoint = [float(np.float32(quant[0]))], [quant[1]]
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
            tensor.buffer = len(self.file.model.buffers)
            self.file.model.buffers.append(buffer)
        self.made.tensors.append(tensor)
        return len(self.made.tensors) - 1

    def constant(self, values, dtype=None, quant=None):
        values = np.asarray(values, dtype)
        return self.tensor(values.shape, values.dtype, values, quant=quant)

    def input(self, shape, dtype=np.float32, quant=None):
        self.made.inputs.append(self.tensor(shape, dtype, quant=quant))
        return self.made.inputs[-1]

    def resource(self):
        return self.tensor([], number=TYPE.RESOURCE)

    def add(self, name, inputs, outputs, options=None, **fields):
        """The outputs; an operator with options of this kind, filled with the fields."""
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(CODE, name)
        code.deprecatedBuiltinCode, code.version = min(code.builtinCode, 127), fields.pop("version", 1)
        code.customCode, custom_options = fields.pop("custom", None), fields.pop("custom_options", None)
        self.file.model.operatorCodes.append(code)
        op = schema.OperatorT()
        op.customOptions = None if custom_options is None else list(custom_options)
        op.intermediates = fields.pop("intermediates", None)
        op.opcodeIndex, op.inputs, op.outputs = len(self.file.model.operatorCodes) - 1, list(inputs), list(outputs)
        if options:
            op.builtinOptions, op.builtinOptionsType = getattr(schema, options + "T")(), getattr(schema.BuiltinOptions, options)
            for key, value in fields.items():
                setattr(op.builtinOptions, key, value)
        self.made.operators.append(op)
        return outputs

    def new(self, name, inputs, shape, dtype=np.float32, options=None, signature=None, **fields):
        """The one result."""
        return self.add(name, inputs, [self.tensor(shape, dtype, signature=signature)], options, **fields)[0]

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
