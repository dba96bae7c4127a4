"""What `octavo diagnose` predicts that a file loses, beside what the engine loses: files with one fault, in turns with the same network without it.

    python scripts/stories/prediction.py --engine ort [--rates F.json]      (or litert)

One thread, as predictions are. Lost is the time of a file less that of the network quantized as the engine likes it; predicted is
`lost_ms` of the report. Files are made by the engine's own quantizer, or are those of $OCTAVO_DATA.
Needs: pip install onnxruntime onnx (or ai-edge-litert ai-edge-quantizer); OCTAVO_DATA; build/bin/octavo
"""

import json
import os
import sys
from pathlib import Path

import common


def ort_pairs(given):
    """(what is wrong, network, the slow file, the one without the fault)."""
    from onnxruntime.quantization import QuantFormat, QuantType

    models = Path(os.environ["OCTAVO_DATA"]) / "models"
    for network in ("cifar10_resnet20", "mobilenet_v2_torchvision", "squeezenet1_1"):
        yield "QDQ s8", network, models / f"{network}_ort_qdq_s8s8_perch.onnx", models / f"{network}_ort_qdq_u8s8_perch.onnx"
    yield "u8 weights", "squeezenet1_1", models / "squeezenet1_1_ort_qop_u8u8_pertensor.onnx", models / "squeezenet1_1_ort_qop_u8s8_perch.onnx"
    made = {}
    for network, size in (("resnet18", 224), ("resnet50", 224), ("mobilenet_v2", 224), ("efficientnet_v2_s", 224), ("regnet_y_400mf", 224), ("vgg11", 112)):
        source = given.folder / f"{network}.onnx"
        if not source.exists():
            common.octavo(given, "zoo", network, "-o", source)
        made[network] = common.Quantized(given, source, (1, 3, 224, 224))
    faults = {
        "QDQ s8": {"activation_type": QuantType.QInt8},
        "QOperator s8": {"activation_type": QuantType.QInt8, "quant_format": QuantFormat.QOperator},
        "16-bit activations": {"activation_type": QuantType.QUInt16},
        "u8 weights": {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QUInt8, "per_channel": False},
    }
    for fault, network in (
        ("QDQ s8", "resnet18"), ("QOperator s8", "resnet18"), ("16-bit activations", "resnet18"), ("u8 weights", "resnet18"), ("dynamic", "resnet18"),
        ("QDQ s8", "mobilenet_v2"), ("QOperator s8", "mobilenet_v2"), ("16-bit activations", "mobilenet_v2"), ("dynamic", "mobilenet_v2"),
        ("QDQ s8", "efficientnet_v2_s"), ("QOperator s8", "efficientnet_v2_s"),
        ("QDQ s8", "resnet50"), ("16-bit activations", "resnet50"), ("QDQ s8", "regnet_y_400mf"), ("QOperator s8", "vgg11"),
    ):
        quantized = made[network]
        slow = dynamic(quantized) if fault == "dynamic" else quantized.make(f"{network}_{fault.replace(' ', '_')}", **faults[fault])
        yield fault, network, slow, quantized.make(f"{network}_healthy", activation_type=QuantType.QUInt8)


def dynamic(quantized):
    """As onnxruntime.quantization quantizes without samples."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    path = quantized.float_path.with_suffix(".dynamic.onnx")
    if not path.exists():
        quantize_dynamic(str(quantized.float_path), str(path), op_types_to_quantize=["Conv", "Gemm", "MatMul"], weight_type=QuantType.QUInt8)
    return path


def litert_pairs(given):
    from ai_edge_quantizer import recipe

    models = Path(os.environ["OCTAVO_DATA"]) / "models"
    yield "dynamic range", "mlperf_kws", models / "mlperf_kws_dynamic_range.tflite", models / "mlperf_kws_int8.tflite"
    import networks_litert

    sources = {"mlperf_vww96": models / "mlperf_vww96_fp32.tflite", "mlperf_ic_resnet8": models / "mlperf_ic_resnet8_fp32.tflite"}
    sources |= {name: networks_litert.made(given.folder, name) for name in ("resnet18", "mobilenet_v2")}
    for network, source in sources.items():
        healthy = quantized_tflite(given, network, source, recipe.static_wi8_ai8())
        for fault, words in (("dynamic range", recipe.dynamic_wi8_afp32()), ("weights only", recipe.weight_only_wi8_afp32()), ("16-bit activations", recipe.static_wi8_ai16())):
            yield fault, network, quantized_tflite(given, network, source, words, fault), healthy
    for fault, network in (("slow bytes", "mobilenet_v3_small"), ("slow bytes", "inception")):
        slow = quantized_tflite(given, network, networks_litert.made(given.folder, network), recipe.static_wi8_ai8())
        yield fault, network, slow, common.repaired(given, slow)[0]
    slow = models / "mobilenet_v2_1.0_224_quant.tflite"
    kept = given.folder / slow.name
    kept.write_bytes(slow.read_bytes())
    yield "u8", "mobilenet_v2_1.0_224_quant", kept, common.repaired(given, kept)[0]


def quantized_tflite(given, network, source, words, fault="healthy"):
    """By LiteRT's own quantizer, ranges from seeded random inputs."""
    import numpy as np
    from ai_edge_quantizer import quantizer

    path = given.folder / f"{network}_{fault.replace(' ', '_')}.tflite"
    if path.exists():
        return path
    signed = given.folder / f"{network}_signed.tflite"
    signed.write_bytes(with_signature(source))
    work = quantizer.Quantizer(str(signed), words)
    if not work.need_calibration:
        work.quantize().export_model(str(path), overwrite=True)
        return path
    from ai_edge_litert.interpreter import Interpreter

    random = np.random.default_rng(1)
    taken = {each: detail["shape"] for each, detail in Interpreter(model_path=str(signed)).get_signature_runner("main").get_input_details().items()}
    samples = [{each: random.standard_normal(shape, np.float32) for each, shape in taken.items()} for _ in range(2)]
    work.quantize(work.calibrate({"main": samples})).export_model(str(path), overwrite=True)
    return path


def with_signature(source):
    """The file with one named "main", which the quantizer calibrates by; older files have none."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    file = schema.ModelT.InitFromPackedBuf(source.read_bytes(), 0)
    signature, graph = schema.SignatureDefT(), file.subgraphs[0]
    signature.signatureKey, signature.subgraphIndex = "main", 0
    signature.inputs, signature.outputs = ([tensor_map(schema, f"{name}{at}", index) for at, index in enumerate(indices)] for name, indices in (("x", graph.inputs), ("y", graph.outputs)))
    file.signatureDefs = [signature]
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(file.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def tensor_map(schema, name, index):
    made = schema.TensorMapT()
    made.name, made.tensorIndex = name, int(index)
    return made


def diagnosed(given, path, engine):
    report = given.folder / "report.json"
    common.octavo(given, "diagnose", path, "--engine", engine, "--json", report, *(["--rates", given.rates] if given.rates else []))
    return json.loads(report.read_text())


def main():
    given = common.arguments(__doc__, engine={"choices": ("ort", "litert"), "default": "ort"}, rates={"help": "of scripts/stories/rates.py"}, only={"help": "make files and predictions, measure nothing", "action": "store_true"})
    given.threads = 1
    rows, near = [], 0
    for fault, network, slow, healthy in {"ort": ort_pairs, "litert": litert_pairs}[given.engine](given):
        found, best = diagnosed(given, slow, given.engine), diagnosed(given, healthy, given.engine)
        if given.only:
            print(network, fault, f"{best['predicted_ms']:.3f} {found['predicted_ms']:.3f} lost {found['lost_ms']:.3f}, healthy {best['lost_ms']:.3f}", [(each["cause"], round(each["predicted_ms"], 3)) for each in found["findings"]], flush=True)
            continue
        sessions = {name: common.engines.SESSIONS[given.engine](str(path), 1) for name, path in (("slow", slow), ("healthy", healthy))}
        times = {name: each["min_ms"] for name, each in common.timed(given, {name: session.run for name, session in sessions.items()}).items()}
        lost, predicted = times["slow"] - times["healthy"], found["lost_ms"] - best["lost_ms"]
        is_near = abs(predicted - lost) <= 0.3 * abs(lost)
        near += is_near
        rows.append([network, fault, f"{times['healthy']:.2f}", f"{best['predicted_ms']:.2f}", f"{times['slow']:.2f}", f"{found['predicted_ms']:.2f}", f"{lost:.2f}", f"{predicted:.2f}", f"{100 * (predicted / lost - 1):+.0f} %"])
        print(rows[-1], file=sys.stderr, flush=True)
    if rows:
        print(f"{common.engines.version_of(given.engine)}, {common.told_machine(1)}; rates: {given.rates or 'built in'}\n")
        common.table(["network", "fault", "ms without", "predicted", "ms", "predicted", "lost", "predicted lost", "off by"], rows)
        print(f"{near} of {len(rows)} within 30 %")


if __name__ == "__main__":
    main()
