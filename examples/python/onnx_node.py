"""One operator of ONNX on Octavo, by onnx's backend interface. Needs the onnx package.

python examples/python/onnx_node.py"""

from __future__ import annotations

import numpy as np
from onnx import helper

from octavo import onnx_backend


def main() -> None:
    pixels = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    (pooled,) = onnx_backend.run_node(node, [pixels])
    print(pooled[0, 0])
    assert pooled.ravel().tolist() == [5, 7, 13, 15]


if __name__ == "__main__":
    main()
