"""Scripts as ONNX Runtime's pages on its Python API write them. Each takes the module, `onnxruntime` or
`octavo.onnxruntime`, and gives what it found, which has to be the same with both."""

from __future__ import annotations

import importlib
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable

import numpy as np

Found = dict[str, Any]
CPU = ["CPUExecutionProvider"]


class Files:
    """What the scripts read and write."""

    def __init__(self, folder: Path, digits: str, images: np.ndarray, models: dict[str, bytes]) -> None:
        self.folder = folder
        self.digits = digits  #: a path; f32 [batch, 1, 8, 8] -> [batch, 10]
        self.images = images  #: of it
        self.models = models  #: bytes by name


def load_and_predict(rt: Any, files: Files) -> Found:
    sess = rt.InferenceSession(files.digits, providers=rt.get_available_providers())
    input_name = sess.get_inputs()[0].name
    label_name = sess.get_outputs()[0].name
    scores = sess.run([label_name], {input_name: files.images[:5]})[0]
    return {"names": [input_name, label_name], "scores": scores}


def inputs_and_outputs(rt: Any, files: Files) -> Found:
    found = {}
    for name, content in files.models.items():
        sess = rt.InferenceSession(content, providers=CPU)
        for side, ends in (("inputs", sess.get_inputs()), ("outputs", sess.get_outputs())):
            found[f"{name}.{side}"] = [(each.name, each.type, each.shape) for each in ends]
        found[f"{name}.overridable"] = [each.name for each in sess.get_overridable_initializers()]
    found["text"] = str(sess.get_inputs()[0])
    return found


def metadata(rt: Any, files: Files) -> Found:
    found = {}
    for name, model in {"digits": files.digits, "described": files.models["described"]}.items():
        meta = rt.InferenceSession(model, providers=CPU).get_modelmeta()
        for key in (
            "custom_metadata_map",
            "description",
            "domain",
            "graph_description",
            "graph_name",
            "producer_name",
            "version",
        ):
            found[f"{name}.{key}"] = getattr(meta, key)
    return found


def _raised(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def common_errors(rt: Any, files: Files) -> Found:
    from_state = importlib.import_module(rt.__name__ + ".capi.onnxruntime_pybind11_state")
    sess = rt.InferenceSession(files.models["product"], providers=CPU)
    x = np.ones((2, 16), np.float32)
    calls = {
        "float64 for float32": lambda: sess.run(None, {"x": x.astype(np.float64)}),
        "unknown output": lambda: sess.run(["nope"], {"x": x}),
        "unknown input": lambda: sess.run(None, {"x": x, "nope": x}),
        "another size": lambda: sess.run(None, {"x": x[:, :15]}),
        "another rank": lambda: sess.run(None, {"x": x[None]}),
        "no file": lambda: rt.InferenceSession(str(files.folder / "nope.onnx"), providers=CPU),
        "no model": lambda: rt.InferenceSession(b"junk", providers=CPU),
        "neither path nor bytes": lambda: rt.InferenceSession(3, providers=CPU),
        "a name for names": lambda: sess.run("y", {"x": x}),
    }
    found = {what: _raised(call) for what, call in calls.items()}
    try:
        sess.run(["nope"], {"x": x})
    except from_state.InvalidArgument:
        found["caught by its name"] = True
    try:
        sess.run(None, {})
    except ValueError:
        found["missing input is a ValueError"] = True
    return found


def session_options(rt: Any, files: Files) -> Found:
    options = rt.SessionOptions()
    found = {
        "threads": options.intra_op_num_threads,
        "level": options.graph_optimization_level.name,
        "mode": options.execution_mode.name,
    }
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.graph_optimization_level = rt.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.execution_mode = rt.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    options.enable_mem_pattern = False
    options.enable_cpu_mem_arena = False
    options.add_session_config_entry("session.set_denormal_as_zero", "0")
    sess = rt.InferenceSession(files.digits, sess_options=options, providers=CPU)
    kept = sess.get_session_options()
    found |= {
        "kept": (kept.intra_op_num_threads, kept.graph_optimization_level.name),
        "entry": options.get_session_config_entry("session.set_denormal_as_zero"),
    }
    found["unknown entry"] = _raised(lambda: options.get_session_config_entry("nope"))
    found["unknown attribute"] = _raised(lambda: setattr(options, "nope", 1))
    found["wrong type"] = _raised(lambda: setattr(options, "intra_op_num_threads", "two"))
    found["scores"] = sess.run(None, {"image": files.images[:2]})[0]
    return found


def from_bytes_with_open_batch(rt: Any, files: Files) -> Found:
    with open(files.digits, "rb") as file:
        sess = rt.InferenceSession(file.read(), providers=CPU)
    return {str(batch): sess.run(None, {"image": files.images[:batch]})[0] for batch in (1, 7, 0, 3, 64)}


def closed_dimensions(rt: Any, files: Files) -> Found:
    options = rt.SessionOptions()
    options.add_free_dimension_override_by_name("n", 3)
    sess = rt.InferenceSession(files.models["sum"], options, providers=CPU)
    a = np.arange(6, dtype=np.float32).reshape(3, 2)
    shapes = [each.shape for each in (*sess.get_inputs(), *sess.get_outputs())]
    options = rt.SessionOptions()
    options.add_free_dimension_override_by_name("k", 2)
    half = rt.InferenceSession(files.models["open_sum"], options, providers=CPU)
    shapes += [each.shape for each in (*half.get_inputs(), *half.get_outputs())]
    return {
        "shapes": shapes,
        "half": half.run(["s"], {"a": a, "b": a * 2})[0],
        "sum": sess.run(["s"], {"a": a, "b": a * 2})[0],
        "other": _raised(lambda: sess.run(None, {"a": a[:2], "b": a[:2]})),
    }


def chosen_outputs(rt: Any, files: Files) -> Found:
    sess = rt.InferenceSession(files.models["sum"], providers=CPU)
    feed = {"b": np.full((2, 2), 3, np.float32), "a": np.ones((2, 2), np.float32)}
    return {
        "all": sess.run(None, feed),
        "empty": sess.run([], feed),
        "second": sess.run(["d"], feed),
        "swapped": sess.run(["d", "s"], feed),
        "twice": sess.run(("s", "s"), feed),
    }


def types_of_arrays(rt: Any, files: Files) -> Found:
    found = {}
    for name, dtype in {
        "int64": np.int64,
        "double": np.float64,
        "bool": np.bool_,
        "float16": np.float16,
        "uint8": np.uint8,
    }.items():
        sess = rt.InferenceSession(files.models[f"twice_{name}"], providers=CPU)
        x = np.array([[0, 1, 2]]).astype(dtype)
        found[name] = sess.run(None, {sess.get_inputs()[0].name: x})[0]
        found[f"{name}.type"] = sess.get_inputs()[0].type
    return found


def lists_and_views(rt: Any, files: Files) -> Found:
    sess = rt.InferenceSession(files.models["product"], providers=CPU)
    wide = np.arange(64, dtype=np.float32).reshape(2, 32) / 64
    return {
        "lists of numbers": sess.run(None, {"x": [[0.5] * 16]})[0],
        "every other": sess.run(None, {"x": wide[:, ::2]})[0],
        "columns first": sess.run(None, {"x": np.asfortranarray(wide[:, :16])})[0],
    }


def bound_to_the_cpu(rt: Any, files: Files) -> Found:
    sess = rt.InferenceSession(files.models["product"], providers=CPU)
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(2, 16)
    binding = sess.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y")
    sess.run_with_iobinding(binding)
    first = binding.copy_outputs_to_cpu()[0]
    x *= -2
    sess.run_with_iobinding(binding)
    return {
        "first": first,
        "in place": binding.copy_outputs_to_cpu()[0],
        "values": [each.numpy() for each in binding.get_outputs()],
    }


def bound_to_memory(rt: Any, files: Files) -> Found:
    sess = rt.InferenceSession(files.models["product"], providers=CPU)
    x, y = np.linspace(-1, 1, 48, dtype=np.float32).reshape(3, 16), np.zeros((3, 4), np.float32)
    binding = sess.io_binding()
    binding.bind_input(
        name="x", device_type="cpu", device_id=0, element_type=np.float32, shape=x.shape, buffer_ptr=x.ctypes.data
    )
    binding.bind_output(
        name="y", device_type="cpu", device_id=0, element_type=np.float32, shape=y.shape, buffer_ptr=y.ctypes.data
    )
    found: Found = {}
    for run in range(4):
        x *= -1.5
        sess.run_with_iobinding(binding)
        found[f"run {run}"] = y.copy()
    wrong = np.zeros((3, 5), np.float32)
    binding.bind_output("y", "cpu", 0, np.float32, wrong.shape, wrong.ctypes.data)
    found["wrong shape"] = isinstance(_caught(lambda: sess.run_with_iobinding(binding)), RuntimeError)
    return found


def _caught(call: Callable[[], Any]) -> Exception | None:
    try:
        call()
    except Exception as error:
        return error
    return None


def bound_again(rt: Any, files: Files) -> Found:
    sess = rt.InferenceSession(files.models["product"], providers=CPU)
    binding = sess.io_binding()
    found: Found = {"nothing bound": isinstance(_caught(lambda: sess.run_with_iobinding(binding)), RuntimeError)}
    found["unknown input"] = isinstance(_caught(lambda: binding.bind_cpu_input("nope", np.ones(1))), RuntimeError)
    binding.bind_output("nope")
    found["unknown output"] = isinstance(_caught(lambda: sess.run_with_iobinding(binding)), RuntimeError)
    binding.clear_binding_outputs()
    for rows in (2, 5):
        binding.bind_cpu_input("x", np.ones((rows, 16), np.float32))
        binding.bind_output("y")
        sess.run_with_iobinding(binding)
        found[str(rows)] = binding.copy_outputs_to_cpu()[0]
    binding.bind_cpu_input("x", np.ones((7, 16), np.float32))
    found["kept output of another size"] = isinstance(_caught(lambda: sess.run_with_iobinding(binding)), RuntimeError)
    binding.clear_binding_outputs()
    found["cleared"] = binding.get_outputs()
    return found


def one_output_bound(rt: Any, files: Files) -> Found:
    sess = rt.InferenceSession(files.models["sum"], providers=CPU)
    a, b, d = (np.full((3, 2), value, np.float32) for value in (5, 2, 0))
    binding = sess.io_binding()
    binding.bind_cpu_input("a", a)
    binding.bind_cpu_input("b", b)
    binding.bind_output("d", "cpu", 0, np.float32, d.shape, d.ctypes.data)
    found: Found = {}
    for run in range(3):
        a += 1
        sess.run_with_iobinding(binding)
        found[f"run {run}"] = [d.copy(), *binding.copy_outputs_to_cpu()]
    binding.bind_output("s")
    sess.run_with_iobinding(binding)
    found["both"] = [d.copy(), *binding.copy_outputs_to_cpu()]
    return found


def ort_values(rt: Any, files: Files) -> Found:
    x = np.linspace(0, 1, 32, dtype=np.float32).reshape(2, 16)
    value = rt.OrtValue.ortvalue_from_numpy(x)
    found: Found = {
        "told": [
            value.device_name(),
            value.shape(),
            value.data_type(),
            value.element_type(),
            value.is_tensor(),
            value.has_value(),
            value.tensor_size_in_bytes(),
        ],
        "shared": value.data_ptr() == x.ctypes.data,
        "array": np.asarray(value),
    }
    sess = rt.InferenceSession(files.models["product"], providers=CPU)
    found["run"] = sess.run(["y"], {"x": value})[0]
    found["run_with_ort_values"] = sess.run_with_ort_values(["y"], {"x": value})[0].numpy()
    out = rt.OrtValue.ortvalue_from_shape_and_type([2, 4], np.float32)
    binding = sess.io_binding()
    binding.bind_ortvalue_input("x", value)
    binding.bind_ortvalue_output("y", out)
    sess.run_with_iobinding(binding)
    found["bound"] = out.numpy().copy()
    value.update_inplace(np.zeros((2, 16), np.float32))
    sess.run_with_iobinding(binding)
    found["updated"] = out.numpy()
    found["another size"] = isinstance(
        _caught(lambda: value.update_inplace(np.zeros((3, 16), np.float32))), RuntimeError
    )
    return found


def asynchronous(rt: Any, files: Files) -> Found:
    options = rt.SessionOptions()
    options.intra_op_num_threads = 2
    sess = rt.InferenceSession(files.models["product"], options, providers=CPU)
    told: list[Any] = []
    ready = threading.Event()

    def callback(results: Any, user_data: Any, error: str) -> None:
        told.append((results, user_data, bool(error)))
        ready.set()

    for width in (16, 15):
        ready.clear()
        sess.run_async(["y"], {"x": np.ones((2, width), np.float32)}, callback, "mine")
        assert ready.wait(30)
    return {
        "sound": told[0],
        "broken": told[1],
        "missing": isinstance(_caught(lambda: sess.run_async(None, {}, callback, None)), ValueError),
    }


def ended_runs(rt: Any, files: Files) -> Found:
    sess = rt.InferenceSession(files.models["product"], providers=CPU)
    options = rt.RunOptions()
    options.log_severity_level = 4
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "")
    x = np.ones((1, 16), np.float32)
    found: Found = {"y": sess.run(None, {"x": x}, options)[0], "was": options.terminate}
    options.terminate = True
    found["ended"] = _raised(lambda: sess.run(None, {"x": x}, run_options=options))
    options.terminate = False
    found["again"] = sess.run(None, {"x": x}, options)[0]
    return found


def ended_meanwhile(rt: Any, files: Files) -> Found:
    session_options = rt.SessionOptions()
    session_options.intra_op_num_threads = 2
    sess = rt.InferenceSession(files.models["loop"], session_options, providers=CPU)
    options = rt.RunOptions()
    long = {"x": np.zeros(4, np.float32), "trips": np.array(1 << 60)}

    def ended(work: Callable[[], Any]) -> Any:
        options.terminate = False
        timer = threading.Timer(0.1, lambda: setattr(options, "terminate", True))
        timer.start()
        try:
            return work()
        finally:
            timer.join()

    binding = sess.io_binding()
    for name, array in long.items():
        binding.bind_cpu_input(name, array)
    binding.bind_output("y")
    told: list[Any] = []
    ready = threading.Event()

    def callback(results: Any, user_data: Any, error: str) -> None:
        told.append((results, user_data, "terminate" in error))
        ready.set()

    def run_async() -> None:
        sess.run_async(["y"], long, callback, "mine", options)
        assert ready.wait(30)

    found = {
        "run": ended(lambda: _raised(lambda: sess.run(None, long, options))),
        "bound": ended(lambda: isinstance(_caught(lambda: sess.run_with_iobinding(binding, options)), RuntimeError)),
        "asynchronous": (ended(run_async), told),
    }
    options.terminate = False
    found["again"] = sess.run(None, long | {"trips": np.array(3)}, options)[0]
    return found


def several_threads(rt: Any, files: Files) -> Found:
    sess = rt.InferenceSession(files.digits, providers=CPU)
    batches = [files.images[at : at + 4] for at in range(0, 64, 4)]
    with ThreadPoolExecutor(4) as pool:
        return {"scores": list(pool.map(lambda batch: sess.run(None, {"image": batch})[0], batches))}


def providers(rt: Any, files: Files) -> Found:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sess = rt.InferenceSession(
            files.digits,
            providers=[
                "CUDAExecutionProvider",
                ("CPUExecutionProvider", {"arena_extend_strategy": "kSameAsRequested"}),
            ],
        )
    found: Found = {
        "providers": sess.get_providers(),
        "told": ["CUDAExecutionProvider" in str(each.message) for each in told],
    }
    sess.set_providers(["CPUExecutionProvider"])
    found["options"] = sess.get_provider_options()
    found["device"] = rt.get_device()
    found["cpu is there"] = "CPUExecutionProvider" in rt.get_available_providers()
    return found


def _reader(rt: Any, files: Files) -> Any:
    quantization = importlib.import_module(rt.__name__ + ".quantization")

    class DigitsReader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.data = iter([{"image": image[None]} for image in files.images[:64]])

        def get_next(self) -> Any:
            return next(self.data, None)

    return quantization, DigitsReader()


def _agreeing(rt: Any, files: Files, path: Path) -> float:
    """The share of images to which the file gives fp32's answers, at least 9 of 10."""
    fp32, int8 = (
        rt.InferenceSession(str(model), providers=CPU).run(None, {"image": files.images})[0]
        for model in (files.digits, path)
    )
    return float((fp32.argmax(1) == int8.argmax(1)).mean())


def static_quantization(rt: Any, files: Files) -> Found:
    quantization, reader = _reader(rt, files)
    ready, path = files.folder / "ready.onnx", files.folder / "static.onnx"
    quantization.shape_inference.quant_pre_process(files.digits, str(ready))
    quantization.quantize_static(
        str(ready),
        str(path),
        reader,
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=True,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
        calibrate_method=quantization.CalibrationMethod.MinMax,
    )
    return {
        "smaller": path.stat().st_size < 0.6 * Path(files.digits).stat().st_size,
        "agreeing": _agreeing(rt, files, path) > 0.9,
    }


def static_quantization_of_some(rt: Any, files: Files) -> Found:
    quantization, reader = _reader(rt, files)
    path = files.folder / "some.onnx"
    config = quantization.StaticQuantConfig(
        calibration_data_reader=reader,
        op_types_to_quantize=["Conv"],
        per_channel=True,
        calibrate_method=quantization.CalibrationMethod.Percentile,
    )
    quantization.quantize(files.digits, str(path), config)
    return {"agreeing": _agreeing(rt, files, path) > 0.9}


def dynamic_quantization(rt: Any, files: Files) -> Found:
    quantization = importlib.import_module(rt.__name__ + ".quantization")
    source, path = files.folder / "wide.onnx", files.folder / "dynamic.onnx"
    source.write_bytes(files.models["wide"])
    quantization.quantize_dynamic(str(source), str(path), weight_type=quantization.QuantType.QInt8, per_channel=True)
    x = np.random.default_rng(3).standard_normal((4, 256)).astype(np.float32)
    before, after = (rt.InferenceSession(str(model), providers=CPU).run(None, {"x": x})[0] for model in (source, path))
    noise = np.square(after - before).sum() / np.square(before).sum()
    return {"smaller": path.stat().st_size < 0.3 * source.stat().st_size, "near": bool(1e-8 < noise < 1e-3)}


SCRIPTS = (
    load_and_predict,
    inputs_and_outputs,
    metadata,
    common_errors,
    session_options,
    from_bytes_with_open_batch,
    closed_dimensions,
    chosen_outputs,
    types_of_arrays,
    lists_and_views,
    bound_to_the_cpu,
    bound_to_memory,
    bound_again,
    one_output_bound,
    ort_values,
    asynchronous,
    ended_runs,
    ended_meanwhile,
    several_threads,
    providers,
    static_quantization,
    static_quantization_of_some,
    dynamic_quantization,
)
