"""Makes the files of this folder: a small network that tensorflow_model_optimization trained with quantization.

    pip install tensorflow-cpu==2.21.0 tensorflow-model-optimization==0.8.1 tf_keras==2.21.0
    python tests/import/tfmot/make.py

`digits.tflite` is what TensorFlow's converter makes of it. `expected.npz`: pictures x, LiteRT's answers y by its default kernels, and the
range [least, largest] that training found for the results.
"""

import os
import pathlib

os.environ["TF_USE_LEGACY_KERAS"] = "1"  # which tensorflow_model_optimization works on

import numpy as np
import tensorflow as tf
import tensorflow_model_optimization as tfmot
import tf_keras as keras

FOLDER = pathlib.Path(__file__).parent


def trained(x: np.ndarray, labels: np.ndarray) -> keras.Model:
    """In floats, then with quantization."""
    layers = keras.layers
    net = keras.Sequential(
        [
            layers.InputLayer((8, 8, 1)),
            layers.Conv2D(12, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.DepthwiseConv2D(3, padding="same"),
            layers.ReLU(6.0),
            layers.Conv2D(16, 3, strides=2, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    net.compile("adam", loss)
    net.fit(x, labels, epochs=20, batch_size=32, verbose=0)
    quantized = tfmot.quantization.keras.quantize_model(net)
    quantized.compile("adam", loss)
    quantized.fit(x, labels, epochs=5, batch_size=32, verbose=0)
    return quantized


def main() -> None:
    keras.utils.set_random_seed(1)
    with np.load(FOLDER / "../../../examples/digits/test.npz") as arrays:
        x, labels = (arrays["images"].astype(np.float32) - 127.5) / 127.5, arrays["labels"]
    net = trained(x[:500], labels[:500])
    converter = tf.lite.TFLiteConverter.from_keras_model(net)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    file = converter.convert()
    (FOLDER / "digits.tflite").write_bytes(file)
    interpreter = tf.lite.Interpreter(model_content=file)
    interpreter.allocate_tensors()
    given, answers = interpreter.get_input_details()[0]["index"], []
    for picture in x[-64:]:
        interpreter.set_tensor(given, picture[None])
        interpreter.invoke()
        answers.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0].copy())
    ends = {each.name: each.numpy() for each in net.layers[-1].weights if "post_activation" in each.name}
    bounds = [next(value for name, value in ends.items() if end in name) for end in ("_min", "_max")]
    np.savez_compressed(FOLDER / "expected.npz", x=x[-64:], y=np.stack(answers), range=np.array(bounds, np.float32))
    print(f"{(np.stack(answers).argmax(1) == labels[-64:]).sum()} of 64 right")


if __name__ == "__main__":
    main()
