"""What a call costs beyond the kernels: a network of a microsecond shows little else."""

from __future__ import annotations

import timeit

import numpy as np

import octavo


def microseconds(call: object, times: int = 100) -> float:
    """The least of many means, as other processes only add to it."""
    return min(timeit.repeat(call, number=times, repeat=300)) / times * 1e6  # type: ignore[arg-type]


def test_calls_cost_microseconds(tiny: bytes) -> None:
    model = octavo.compile(tiny, precision="fp32", threads=1)
    x, y = np.ones((1, 16), np.float32), np.empty((1, 4), np.float32)
    bound = model.bind({"x": x})
    told = {
        "bound": microseconds(bound),
        "out=": microseconds(lambda: model(x, out=y)),
        "new output": microseconds(lambda: model(x)),
        "by name": microseconds(lambda: model.run({"x": x})),
    }
    print({name: round(value, 2) for name, value in told.items()})
    assert told["bound"] <= 10 and max(told.values()) <= 25, told
