"""A random quantized .tflite graph while it is made: its tensors, its random parameters, and its file.

Needs: pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import dataclasses

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from litert_operators import CODE, TYPES, Model


@dataclasses.dataclass
class Value:
    """A quantized tensor of the graph."""

    index: int
    dtype: str
    shape: list
    scale: np.float32
    zero: int

    def quant(self):
        return {"scale": self.scale, "zero_point": self.zero}


class RandomGraph:
    def __init__(self, rng, dtype):
        self.rng, self.dtype = rng, dtype
        self.model, self.values, self.read, self.names, self.stored = Model(), [], set(), [], 0
        self.next = None  # what the next operator reads, where it can
        self.batch_shape = [1, int(rng.integers(3, 9)), int(rng.integers(3, 9)), int(rng.choice([1, 3, 4, 8, 12, 16]))]

    # ---- random parameters

    def one_of(self, *choices):
        return choices[int(self.rng.integers(0, len(choices)))]

    def chance(self, probability):
        return self.rng.random() < probability

    def zero(self, dtype):
        info = np.iinfo(TYPES[dtype][1])
        middle = (info.min + info.max + 1) // 2
        return int(self.one_of(info.min, info.min, info.max, middle, middle - 1, self.rng.integers(info.min, info.max + 1)))

    def scale(self, low=0.01, high=0.1):
        return np.float32(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def quant(self, near, like=None):
        """Parameters of a result: those of `like`, or its scale alone, or a scale near one that covers the results."""
        if like is not None and self.chance(0.35):
            return {"scale": like.scale, "zero_point": like.zero}
        if like is not None and self.chance(0.25):
            return {"scale": like.scale, "zero_point": self.zero(like.dtype)}
        return {"scale": np.float32(near * self.rng.uniform(0.5, 1.5)), "zero_point": self.zero(self.dtype)}

    # ---- tensors

    def input(self, shape, dtype=None, quant=None):
        dtype = dtype or self.dtype
        quant = quant or {"scale": self.scale(), "zero_point": self.zero(dtype)}
        index = self.model.input(f"x{len(self.model.subgraph.inputs)}", dtype, shape, **quant)
        made = Value(index, dtype, list(shape), np.float32(quant["scale"]), quant["zero_point"])
        self.values.append(made)
        return made

    def pick(self, rank=None, is_fit=lambda value: True):
        """A value of the graph's type, most often a new one."""
        wanted, self.next = self.next, None
        if wanted is not None and rank in (None, len(wanted.shape)) and is_fit(wanted):
            return wanted
        fit = [v for v in self.values if v.dtype == self.dtype and rank in (None, len(v.shape)) and is_fit(v)]
        if not fit or (len(self.model.subgraph.inputs) < 3 and self.chance(0.08)):
            if rank in (None, 4) and (not fit or is_fit(Value(0, self.dtype, self.batch_shape, np.float32(1), 0))):
                return self.input(self.batch_shape)
            if not fit:
                return None
        return fit[-1] if self.chance(0.5) else self.one_of(*fit)

    def constant(self, shape, quant, lowest=None):
        info = np.iinfo(TYPES[self.dtype][1])
        data = self.rng.integers(info.min if lowest is None else lowest, info.max + 1, shape)
        return self.model.tensor(self.constant_name(), self.dtype, shape, **quant, data=data)

    def integers(self, values):
        values = np.asarray(values)
        return self.model.tensor(self.constant_name(), "s32", list(values.shape), data=values)

    def constant_name(self):
        self.stored += 1
        return f"c{self.stored}"

    # ---- operators

    def emit(self, name, inputs, shapes, quant, options=(None, 0), version=1, dtype=None, is_quantized=True):
        """Adds operator `name` with values or indices as inputs; returns its results."""
        for value in inputs:
            if isinstance(value, Value):
                self.read.add(value.index)
        made = []
        for shape in shapes:
            parameters = quant if is_quantized else {}
            index = self.model.tensor(f"y{len(self.model.subgraph.tensors)}", dtype or self.dtype, shape, **parameters)
            made.append(index)
            if is_quantized:
                self.values.append(Value(index, dtype or self.dtype, list(shape), np.float32(quant["scale"]), quant["zero_point"]))
        indices = [v.index if isinstance(v, Value) else v for v in inputs]
        self.model.operator(getattr(CODE, name), indices, made, options[0], options[1], version)
        self.names.append(name)

    def finish(self):
        """Outputs are what nothing reads, and sometimes a value inside."""
        subgraph = self.model.subgraph
        inner = [v.index for v in self.values if v.index in self.read and v.index not in subgraph.inputs and self.chance(0.1)]
        made = [index for op in subgraph.operators for index in op.outputs]
        subgraph.outputs = sorted(set(inner) | {index for index in made if index not in self.read})

    def content(self):
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    def sample_inputs(self):
        return sample_inputs_of(self.content())


def sample_inputs_of(content):
    """Values of the whole type for every input, smooth in some channels: the same for the same file."""
    subgraph = schema.ModelT.InitFromObj(schema.Model.GetRootAsModel(content, 0)).subgraphs[0]
    types = {number: dtype for number, dtype in TYPES.values()}
    rng = np.random.default_rng(len(content))
    made = {}
    for index in subgraph.inputs:
        tensor = subgraph.tensors[index]
        dtype = types[tensor.type]
        if dtype == np.float32:
            made[tensor.name.decode()] = rng.normal(0, 2, tensor.shape).astype(dtype)
            continue
        info = np.iinfo(dtype)
        values = rng.integers(info.min, info.max + 1, tensor.shape).astype(dtype)
        # Functions of words end far from 0 in what they saturate to.
        made[tensor.name.decode()] = values if dtype != np.int16 else values >> rng.integers(0, 8, tensor.shape).astype(dtype)
    return made
