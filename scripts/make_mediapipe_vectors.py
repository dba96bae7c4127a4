"""Makes tests/import/mediapipe: small .tflite files of MediaPipe's custom operators, with what MediaPipe itself answers.

    python scripts/make_mediapipe_vectors.py

NAME.bin holds the input of NAME.tflite, an image of floats, and the outputs in order: raw bytes. Needs a virtual environment of its own, since MediaPipe
wants an older numpy: pip install "numpy<2" "protobuf<5" absl-py attrs matplotlib opencv-python-headless flatbuffers &&
pip install --no-deps mediapipe==0.10.14 ai-edge-litert==2.3.0
"""

import pathlib
import struct
import sys

import numpy as np
from flatbuffers import flexbuffers

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "compare"))
from litert_operators import CODE, Model, filled  # noqa: E402
from mediapipe_answers import answers  # noqa: E402

SAME, VALID = 1, 2  # of the C structs in which the older operators keep their options
RELU = 1


def custom(model, name, inputs, shapes, options, version=1):
    """The indices of the results, which are not yet outputs."""
    made = [model.tensor(f"{name}{len(model.subgraph.tensors)}", "f32", shape) for shape in shapes]
    model.operator(CODE.CUSTOM, inputs, made, version=version, custom=name, custom_options=options)
    return made


def flex(options):
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in options.items():
            builder.Key(name)
            builder.TypedVectorFromElements(value) if isinstance(value, list) else builder.Add(value)
    return builder.Finish()


def reshape(model, x, shape):
    made = model.tensor(f"reshaped{len(model.subgraph.tensors)}", "f32", shape)
    options, kind = filled("ReshapeOptions", newShape=list(shape))
    model.operator(CODE.RESHAPE, [x, model.tensor(f"shape{made}", "s32", [len(shape)], data=shape)], made, options, kind)
    return made


def transposed_conv(rng, image, filters, padding, strides):
    model = Model()
    weights = model.tensor("w", "f32", filters, data=rng.standard_normal(filters))
    bias = model.tensor("b", "f32", filters[:1], data=rng.standard_normal(filters[:1]))
    pads = [max(0, k - (size - 1) % s - 1) if padding == SAME else 0 for k, size, s in zip(filters[1:3], image[1:3], strides)]
    sizes = [s * (size - 1) + k - pad for k, size, s, pad in zip(filters[1:3], image[1:3], strides, pads)]
    options = struct.pack("<3i", padding, strides[1], strides[0])
    custom(model, "Convolution2DTransposeBias", [model.input("x", "f32", image), weights, bias], [[1, *sizes, filters[0]]], options)
    return model


def pool_options(padding, strides, window, activation=0):
    return struct.pack("<10i", padding, strides[1], strides[0], window[1], window[0], activation, 0, 0, 0, 0)


def pool(image, padding, strides, window, activation):
    model = Model()
    sizes = [-(-size // s) if padding == SAME else (size - k + s) // s for size, s, k in zip(image[1:3], strides, window)]
    custom(model, "MaxPoolingWithArgmax2D", [model.input("x", "f32", image)], [[1, *sizes, image[3]]] * 2, pool_options(padding, strides, window, activation))
    return model


def unpool(image, window):
    model = Model()
    small = [1, image[1] // window[0], image[2] // window[1], image[3]]
    options = pool_options(SAME, window, window)
    pooled = custom(model, "MaxPoolingWithArgmax2D", [model.input("x", "f32", image)], [small] * 2, options)
    custom(model, "MaxUnpooling2D", pooled, [image], options)
    return model


def landmarks(image, subset, **more):
    """A matrix from the image as landmarks, and the image and the landmarks moved by it."""
    model, count = Model(), image[1] * image[2]
    x = model.input("x", "f32", image)
    points = reshape(model, x, [1, count, 3])
    options = {"subset_idxs": subset, "output_height": 6, "output_width": 5} | more
    matrix = custom(model, "Landmarks2TransformMatrix", [points], [[1, 4, 4]], flex(options), 2)
    sizes = flex({"output_height": 6, "output_width": 5})
    moved = custom(model, "TransformTensorBilinear", [x, *matrix], [[1, 6, 5, 3]], sizes, 2)
    pairs = reshape(model, points, [1, count * 3 // 2, 2])
    made = [*matrix, *moved, *custom(model, "TransformLandmarks", [points, *matrix], [[1, count, 3]], None, 2),
            *custom(model, "TransformLandmarks", [pairs, *matrix], [[1, count * 3 // 2, 2]], None, 2)]
    model.subgraph.outputs = made
    return model


def models(rng):
    """name -> (model, lowest and highest value of the input)"""
    turned = {"left_rotation_idx": 5, "right_rotation_idx": 40, "scale_x": 1.5, "scale_y": 1.25}
    return {
        "transposed_conv_same": (transposed_conv(rng, [1, 5, 4, 3], [2, 3, 3, 3], SAME, (2, 2)), -2, 2),
        "transposed_conv_uneven": (transposed_conv(rng, [1, 4, 5, 3], [3, 2, 4, 3], SAME, (2, 3)), -2, 2),
        "transposed_conv_valid": (transposed_conv(rng, [1, 3, 4, 3], [2, 3, 2, 3], VALID, (2, 1)), -2, 2),
        "max_pool_same": (pool([1, 5, 7, 3], SAME, (2, 2), (3, 2), RELU), -2, 2),
        "max_pool_valid": (pool([1, 6, 7, 3], VALID, (2, 1), (3, 2), 0), -2, 2),
        "max_unpool": (unpool([1, 4, 6, 3], (2, 3)), -2, 2),
        "landmarks": (landmarks([1, 8, 8, 3], [3, 17, 22, 40, 61], target_rotation_radians=0.0, **turned), 0, 8),
        "landmarks_turned": (landmarks([1, 8, 8, 3], [3, 17, 22, 40], target_rotation_radians=0.75, **turned), 0, 8),
    }


def main():
    folder = ROOT / "tests" / "import" / "mediapipe"
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(7)
    for name, (model, low, high) in models(rng).items():
        path = folder / f"{name}.tflite"
        model.save(path)
        _, height, width, _ = model.subgraph.tensors[model.subgraph.inputs[0]].shape
        image = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        found = answers(path, image, (low, high), len(model.subgraph.outputs))
        (folder / f"{name}.bin").write_bytes(b"".join(value.tobytes() for value in found))
        print(name, [value.size for value in found], *(np.round(value[:16], 3) for value in found[1:2]), file=sys.stderr)


if __name__ == "__main__":
    main()
