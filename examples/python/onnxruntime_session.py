"""A script for ONNX Runtime that runs on Octavo: the import is all that changed. Quantizes the digits network and
counts right answers.

python examples/python/onnxruntime_session.py"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from octavo import onnxruntime
from octavo.onnxruntime import quantization

DIGITS = Path(__file__).resolve().parents[1] / "digits"


def as_inputs(images: np.ndarray) -> np.ndarray:
    """u8 [N, 8, 8, 1] as what the network takes."""
    return ((images.astype(np.float32) - np.float32(127.5)) / np.float32(127.5)).reshape(-1, 1, 8, 8)


class DigitsReader(quantization.CalibrationDataReader):
    """The calibration samples, one after the other."""

    def __init__(self) -> None:
        self.images = iter(as_inputs(np.load(DIGITS / "calibration.npz")["images"]))

    def get_next(self) -> dict[str, np.ndarray] | None:
        image = next(self.images, None)
        return None if image is None else {"image": image[None]}


def right_answers(model: str, images: np.ndarray, labels: np.ndarray) -> int:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {session.get_inputs()[0].name: images})
    return int((scores.argmax(1) == labels).sum())


def main() -> None:
    test = np.load(DIGITS / "test.npz")
    images, labels = as_inputs(test["images"]), test["labels"]
    fp32 = str(DIGITS / "digits.onnx")
    with tempfile.TemporaryDirectory() as folder:
        int8 = f"{folder}/digits.qdq.onnx"
        quantization.quantize_static(fp32, int8, DigitsReader())
        right = [right_answers(model, images, labels) for model in (fp32, int8)]
    print(f"right of {len(labels)}: {right[0]} in fp32, {right[1]} in int8")
    assert right[1] > 0.95 * right[0]


if __name__ == "__main__":
    main()
