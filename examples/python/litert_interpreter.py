"""A script for LiteRT that runs on Octavo: the import is all that changed. Tells the ends of a TFLite file and runs
it on random values.

python examples/python/litert_interpreter.py [MODEL.tflite]"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from octavo.litert import Interpreter

SMALL = Path(__file__).resolve().parents[2] / "tests/import/litert/conv_s8.tflite"


def main(path: str) -> None:
    interpreter = Interpreter(model_path=path)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        print("input ", detail["name"], detail["shape"], detail["dtype"].__name__, detail["quantization"])
        values = np.random.default_rng(1).integers(0, 100, detail["shape"])
        interpreter.set_tensor(detail["index"], values.astype(detail["dtype"]))
    interpreter.invoke()
    for detail in interpreter.get_output_details():
        result = interpreter.get_tensor(detail["index"])
        print(
            "output",
            detail["name"],
            detail["shape"],
            detail["dtype"].__name__,
            detail["quantization"],
            f"mean {result.mean():.3f}",
        )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(SMALL))
