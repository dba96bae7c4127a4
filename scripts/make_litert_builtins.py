"""Makes tests/import/litert_builtins: small .tflite files of operators that join others (control flow, variables, sparse constants), with what LiteRT answers.

    python scripts/make_litert_builtins.py [NAME...]

NAME.bin holds the inputs of NAME.tflite in order, then the outputs: raw bytes. A name that ends in _1, _2, ... is the same file with other inputs.
Needs, in any virtual environment: pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import pathlib
import sys

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from flatbuffers import flexbuffers

from litert_file import TYPE, File
from litert_recurrent import RECURRENT

ROOT = pathlib.Path(__file__).resolve().parent.parent


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


# ---- single operators


def single(name, inputs, result, options=None, outputs=None, **fields):
    """One operator; inputs are shapes of floats, (shape, dtype) or constants."""
    file = File()
    main = file.graph("main")
    given = []
    for value in inputs:
        if isinstance(value, (np.ndarray, np.generic)):
            given.append(main.constant(value))
        else:
            given.append(main.input(*value) if isinstance(value, tuple) else main.input(value))
    made = [main.tensor(shape, dtype) for shape, dtype in (outputs or [result])]
    main.add(name, given, made, options, **fields)
    main.outputs(*made)
    return file


def spectrum(*results):
    """What the operators make of the transforms of three signals, two of them at a time."""
    file = File()
    main = file.graph("main")
    pairs = main.tensor([3, 8, 9], number=TYPE.COMPLEX64)
    main.add("RFFT2D", [main.input([3, 5, 12]), main.constant([8, 16], np.int32)], [pairs], "Rfft2dOptions")
    main.outputs(*(main.new(name, [pairs], [3, 8, 9]) for name in results))
    return file


def counted_rows():
    """The rows of x at the positions of what is above 0: a list whose length is data, gathered from."""
    file = File()
    main = file.graph("main")
    x = main.input([6, 3])
    first = main.new("SUM", [x, main.constant([1], np.int32)], [6], np.float32, "ReducerOptions")
    is_above = main.new("GREATER", [first, main.constant(4.0, np.float32)], [6], np.bool_)
    positions = main.new("WHERE", [is_above], [6, 1], np.int64, signature=[-1, 1])
    main.outputs(main.new("GATHER_ND", [x, positions], [6, 3], signature=[-1, 3]))
    return file


def volume(is_transposed):
    """A convolution over three axes, or its transpose."""
    file, rng = File(), np.random.default_rng(5)
    main = file.graph("main")
    x, bias = main.input([2, 4, 5, 3, 2]), main.constant(rng.normal(0, 1, 3), np.float32)
    shape, w = ([2, 8, 5, 6, 3], [2, 3, 2, 3, 2]) if is_transposed else ([2, 2, 5, 2, 3], [2, 3, 2, 2, 3])
    inputs = [x, main.constant(rng.normal(0, 1, w), np.float32), bias]
    if is_transposed:
        inputs = [main.constant(shape, np.int32), inputs[1], x, bias]
    main.outputs(main.new("CONV_3D_TRANSPOSE" if is_transposed else "CONV_3D", inputs, shape, np.float32, "Conv3DOptions", padding=0,
                          strideD=2, strideH=1, strideW=2, fusedActivationFunction=1 - is_transposed))
    return file


def densify():
    """A sparse matrix of blocks of 2 by 2, as a product's weights."""
    file = File()
    main = file.graph("main")
    sparse = main.tensor([4, 6], np.float32, np.float32([1, 0, 0, 4, 2, 3, 0, 0, 5, 0, 0, 6, 7, 8, 9, 1]))
    tensor = main.made.tensors[sparse]
    tensor.sparsity = schema.SparsityParametersT()
    tensor.sparsity.traversalOrder, tensor.sparsity.blockMap, tensor.sparsity.dimMetadata = [0, 1, 2, 3], [0, 1], []
    for size, segments, indices in [(2, None, None), (0, [0, 2, 4], [0, 2, 1, 2]), (2, None, None), (2, None, None)]:
        level = schema.DimensionMetadataT()
        level.format, level.denseSize = (0, size) if segments is None else (1, 0)
        if segments is not None:
            level.arraySegments, level.arrayIndices = schema.Uint8VectorT(), schema.Int32VectorT()
            level.arraySegments.values, level.arrayIndices.values = segments, indices
            level.arraySegmentsType, level.arrayIndicesType = schema.SparseIndexVector.Uint8Vector, schema.SparseIndexVector.Int32Vector
        tensor.sparsity.dimMetadata.append(level)
    dense = main.new("DENSIFY", [sparse], [4, 6])
    x = main.input([3, 6])
    main.outputs(main.new("FULLY_CONNECTED", [x, dense, -1], [3, 4], np.float32, "FullyConnectedOptions"))
    return file


def detection():
    """Sixty boxes of four classes and the background, of which those are taken that overlap with none before."""
    file, rng, count = File(), np.random.default_rng(4), 60
    main = file.graph("main")
    anchors = np.concatenate([rng.uniform(0.1, 0.9, (count, 2)), rng.uniform(0.2, 0.5, (count, 2))], 1)
    inputs = [main.input([1, count, 4]), main.input([1, count, 5]), main.constant(anchors, np.float32)]
    made = [main.tensor(shape) for shape in ([1, 40, 4], [1, 40], [1, 40], [1])]
    options = {"max_detections": 40, "max_classes_per_detection": 1, "detections_per_class": 100, "use_regular_nms": False, "nms_score_threshold": 0.5,
               "nms_iou_threshold": 0.4, "num_classes": 4, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0}
    main.add("CUSTOM", inputs, made, custom="TFLite_Detection_PostProcess", custom_options=flexbuffers.Dumps(options))
    main.outputs(*made)
    return file


F, I, B = np.float32, np.int32, np.bool_
def moved_spectrum():
    """Numbers that lose, gain and change axes; then their real parts, and their absolute values."""
    file = File()
    main = file.graph("main")
    pairs = {"number": TYPE.COMPLEX64}
    x = main.input([2, 1, 1, 8])
    numbers = main.tensor([2, 1, 1, 5], **pairs)
    main.add("RFFT2D", [x, main.constant([1, 8], np.int32)], [numbers])
    lines, columns, flat = main.tensor([2, 1, 5], **pairs), main.tensor([2, 1, 5, 1], **pairs), main.tensor([5, 2], **pairs)
    main.add("SQUEEZE", [numbers], [lines], "SqueezeOptions", squeezeDims=[-2])
    main.add("EXPAND_DIMS", [lines, main.constant(-1, np.int32)], [columns])
    main.add("RESHAPE", [columns, main.constant([5, 2], np.int32)], [flat])
    main.outputs(main.new("CAST", [lines], [2, 1, 5], np.float32, "CastOptions", inDataType=TYPE.COMPLEX64, outDataType=TYPE.FLOAT32),
                 main.new("COMPLEX_ABS", [flat], [5, 2]))
    return file


SINGLE = {
    "reduce_any": lambda: single("REDUCE_ANY", [([3, 4, 2], B), I([1])], ([3, 2], B), "ReducerOptions"),
    "reduce_all": lambda: single("REDUCE_ALL", [([3, 4, 2], B), I([1])], ([3, 1, 2], B), "ReducerOptions", keepDims=True),
    "segment_sum": lambda: single("SEGMENT_SUM", [[5, 3], I([0, 0, 1, 2, 2])], ([3, 3], F)),
    "unsorted_segment_sum": lambda: single("UNSORTED_SEGMENT_SUM", [[5, 3], ([5], I), I(4)], ([4, 3], F)),
    "unsorted_segment_max": lambda: single("UNSORTED_SEGMENT_MAX", [[5, 3], ([5], I), I(4)], ([4, 3], F)),
    "unsorted_segment_min": lambda: single("UNSORTED_SEGMENT_MIN", [[5, 3], ([5], I), I(4)], ([4, 3], F)),
    "unsorted_segment_prod": lambda: single("UNSORTED_SEGMENT_PROD", [[5, 3], ([5], I), I(4)], ([4, 3], F)),
    "local_response_normalization": lambda: single("LOCAL_RESPONSE_NORMALIZATION", [[1, 3, 2, 7]], ([1, 3, 2, 7], F), "LocalResponseNormalizationOptions",
                                                   radius=2, bias=1.5, alpha=0.3, beta=0.75),
    "rank": lambda: single("RANK", [[3, 4, 2]], ([], I)),
    "broadcast_args": lambda: single("BROADCAST_ARGS", [I([3, 1, 5]), I([4, 1])], ([3], I)),
    "atan2": lambda: single("ATAN2", [[4, 5], [4, 5]], ([4, 5], F)),
    "fake_quant": lambda: single("FAKE_QUANT", [[4, 5]], ([4, 5], F), "FakeQuantOptions", min=-1.3, max=2.1, numBits=8, narrowRange=False),
    "l2_pool": lambda: single("L2_POOL_2D", [[1, 5, 4, 3]], ([1, 3, 2, 3], F), "Pool2DOptions", padding=0, strideW=2, strideH=2, filterWidth=2, filterHeight=3),
    "embedding_lookup": lambda: single("EMBEDDING_LOOKUP", [([4], I), np.arange(15, dtype=F).reshape(5, 3)], ([4, 3], F)),
    "bucketize": lambda: single("BUCKETIZE", [[4, 5]], ([4, 5], I), "BucketizeOptions", boundaries=[-1.0, 0.0, 1.5]),
    "sparse_to_dense": lambda: single("SPARSE_TO_DENSE", [I([[0, 1], [2, 3], [3, 0]]), I([4, 5]), ([3], F), F(-1)], ([4, 5], F), "SparseToDenseOptions"),
    "dynamic_update_slice": lambda: single("DYNAMIC_UPDATE_SLICE", [[1, 6, 3, 2], [1, 2, 3, 2], ([4], I)], ([1, 6, 3, 2], F), "DynamicUpdateSliceOptions"),
    "dynamic_update_slice_inner": lambda: single("DYNAMIC_UPDATE_SLICE", [[4, 6], [2, 3], ([2], I)], ([4, 6], F), "DynamicUpdateSliceOptions"),
    "select_rows": lambda: single("SELECT", [([4], B), [4, 3], [4, 3]], ([4, 3], F), "SelectOptions"),
    "where": lambda: single("WHERE", [([3, 4, 2], B)], ([24, 3], np.int64)),
    "where_list": lambda: single("WHERE", [([7], I)], ([7, 1], np.int64)),
    "where_rows": counted_rows,
    "unique": lambda: single("UNIQUE", [([9], I)], None, "UniqueOptions", outputs=[([9], I), ([9], I)], idxOutType=TYPE.INT32),
    "range": lambda: single("RANGE", [F(1.5), F(-2), F(-0.25)], ([14], F)),
    "range_integers": lambda: single("RANGE", [I(-3), I(12), I(4)], ([4], I)),
    "matrix_diag": lambda: single("MATRIX_DIAG", [[2, 3]], ([2, 3, 3], F)),
    "matrix_set_diag": lambda: single("MATRIX_SET_DIAG", [[2, 4, 3], [2, 3]], ([2, 4, 3], F)),
    "matrix_set_diag_wide": lambda: single("MATRIX_SET_DIAG", [([3, 5], I), ([3], I)], ([3, 5], I)),
    "hashtable_lookup": lambda: single("HASHTABLE_LOOKUP", [([5], I), I([0, 2, 5]), np.arange(6, dtype=F).reshape(3, 2) + F(1)], None,
                                       outputs=[([5, 2], F), ([5], np.uint8)]),
    "spectrum": lambda: spectrum("COMPLEX_ABS"),
    "spectrum_parts": lambda: spectrum("REAL", "IMAG"),
    "spectrum_moved": moved_spectrum,
    "conv_3d": lambda: volume(False),
    "conv_3d_transpose": lambda: volume(True),
    "stablehlo_add": lambda: single("STABLEHLO_ADD", [[3, 4], [3, 4]], ([3, 4], F)),
    "stablehlo_multiply": lambda: single("STABLEHLO_MULTIPLY", [[3, 4], [3, 4]], ([3, 4], F)),
    "stablehlo_maximum": lambda: single("STABLEHLO_MAXIMUM", [([3, 4], I), ([3, 4], I)], ([3, 4], I)),
    "stablehlo_minimum": lambda: single("STABLEHLO_MINIMUM", [[3, 4], [3, 4]], ([3, 4], F)),
    "stablehlo_and": lambda: single("STABLEHLO_AND", [([3, 4], B), ([3, 4], B)], ([3, 4], B)),
    "stablehlo_shift_left": lambda: single("STABLEHLO_SHIFT_LEFT", [([3, 4], I), ([3, 4], I)], ([3, 4], I)),
    "space_to_batch_of_lines": lambda: single("SPACE_TO_BATCH_ND", [[2, 5, 3], I([2]), I([[2, 1]])], ([4, 4, 3], F)),
    "batch_to_space_of_lines": lambda: single("BATCH_TO_SPACE_ND", [[6, 4, 2], I([3]), I([[1, 2]])], ([2, 9, 2], F)),
    "strided_slice_ellipsis": lambda: single("STRIDED_SLICE", [[2, 3, 4, 5], I([1, 0, 4]), I([2, 0, 0]), I([1, 1, -2])], ([1, 3, 4, 2], F),
                                             "StridedSliceOptions", ellipsisMask=2),
    "strided_slice_new_axes": lambda: single("STRIDED_SLICE", [[4, 3, 5], I([1, 0, 0, 2, 0]), I([3, 0, 0, 0, 0]), I([1, 1, 1, 1, 1])], ([2, 1, 3, 1], F),
                                             "StridedSliceOptions", ellipsisMask=4, newAxisMask=18, shrinkAxisMask=8),
    "gather_between": lambda: single("GATHER", [[2, 3, 4, 5], ([2, 3], I)], ([2, 3, 3, 5], F), "GatherOptions", axis=2, batchDims=1),
    "gather_batches": lambda: single("GATHER", [[2, 3, 4], ([2, 3, 2], I)], ([2, 3, 2], F), "GatherOptions", axis=2, batchDims=-1),
    "densify": densify,
    "detection": detection,
}

CASES = SINGLE | RECURRENT | {
    "if": lambda: choice(False),
    "if_constant": lambda: choice(True),
    "while": loop,
    "while_if": choice_in_loop,
    "variables": variables,
}
INPUTS = {"if": 2, "while": 2}  # vectors of one file; else one
GIVEN = {"while_if": [[np.int32(27)]]}  # inputs that are not random


def random_input(detail, rng, middle):
    if detail["dtype"] == np.float32:
        return rng.normal(middle, 2, detail["shape"]).astype(np.float32)
    if detail["dtype"] == np.int8:
        return rng.integers(-128, 128, detail["shape"]).astype(np.int8)
    return rng.integers(0, 3, detail["shape"]).astype(detail["dtype"])


def interpreter(content, name):
    """By the reference kernels; some operators have only the others, and the reference kernel of one leaves out its last channel."""
    others = [OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES]
    for resolver in others if name == "local_response_normalization" else [OpResolverType.BUILTIN_REF, *others]:
        try:
            made = Interpreter(model_content=content, experimental_op_resolver_type=resolver)
            made.allocate_tensors()
            return made
        except (RuntimeError, ValueError) as error:
            failure = error
    raise failure


def answers(content, name, inputs):
    made = interpreter(content, name)
    for detail, value in zip(made.get_input_details(), inputs):
        made.set_tensor(detail["index"], value)
    made.invoke()
    return [made.get_tensor(detail["index"]).copy() for detail in made.get_output_details()]


def main():
    folder = ROOT / "tests" / "import" / "litert_builtins"
    folder.mkdir(exist_ok=True)
    for name in sys.argv[1:] or CASES:
        content = CASES[name]().content()
        details = interpreter(content, name).get_input_details()
        for i in range(INPUTS.get(name, 1)):
            rng = np.random.default_rng([11, i])
            inputs = GIVEN[name][i] if name in GIVEN else [random_input(detail, rng, 1 - 2 * i) for detail in details]
            found = answers(content, name, inputs)
            if name == "detection":  # LiteRT leaves what it finds behind the boxes; Octavo writes zeros
                for value in found[:3]:
                    value[:, int(found[3][0]) :] = 0
            own = f"{name}_{i}" if i else name
            (folder / f"{own}.tflite").write_bytes(content)
            (folder / f"{own}.bin").write_bytes(b"".join(np.ascontiguousarray(value).tobytes() for value in [*inputs, *found]))
            print(own, [value.tolist() if value.size < 9 else value.shape for value in found])


if __name__ == "__main__":
    main()
