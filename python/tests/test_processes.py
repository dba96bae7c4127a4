"""Threads, forks, Ctrl-C, and what does not grow."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import onnx_file
import pytest

import octavo


def test_threads_run_at_the_same_time(int8: octavo.Model, digits_samples: np.ndarray) -> None:
    expected = [int8(digits_samples[i : i + 1]) for i in range(32)]

    def answers(first: int) -> list[np.ndarray]:
        return [int8(digits_samples[(first + i) % 32 : (first + i) % 32 + 1]) for i in range(100)]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for first, got in zip(range(8), pool.map(answers, range(8))):
            for i, each in enumerate(got):
                np.testing.assert_array_equal(each, expected[(first + i) % 32])


def test_the_gil_is_released_while_compiling(digits: str, digits_samples: np.ndarray) -> None:
    samples = np.concatenate([digits_samples] * 10)
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    octavo.compile(digits, samples)
    done.set()
    thread.join()
    assert counted > 20


def test_a_bound_model_is_for_one_thread(int8: octavo.Model, digits_samples: np.ndarray) -> None:
    bounds = [int8.bind({"image": digits_samples[i : i + 1]}) for i in range(4)]
    expected = [int8(digits_samples[i : i + 1]) for i in range(4)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda bound: [bound() for _ in range(100)], bounds))
    for bound, each in zip(bounds, expected):
        np.testing.assert_array_equal(bound.outputs["logits"], each)


def _answer_in_child(model: octavo.Model, x: np.ndarray, connection: object) -> None:
    connection.send(model(x))  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_model_works_in_processes_made_of_this_one(int8: octavo.Model, digits_samples: np.ndarray, method: str) -> None:
    x = digits_samples[:1]
    expected = int8(x)
    context = multiprocessing.get_context(method)
    for _ in range(2):
        ours, theirs = context.Pipe()
        child = context.Process(target=_answer_in_child, args=(int8, x, theirs))
        child.start()
        assert ours.poll(60), "no answer of the child"
        np.testing.assert_array_equal(ours.recv(), expected)
        child.join()
        assert child.exitcode == 0
    np.testing.assert_array_equal(int8(x), expected)


class Answers:
    """What a data set of torch needs: the model's answer of every picture."""

    def __init__(self, model: octavo.Model, images: np.ndarray) -> None:
        self.model, self.images = model, images

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, at: int) -> np.ndarray:
        answer: np.ndarray = self.model(self.images[at : at + 1])
        return answer


@pytest.mark.long
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_model_works_in_workers_of_a_loader(int8: octavo.Model, digits_samples: np.ndarray, method: str) -> None:
    data = pytest.importorskip("torch.utils.data", reason="needs torch")
    images = np.ascontiguousarray(digits_samples[:16])
    expected = [int8(image[None]) for image in images]
    loader = data.DataLoader(Answers(int8, images), batch_size=4, num_workers=2, multiprocessing_context=method)
    found = np.concatenate([batch.numpy() for batch in loader])
    np.testing.assert_array_equal(found, np.stack(expected))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_bound_model_works_after_a_fork(int8: octavo.Model, digits_samples: np.ndarray) -> None:
    bound = int8.bind({"image": digits_samples[:1]})
    child = os.fork()
    if child == 0:
        good = np.array_equal(bound()["logits"], int8(digits_samples[:1]))
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    bound()


def test_another_thread_ends_a_run() -> None:
    model = octavo.load(octavo.compile(onnx_file.loop(), precision="fp32").to_bytes(), max_iterations=1 << 60)
    x, stop = np.zeros(4, np.float32), octavo.Stop()
    timer = threading.Timer(0.05, stop.request)
    timer.start()
    with pytest.raises(octavo.CancelledError, match="a request to stop"):
        model.run({"x": x, "trips": np.array(1 << 60)}, stop=stop)
    timer.join()
    with pytest.raises(octavo.CancelledError):
        model.run({"x": x, "trips": np.array(2)}, stop=stop)
    stop.clear()
    np.testing.assert_array_equal(model.run({"x": x, "trips": np.array(2)}, stop=stop)["y"], x + 2)


def test_what_is_stopped_runs_again(tiny_model: octavo.Model) -> None:
    x, stop = np.ones((1, 16), np.float32), octavo.Stop()
    bound = tiny_model.bind({"x": x})
    expected = bound.outputs["y"].copy()
    stop.request()
    for work in (lambda: bound(stop), lambda: bound.run(stop), lambda: tiny_model.run({"x": x}, stop=stop)):
        with pytest.raises(octavo.CancelledError):
            work()
    stop.clear()
    bound.outputs["y"][:] = 0
    np.testing.assert_array_equal(bound(stop)["y"], expected)
    np.testing.assert_array_equal(tiny_model.run({"x": x}, stop=stop)["y"], expected)


def test_ctrl_c_stops_long_work(digits: str) -> None:
    script = f"""
        import numpy, octavo, signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background of a shell
        samples = numpy.random.default_rng(1).standard_normal((20000, 1, 8, 8), dtype=numpy.float32)
        def tell(phase, done, total):
            if phase == "calibrating":
                print("working", flush=True)
        try:
            octavo.compile({digits!r}, samples, progress=tell)
        except KeyboardInterrupt:
            sys.exit(42)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        assert process.wait(60) == 42
        assert time.monotonic() - start < 10


def test_memory_does_not_grow(tiny_model: octavo.Model) -> None:
    x = np.ones((1, 16), np.float32)
    feeds = {tiny_model.inputs[0].name: x}
    bound = tiny_model.bind(feeds)

    def call(times: int) -> None:
        for _ in range(times):
            tiny_model(x)
            tiny_model.run(feeds)
            bound()

    call(10_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    call(100_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048  # KB


def test_contexts_do_not_pile_up(int8: octavo.Model, digits_samples: np.ndarray) -> None:
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: int8(digits_samples[i : i + 1]), range(100)))
    most = int8.memory_bytes
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: int8(digits_samples[i : i + 1]), range(100)))
    assert int8.memory_bytes <= 2 * most + (1 << 20)


def test_importing_is_quick() -> None:
    def seconds(code: str) -> float:
        """Of the processor: others may use it, too."""
        times = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", code], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(times)

    own = seconds("import numpy, octavo") - seconds("import numpy")
    print(f"{own * 1e3:.0f} ms beyond numpy's")
    assert own < 0.1


def test_nothing_large_is_imported() -> None:
    code = "import octavo, sys; print([m for m in ('torch', 'onnx', 'tqdm', 'onnxruntime', 'IPython') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == "[]"
