"""Handwritten digits from Python: an fp32 ONNX file becomes int8, is judged, timed and used.

    pip install octavo
    python examples/python/digits.py
"""

from pathlib import Path

import numpy as np

import octavo

FOLDER = Path(__file__).resolve().parents[1] / "digits"


def inputs_of(images: np.ndarray) -> np.ndarray:
    """u8 [N, 8, 8, 1] as the network takes them: f32 [N, 1, 8, 8] in -1..1."""
    return (images.astype(np.float32) / np.float32(127.5) - 1).reshape(-1, 1, 8, 8)


def main() -> None:
    calibration = np.load(FOLDER / "calibration.npz")["images"]
    test = np.load(FOLDER / "test.npz")
    images, labels = inputs_of(test["images"]), test["labels"]

    model = octavo.compile(FOLDER / "digits.onnx", (inputs_of(each) for each in calibration))
    print(model)
    right = sum(int(model(image[None]).argmax()) == label for image, label in zip(images, labels))
    print(f"{right} of {len(labels)} digits are right in int8")

    print(octavo.evaluate(FOLDER / "digits.onnx", model, images=zip(images, labels)))
    print(octavo.bench(FOLDER / "digits.onnx", model, seconds=1))

    bound = model.bind({"image": images[:1].copy()})  # for the shortest calls: arrays that stay where they are
    print(bound()["logits"])


if __name__ == "__main__":
    main()
