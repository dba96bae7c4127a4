"""Which options, and which layers in fp32, for how much accuracy: a search that any number of machines may share.

    pip install octavo[search]
    python examples/python/search.py [SCHEDULER]

SCHEDULER is the address of a Dask scheduler (`dask scheduler`, then on other machines `dask worker ADDRESS`, and on
those that take times `dask worker ADDRESS --resources bench=1`); without it two processes of this machine do the work.
Run it again to go on, also after Ctrl-C or worse.
"""

import sys
from pathlib import Path

import numpy as np

import octavo

FOLDER = Path(__file__).resolve().parents[1] / "digits"


def inputs_of(images: np.ndarray) -> np.ndarray:
    """u8 [N, 8, 8, 1] as the network takes them: f32 [N, 1, 8, 8] in -1..1."""
    return (images.astype(np.float32) / np.float32(127.5) - 1).reshape(-1, 1, 8, 8)


def log_likelihood(logits: np.ndarray, labels: np.ndarray) -> float:
    """The mean of what the network gives the right answers: finer than counting them."""
    exact = logits.astype(np.float64)
    sums = np.log(np.sum(np.exp(exact - exact.max(1, keepdims=True)), 1)) + exact.max(1)
    return float(np.mean(exact[np.arange(len(labels)), labels] - sums))


def main() -> None:
    workers: object = 2
    if len(sys.argv) > 1:
        from dask.distributed import Client

        workers = Client(sys.argv[1])
    test = np.load(FOLDER / "test.npz")
    calibration = inputs_of(np.load(FOLDER / "calibration.npz")["images"])
    found = octavo.search(
        FOLDER / "digits.onnx",
        [(inputs_of(test["images"]), test["labels"])],
        log_likelihood,
        calibrate=calibration,
        max_drop=0.001,
        trials=32,
        storage="digits-search.log",
        workers=workers,
        threads=1,
    )
    print(found)
    found.save("digits-search.html")
    found.model.save("digits.octv")


if __name__ == "__main__":  # workers are processes that import this file
    main()
