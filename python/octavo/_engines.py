"""Other engines, run as their users run them: sessions of files, and their times in turns. Needs the engine's package alone."""

from __future__ import annotations

import os
import statistics
import time
from typing import Any, Callable, Mapping, Sequence

import numpy as np

#: By the names that `octavo diagnose --engine` has.
PACKAGES = {"ort": "onnxruntime", "litert": "ai_edge_litert"}


def engine_of(path: str) -> str:
    """Of a file whose reader says no other."""
    return "litert" if os.fspath(path).endswith(".tflite") else "ort"


def version_of(engine: str) -> str:
    """ "onnxruntime 1.32.0"; raises ImportError where the package is not installed."""
    from importlib import import_module

    module = import_module(PACKAGES[engine])
    return f"{PACKAGES[engine]} {getattr(module, '__version__', '')}".strip()


def random_values(shape: Sequence[Any], dtype: Any, seed: int) -> np.ndarray[Any, Any]:
    """Seeded; sizes that are open are 1, integers are small and not negative."""
    sizes = [extent if isinstance(extent, int) and extent > 0 else 1 for extent in shape]
    random = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.floating):
        return random.standard_normal(sizes).astype(dtype)
    if dtype == np.int8:
        return random.integers(-128, 128, sizes).astype(dtype)
    return random.integers(0, 256 if dtype == np.uint8 else 2, sizes).astype(dtype)


class OrtSession:
    """A file in ONNX Runtime, on its CPU provider, with inputs."""

    TYPES = {"tensor(float)": np.float32, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8, "tensor(int64)": np.int64, "tensor(int32)": np.int32}

    def __init__(self, path: str, threads: int, batch: int = 1, optimized: str | None = None, is_profiled: bool = False) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        # Threads that spin between runs would take the cores from the next one in the rotation.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        if optimized is not None:
            options.optimized_model_filepath = optimized
        options.enable_profiling = is_profiled
        if is_profiled:
            options.profile_file_prefix = os.path.splitext(path)[0] + "_profile"
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._inputs = {}
        for index, each in enumerate(self._session.get_inputs()):
            shape = [batch if at == 0 and not isinstance(extent, int) else extent for at, extent in enumerate(each.shape)]
            self._inputs[each.name] = random_values(shape, self.TYPES.get(each.type, np.float32), index)

    def run(self) -> list[np.ndarray[Any, Any]]:
        return list(self._session.run(None, self._inputs))

    def end_profile(self) -> str:
        """The path of the profile."""
        return str(self._session.end_profiling())


class LitertSession:
    """A file in LiteRT's interpreter, with inputs; XNNPACK as the package has it."""

    def __init__(self, path: str, threads: int, batch: int = 1) -> None:
        from ai_edge_litert.interpreter import Interpreter

        self._interpreter = Interpreter(model_path=os.fspath(path), num_threads=threads)
        self._interpreter.allocate_tensors()
        for index, each in enumerate(self._interpreter.get_input_details()):
            self._interpreter.set_tensor(each["index"], random_values(each["shape"].tolist(), each["dtype"], index))

    def run(self) -> list[np.ndarray[Any, Any]]:
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(each["index"]) for each in self._interpreter.get_output_details()]


SESSIONS: dict[str, Any] = {"ort": OrtSession, "litert": LitertSession}


def in_turns(runs: Mapping[str, Callable[[], Any]], seconds: float = 0.5, turns: int = 6, least: int = 3) -> dict[str, list[float]]:
    """Times in ms by name: every turn runs each for so many seconds, another one first each time, so that what else the machine
    does meets all alike. A run before them in each turn is not timed."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    for turn in range(turns):
        at = turn % len(names)
        for name in names[at:] + names[:at]:
            run, end, count = runs[name], time.perf_counter() + seconds, 0
            run()
            while count < least or time.perf_counter() < end:
                start = time.perf_counter()
                run()
                times[name].append((time.perf_counter() - start) * 1e3)
                count += 1
    return times


def summary(times: Sequence[float]) -> dict[str, Any]:
    return {"min_ms": min(times), "median_ms": statistics.median(times), "runs": len(times)}


def sqnr_db(reference: Sequence[Any], other: Sequence[Any]) -> float | None:
    """Signal to noise of the output that differs most; None where all are equal."""
    worst = None
    for a, b in zip(reference, other):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        noise = float(((a - b) ** 2).sum())
        if noise == 0:
            continue
        ratio = float((a**2).sum()) / noise
        found = 10 * float(np.log10(ratio)) if ratio > 0 else -999.0
        worst = found if worst is None else min(worst, found)
    return worst
