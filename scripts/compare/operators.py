"""Models of one fp32 operator: Octavo against ONNX Runtime, in turns in one run. Prints minima (medians) in us and the ratio of the minima, the slowest of Octavo's first.

    python scripts/compare/operators.py --octavo build/bin/octavo [--threads 2] [--turns 3] [--seconds 0.15] [NAME...]

Sizes are those of networks of vision, speech and text; NAME: a part of a row's name.
"""

import argparse
import pathlib
import statistics
import tempfile

import numpy as np
import onnx
import speed
from onnx import TensorProto, helper, numpy_helper

F32 = TensorProto.FLOAT


class Case:
    """One node, its variable inputs (name -> shape or array) and its constants (name -> array)."""

    def __init__(self, operator, inputs, constants=None, outputs=1, opset=20, label="", **attributes):
        self.operator, self.constants, self.opset, self.attributes = operator, constants or {}, opset, attributes
        random = np.random.default_rng(1)
        self.feeds = {name: value if isinstance(value, np.ndarray) else random.standard_normal(value, dtype=np.float32) for name, value in inputs.items()}
        shapes = ", ".join("x".join(map(str, value.shape)) for value in self.feeds.values())
        self.name = f"{operator}{' ' + label if label else ''} {shapes}"
        self.outputs = [f"y{i}" for i in range(outputs)]

    def model(self):
        names = [*self.feeds, *self.constants]
        order = sorted(names, key=lambda name: int(name[1:]))  # x0, x1, ...: their places; left out where a number is missing
        places = [""] * (int(order[-1][1:]) + 1)
        for name in order:
            places[int(name[1:])] = name
        node = helper.make_node(self.operator, places, self.outputs, **self.attributes)
        inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in self.feeds.items()]
        outputs = [helper.make_empty_tensor_value_info(name) for name in self.outputs]
        constants = [numpy_helper.from_array(np.asarray(value), name) for name, value in self.constants.items()]
        graph = helper.make_graph([node], "one", inputs, outputs, constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9)
        return onnx.shape_inference.infer_shapes(made, strict_mode=True)


def weights(*shape):
    return np.random.default_rng(2).standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(np.prod(shape[1:])))


def integers(*values):
    return np.array(values, np.int64)


def cases():
    image, tokens = (1, 64, 56, 56), (8, 128, 768)
    for name in ("Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Log", "Sqrt", "Gelu", "HardSwish", "Elu", "LeakyRelu", "Softplus", "Sin", "Abs", "Floor", "Mish"):
        yield Case(name, {"x0": tokens})
    yield Case("Clip", {"x0": tokens}, {"x1": np.float32(-1), "x2": np.float32(1)})
    for name in ("Add", "Mul", "Div", "Max", "Pow"):
        yield Case(name, {"x0": np.abs(weights(*tokens)), "x1": np.abs(weights(*tokens)) + 1})
    yield Case("Add", {"x0": tokens, "x1": (768,)}, label="row")
    yield Case("Mul", {"x0": image, "x1": (1, 64, 1, 1)}, label="channel")
    yield Case("Greater", {"x0": tokens, "x1": tokens})
    yield Case("Where", {"x0": weights(*tokens) > 0, "x1": tokens, "x2": tokens})
    for axis in (-1, 1):
        yield Case("Softmax", {"x0": (1, 12, 197, 197)}, axis=axis, label=f"axis {axis}")
        yield Case("LogSoftmax", {"x0": (64, 1000)}, axis=axis, label=f"axis {axis}")
    yield Case("LayerNormalization", {"x0": tokens}, {"x1": weights(768), "x2": weights(768)})
    yield Case("InstanceNormalization", {"x0": image}, {"x1": weights(64), "x2": weights(64)})
    yield Case("GroupNormalization", {"x0": image}, {"x1": weights(64), "x2": weights(64)}, num_groups=8, opset=21)
    yield Case("BatchNormalization", {"x0": image}, {"x1": weights(64), "x2": weights(64), "x3": weights(64), "x4": np.abs(weights(64)) + 1})
    yield Case("LRN", {"x0": image}, size=5)
    yield Case("LpNormalization", {"x0": tokens}, axis=-1, p=2)
    for name in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2", "ReduceProd", "ReduceLogSumExp"):
        yield Case(name, {"x0": tokens}, {"x1": integers(-1)}, label="rows")
    yield Case("ReduceMean", {"x0": image}, {"x1": integers(2, 3)}, label="image")
    yield Case("ReduceSum", {"x0": tokens}, {"x1": integers(0)}, label="first axis")
    yield Case("ReduceMean", {"x0": tokens}, {"x1": integers(0, 2)}, label="axes apart")
    yield Case("ArgMax", {"x0": (1, 21, 256, 256)}, axis=1)
    yield Case("TopK", {"x0": (100, 1000)}, {"x1": integers(5)}, outputs=2)
    yield Case("CumSum", {"x0": tokens}, {"x1": np.int64(1)})
    yield Case("Transpose", {"x0": image}, perm=[0, 2, 3, 1])
    yield Case("Transpose", {"x0": (8, 128, 12, 64)}, perm=[0, 2, 1, 3], label="heads")
    yield Case("Concat", {"x0": image, "x1": image}, axis=1)
    yield Case("Split", {"x0": tokens}, outputs=3, num_outputs=3, axis=-1)
    yield Case("Slice", {"x0": image}, {"x1": integers(1, 1), "x2": integers(55, 55), "x3": integers(2, 3)})
    yield Case("Pad", {"x0": image}, {"x1": integers(0, 0, 1, 1, 0, 0, 1, 1)})
    yield Case("Pad", {"x0": image}, {"x1": integers(0, 0, 1, 1, 0, 0, 1, 1)}, mode="reflect", label="reflect")
    yield Case("Expand", {"x0": (1, 1, 768)}, {"x1": integers(*tokens)})
    yield Case("Tile", {"x0": (1, 128, 768)}, {"x1": integers(8, 1, 1)})
    yield Case("Gather", {"x0": (30522, 384), "x1": np.random.default_rng(3).integers(0, 30522, (8, 128))})
    yield Case("GatherElements", {"x0": (100, 1000), "x1": np.random.default_rng(3).integers(0, 1000, (100, 100))}, axis=1)
    yield Case("GatherND", {"x0": (64, 56, 56), "x1": np.random.default_rng(3).integers(0, 56, (1000, 2))})
    yield Case("ScatterND", {"x0": (64, 56, 56), "x1": np.random.default_rng(3).integers(0, 56, (1000, 3)), "x2": (1000,)})
    yield Case("DepthToSpace", {"x0": image}, blocksize=2)
    yield Case("MaxPool", {"x0": (1, 64, 112, 112)}, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    yield Case("AveragePool", {"x0": image}, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    yield Case("GlobalAveragePool", {"x0": (1, 1280, 14, 14)})
    for mode in ("nearest", "linear", "cubic"):
        yield Case("Resize", {"x0": image}, {"x2": np.array([1, 1, 2, 2], np.float32)}, mode=mode, label=mode)
    grid = np.random.default_rng(3).uniform(-1, 1, (1, 56, 56, 2)).astype(np.float32)
    yield Case("GridSample", {"x0": image, "x1": grid}, align_corners=0)
    yield Case("Conv", {"x0": image}, {"x1": weights(64, 64, 3, 3), "x2": weights(64)}, pads=[1, 1, 1, 1])
    yield Case("Conv", {"x0": image}, {"x1": weights(256, 64, 1, 1)}, label="1x1")
    yield Case("Conv", {"x0": (1, 144, 56, 56)}, {"x1": weights(144, 1, 3, 3)}, pads=[1, 1, 1, 1], group=144, label="depthwise")
    yield Case("Conv", {"x0": (1, 144, 28, 28)}, {"x1": weights(144, 18, 3, 3)}, pads=[1, 1, 1, 1], group=8, label="groups")
    yield Case("Conv", {"x0": (1, 80, 3000)}, {"x1": weights(384, 80, 3)}, pads=[1, 1], label="1-D")
    yield Case("Conv", {"x0": (1, 16, 8, 28, 28)}, {"x1": weights(32, 16, 3, 3, 3)}, pads=[1] * 6, label="3-D")
    yield Case("Conv", {"x0": (1, 32, 28, 28), "x1": (32, 32, 3, 3)}, pads=[1, 1, 1, 1], label="computed weights")
    yield Case("ConvTranspose", {"x0": (1, 64, 28, 28)}, {"x1": weights(64, 32, 2, 2)}, strides=[2, 2])
    offsets = np.random.default_rng(3).uniform(-1, 1, (1, 18, 28, 28)).astype(np.float32)
    yield Case("DeformConv", {"x0": (1, 32, 28, 28), "x2": offsets}, {"x1": weights(32, 32, 3, 3)}, pads=[1, 1, 1, 1], label="", opset=19)
    yield Case("MatMul", {"x0": (8, 128, 768)}, {"x1": weights(768, 768)}, label="constant")
    yield Case("MatMul", {"x0": (12, 197, 64), "x1": (12, 64, 197)}, label="two variables")
    yield Case("MatMul", {"x0": (1, 2048)}, {"x1": weights(2048, 1000)}, label="one row")
    yield Case("Gemm", {"x0": (64, 512)}, {"x1": weights(512, 1000), "x2": weights(1000)})
    yield Case("Einsum", {"x0": (8, 12, 128, 64), "x1": (8, 12, 64, 128)}, equation="bhij,bhjk->bhik")
    yield Case("LSTM", {"x0": (50, 1, 128)}, {"x1": weights(1, 512, 128), "x2": weights(1, 512, 128)}, hidden_size=128, outputs=1)
    yield Case("GRU", {"x0": (50, 1, 128)}, {"x1": weights(1, 384, 128), "x2": weights(1, 384, 128)}, hidden_size=128, outputs=1)


def measure(arguments, case, folder):
    path = folder / "one.onnx"
    onnx.save(case.model(), path)
    session = speed.ort_session(str(path), arguments.threads)
    compiled = speed.compile_octavo(arguments.octavo, str(path), "fp32", None, folder, [])
    turns = {"ort": [], "octavo": []}
    for _ in range(arguments.turns):
        turns["ort"].append(speed.time_ort(session, case.feeds, arguments.seconds))
        latency = speed.time_octavo(arguments.octavo, compiled, None, arguments.threads, arguments.seconds)
        turns["octavo"].append([latency["min"], latency["median"]])
    ort = min(map(min, turns["ort"])), statistics.median(map(statistics.median, turns["ort"]))
    own = min(t[0] for t in turns["octavo"]), statistics.median(t[1] for t in turns["octavo"])
    return ort, own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.15)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases():
            if arguments.names and not any(name in case.name for name in arguments.names):
                continue
            try:
                rows.append((case.name, *measure(arguments, case, pathlib.Path(folder))))
            except (Exception, SystemExit) as problem:  # of either engine: the row says so
                print(f"{case.name}: {str(problem).strip()[:300]}", flush=True)
    print("| operator | ONNX Runtime, us | Octavo, us | ratio |\n| --- | --- | --- | --- |")
    for name, ort, own in sorted(rows, key=lambda row: row[1][0] / row[2][0]):
        cells = " | ".join(f"{1e3 * low:.1f} ({1e3 * median:.1f})" for low, median in (ort, own))
        print(f"| {name} | {cells} | {ort[0] / own[0]:.2f}x |")


if __name__ == "__main__":
    main()
