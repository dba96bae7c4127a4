"""Files for the blind test of `octavo diagnose`: 30 quantized networks, each slow or wrong for one of 15 causes, and 15 healthy ones.

    python tests/diagnose/spoil.py FOLDER [--set 2|3]

writes them, by numbers, and `truth.tsv` (file, engine, network, cause in words; the cause of a healthy one is empty) beside the fp32
files that they were made of. Written before the rules, and imports nothing of Octavo; `blind.py` asks `octavo diagnose` afterwards. --set: the
same causes in other networks, which were chosen after rules had been mended by the sets before.
Needs: pip install torch torchvision timm onnx onnxruntime ai-edge-litert flatbuffers; OCTAVO_DATA for what is TFLite.
"""

import argparse
import logging
import os
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quant_pre_process, quantize_dynamic, quantize_static

import spoil_networks

class Samples(CalibrationDataReader):
    def __init__(self, name, names):
        self.left = [dict(zip(names, (each.numpy() for each in spoil_networks.inputs_of(name, seed)))) for seed in range(2, 5)]

    def get_next(self):
        return self.left.pop() if self.left else None


class Maker:
    """Where files are made, and the fp32 ones that several share."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def float_file(self, name, folded=True):
        """The path of a network in floats, and the names of its inputs."""
        path = self.folder / f"{name}{'' if folded else '_norms'}_fp32.onnx"
        if not path.exists():
            spoil_networks.write(name, str(path), folded)
            if folded:
                quant_pre_process(str(path), str(path), skip_symbolic_shape=True)
        return path, [each.name for each in onnx.load(path, load_external_data=False).graph.input]

    def quantized(self, name, path=None, folded=True, **options):
        """The network as ONNX Runtime quantizes it: pairs, u8 activations and s8 weights per channel, where options do not differ."""
        source, names = self.float_file(name, folded)
        made = self.folder / "made.onnx"
        given = {"quant_format": QuantFormat.QDQ, "per_channel": True, "activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8, **options}
        quantize_static(str(path or source), str(made), Samples(name, names), **given)
        model = onnx.load(made)
        made.unlink()
        return model


class Wires:
    """Who writes and who reads each value of a graph."""

    def __init__(self, graph):
        self.graph = graph
        self.writer = {out: node for node in graph.node for out in node.output}
        self.readers = {}
        for node in graph.node:
            for value in node.input:
                self.readers.setdefault(value, []).append(node)
        self.constant = {each.name: each for each in graph.initializer}

    def number(self, name):
        return numpy_helper.to_array(self.constant[name])

    def set_number(self, name, value):
        self.constant[name].CopyFrom(numpy_helper.from_array(np.asarray(value), name))

    def add_number(self, name, value):
        made = numpy_helper.from_array(np.asarray(value), name)
        self.graph.initializer.append(made)
        self.constant[name] = made
        return name

    def activations(self):
        """The QuantizeLinear nodes of activations."""
        return [node for node in self.graph.node if node.op_type == "QuantizeLinear" and node.input[0] not in self.constant]

    def put_behind(self, node, made):
        at = list(self.graph.node).index(node) + 1
        for each in reversed(made):
            self.graph.node.insert(at, each)


def s8_activations(maker, name):
    return maker.quantized(name, activation_type=QuantType.QInt8)


def relu_apart_in_qoperator(maker, name):
    """Zero points in the middle, so that a ReLU is not what saturation does anyway: it stays, in floats."""
    return maker.quantized(name, quant_format=QuantFormat.QOperator, extra_options={"ActivationSymmetric": True})


def only_weights(maker, name):
    """No pairs but those of weights, so that everything is computed in floats."""
    model = maker.quantized(name)
    wires = Wires(model.graph)
    for node in wires.activations():
        for pair in wires.readers.get(node.output[0], []):
            for reader in wires.readers.get(pair.output[0], []):
                reader.input[:] = [node.input[0] if value == pair.output[0] else value for value in reader.input]
            for output in model.graph.output:
                if output.name == pair.output[0]:
                    wires.writer[node.input[0]].output[0] = output.name
            model.graph.node.remove(pair)
        model.graph.node.remove(node)
    return model


def pair_before_relu(maker, name):
    """A pair of its own between each convolution and its ReLU."""
    model = maker.quantized(name)
    wires = Wires(model.graph)
    for node in wires.activations():
        writer = wires.writer.get(node.input[0])
        if writer is None or writer.op_type != "Conv" or wires.number(node.input[2]) != 0:
            continue
        before, scale, zero = writer.output[0], node.input[1] + "_wide", node.input[2] + "_wide"
        wires.add_number(scale, np.float32(wires.number(node.input[1]) * 2))
        wires.add_number(zero, np.uint8(128))
        made = [before + end for end in ("_q", "_dq", "_relu")]
        wires.put_behind(writer, [helper.make_node("QuantizeLinear", [before, scale, zero], [made[0]], name=made[0]),
                                  helper.make_node("DequantizeLinear", [made[0], scale, zero], [made[1]], name=made[1]),
                                  helper.make_node("Relu", [made[1]], [made[2]], name=made[2])])
        node.input[0] = made[2]
    return model


def float_skip_connections(maker, name):
    """Additions of a residual take one of their operands, and give their sum, in floats."""
    model = maker.quantized(name)
    wires = Wires(model.graph)
    for node in [each for each in model.graph.node if each.op_type == "Add"]:
        for index, value in enumerate(node.input):
            pair = wires.writer.get(value)
            quantize = wires.writer.get(pair.input[0]) if pair is not None and pair.op_type == "DequantizeLinear" else None
            if quantize is not None and quantize.op_type == "QuantizeLinear":
                node.input[index] = quantize.input[0]
                break
    return model


def silu_in_pieces(maker, name):
    return maker.quantized(name)


def activations_of_16_bits(maker, name):
    return maker.quantized(name, activation_type=QuantType.QUInt16)


def dynamic(maker, name):
    made = maker.folder / "made.onnx"
    quantize_dynamic(str(maker.float_file(name)[0]), str(made), op_types_to_quantize=["Conv", "Gemm", "MatMul"], weight_type=QuantType.QUInt8)
    model = onnx.load(made)
    made.unlink()
    return model


def dynamic_tflite(maker, name):
    """Weights of convolutions and products in bytes, everything else in floats."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    file = schema.ModelT.InitFromPackedBuf((Path(os.environ["OCTAVO_DATA"]) / "models" / f"{name}_fp32.tflite").read_bytes(), 0)
    axes = {schema.BuiltinOperator.CONV_2D: 0, schema.BuiltinOperator.DEPTHWISE_CONV_2D: 3, schema.BuiltinOperator.FULLY_CONNECTED: None}
    graph = file.subgraphs[0]
    for node in graph.operators:
        code = file.operatorCodes[node.opcodeIndex]
        kind = max(code.builtinCode, code.deprecatedBuiltinCode)
        if kind not in axes:
            continue
        tensor = graph.tensors[node.inputs[1]]
        values = np.frombuffer(bytes(file.buffers[tensor.buffer].data), np.float32).reshape(tensor.shape)
        axis = axes[kind]
        largest = np.abs(values).max(tuple(at for at in range(values.ndim) if at != axis), keepdims=True)
        scale = np.maximum(largest, 1e-6) / 127
        file.buffers[tensor.buffer].data = np.frombuffer(np.clip(np.rint(values / scale), -127, 127).astype(np.int8).tobytes(), np.uint8)
        tensor.type, tensor.quantization = schema.TensorType.INT8, schema.QuantizationParametersT()
        tensor.quantization.scale, tensor.quantization.zeroPoint = scale.ravel().tolist(), [0] * scale.size
        tensor.quantization.quantizedDimension = axis or 0
        code.version = {schema.BuiltinOperator.CONV_2D: 5, schema.BuiltinOperator.DEPTHWISE_CONV_2D: 6}.get(kind, 4)
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(file.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def channels_apart(maker, name):
    """Weights of which a channel has 10^4 times what another one has, though one scale is for all; the next weights undo it, so that the
    network in floats answers as before."""
    model = onnx.load(maker.float_file(name)[0])
    wires = Wires(model.graph)
    for node in [each for each in model.graph.node if each.op_type == "Conv"]:
        relu = wires.readers.get(node.output[0], [])
        after = wires.readers.get(relu[0].output[0], []) if len(relu) == 1 and relu[0].op_type == "Relu" else []
        if len(after) != 1 or after[0].op_type != "Conv" or len(node.input) < 3:
            continue
        if any(each.i != 1 for each in after[0].attribute if each.name == "group"):
            continue
        weights, bias, undone = (wires.number(each) for each in (node.input[1], node.input[2], after[0].input[1]))
        factor = np.logspace(-2, 2, weights.shape[0]).astype(np.float32)
        wires.set_number(node.input[1], weights * factor.reshape(-1, 1, 1, 1))
        wires.set_number(node.input[2], bias * factor)
        wires.set_number(after[0].input[1], undone / factor.reshape(1, -1, 1, 1))
    path = maker.folder / f"{name}_apart_fp32.onnx"
    onnx.save(model, path)
    return maker.quantized(name, path, per_channel=False)


def broken_scale(value):
    def spoil(maker, name):
        model = maker.quantized(name)
        wires = Wires(model.graph)
        found = wires.activations()
        wires.set_number(found[len(found) // 2].input[1], np.float32(value))
        return model

    return spoil


def masked_range(maker, name):
    """Scores of attention with the mask added have the range of the mask, 3.4e38."""
    return maker.quantized(name, op_types_to_quantize=["MatMul", "Add", "Softmax"])


def norms_unfolded(maker, name):
    return maker.quantized(name, folded=False)


def float_means(maker, name):
    """As ReduceMean, which is quantized by nobody."""
    model = onnx.load(maker.float_file(name)[0])
    for node in model.graph.node:
        if node.op_type == "GlobalAveragePool":
            node.op_type = "ReduceMean"
            node.attribute.extend([helper.make_attribute("axes", [2, 3]), helper.make_attribute("keepdims", 1)])
    path = maker.folder / f"{name}_means_fp32.onnx"
    onnx.save(model, path)
    return maker.quantized(name, path)


def float_resize(maker, name):
    return maker.quantized(name)


def uncalibrated(low):
    """The range that tools write where no data was seen, on every activation."""

    def spoil(maker, name):
        model = maker.quantized(name)
        wires = Wires(model.graph)
        for node in wires.activations():
            wires.set_number(node.input[1], np.float32((1 - low) / 255))
            wires.set_number(node.input[2], np.uint8(0 if low == 0 else 128))
        return model

    return spoil


def healthy(maker, name):
    return maker.quantized(name)


def given(maker, name):
    """A file of others, as it is."""
    return (Path(os.environ["OCTAVO_DATA"]) / "models" / f"{name}.tflite").read_bytes()


# cause in words, engine, then who makes it of which network
CAUSES = [
    ("s8 activations on x86", "ort", (s8_activations, "regnet_x_400mf"), (s8_activations, "resnet26")),
    ("QOperator form with the ReLU apart", "ort", (relu_apart_in_qoperator, "mnasnet0_5"), (relu_apart_in_qoperator, "resnet26")),
    ("activations in floats", "ort", (only_weights, "resnet34"), (only_weights, "squeezenet1_0")),
    ("pair between a convolution and its activation", "ort", (pair_before_relu, "vgg13_bn"), (pair_before_relu, "resnet14t")),
    ("skip connections in floats", "ort", (float_skip_connections, "resnet50"), (float_skip_connections, "regnet_x_800mf")),
    ("SiLU in pieces", "ort", (silu_in_pieces, "resnet26_silu"), (silu_in_pieces, "vgg11_silu")),
    ("activations of 16 bits", "ort", (activations_of_16_bits, "googlenet"), (activations_of_16_bits, "resnext26")),
    ("dynamic quantization", "ort", (dynamic, "vgg13_bn"), None),
    ("dynamic quantization", "litert", (dynamic_tflite, "mlperf_vww96"), None),
    ("channels of one scale 10^4 apart", "ort", (channels_apart, "resnet26"), (channels_apart, "vgg11")),
    ("scale that is broken", "ort", (broken_scale(0.0), "mnasnet1_0"), (broken_scale(1e-40), "dla34")),
    ("mask in a range", "ort", (masked_range, "encoder2"), (masked_range, "encoder3")),
    ("batch norms left unfolded", "ort", (norms_unfolded, "resnet34"), (norms_unfolded, "googlenet")),
    ("means in floats", "ort", (float_means, "gated48"), (float_means, "regnet_y_400mf")),
    ("resizing in floats", "ort", (float_resize, "pyramid_cubic"), (float_resize, "pyramid_linear")),
    ("ranges that were never calibrated", "ort", (uncalibrated(-1), "resnet10t"), (uncalibrated(0), "alexnet")),
    ("", "ort", *((healthy, name) for name in (
        "alexnet", "darknet17", "dla34", "googlenet", "perceptron", "pyramid", "regnet_x_800mf", "resnet10t", "resnet14t", "resnet26",
        "resnet34", "squeezenet1_0", "vgg13_bn"))),
    ("", "litert", (given, "mlperf_vww96_int8"), (given, "mlperf_kws_int8")),
]


# cause in words, the kind of file, and the networks of the other sets, in the order of CAUSES; with who makes the file where it is another one
SECOND = {
    ("s8 activations on x86", "ort"): ["resnet18d", "selecsls42b"],
    ("QOperator form with the ReLU apart", "ort"): ["mnasnet0_75", "resnet26d"],
    ("activations in floats", "ort"): ["regnet_x_1_6gf", "vovnet39a"],
    ("pair between a convolution and its activation", "ort"): ["vgg16_bn", "selecsls42b"],
    ("skip connections in floats", "ort"): ["resnext50_32x4d", "resnet18d"],
    ("SiLU in pieces", "ort"): ["resnet18_silu", "vgg13_silu"],
    ("activations of 16 bits", "ort"): ["vovnet39a", "vgg11_bn"],
    ("dynamic quantization", "ort"): ["vgg16"],
    ("dynamic quantization", "litert"): ["mlperf_ic_resnet8"],
    ("channels of one scale 10^4 apart", "ort"): ["vgg13", "resnet26d"],
    ("scale that is broken", "ort"): ["resnext50_32x4d", "mnasnet0_75"],
    ("mask in a range", "ort"): ["encoder1", "encoder4"],
    ("batch norms left unfolded", "ort"): ["resnet18d", "vgg16_bn"],
    ("means in floats", "ort"): ["gated64", "regnet_y_800mf"],
    ("resizing in floats", "ort"): ["pyramid_cubic48", "pyramid_linear16"],
    ("ranges that were never calibrated", "ort"): ["resnet26d", "vgg11_bn"],
    ("", "ort"): ["mnasnet0_75", "perceptron2", "pyramid48", "regnet_x_1_6gf", "resnet18d", "resnet26d", "resnext50_32x4d", "selecsls42b",
                  "shufflenet_v2_x1_0", "vgg11_bn", "vgg13", "vgg16", "vovnet39a"],
    ("", "litert"): ["mlperf_ic_resnet8_int8", "tf2_mobilenet_v2_1.0_224_ptq"],
}

THIRD = {
    ("s8 activations on x86", "ort"): ["spnasnet_100", "res2net50_14w_8s"],
    ("QOperator form with the ReLU apart", "ort"): ["repvgg_a0", "ese_vovnet19b_dw"],
    ("activations in floats", "ort"): ["hrnet_w18_small", "wide_resnet50_2"],
    ("pair between a convolution and its activation", "ort"): ["vgg19_bn", "spnasnet_100"],
    ("skip connections in floats", "ort"): ["resnet101", "wide_resnet50_2"],
    ("SiLU in pieces", "ort"): ["efficientnet_b0", "repvgg_a0_silu"],
    ("activations of 16 bits", "ort"): ["densenet121", "hrnet_w18_small"],
    ("dynamic quantization", "ort"): ["inception_v3"],
    ("dynamic quantization", "litert"): [(given, "mlperf_kws_dynamic_range")],
    ("channels of one scale 10^4 apart", "ort"): ["vgg19", "resnet101"],
    ("scale that is broken", "ort"): ["spnasnet_100", "res2net50_14w_8s"],
    ("mask in a range", "ort"): ["encoder5", "encoder6"],
    ("batch norms left unfolded", "ort"): ["wide_resnet50_2", "repvgg_a0"],
    ("means in floats", "ort"): ["regnet_y_1_6gf", "seresnext26d_32x4d"],
    ("resizing in floats", "ort"): ["pyramid_cubic16", "pyramid_linear64"],
    ("ranges that were never calibrated", "ort"): ["spnasnet_100", "vgg19"],
    ("", "ort"): ["efficientnet_lite0", "ese_vovnet19b_dw", "hrnet_w18_small", "inception_v3", "perceptron3", "repvgg_a0", "res2net50_14w_8s",
                  "pyramid32", "resnet101", "seresnext26d_32x4d", "spnasnet_100", "vgg19", "vgg19_bn", "wide_resnet50_2"],
    ("", "litert"): ["mlperf_ad_int8_floatio"],
}


def files_of(number):
    """Of a set: (cause, engine, who makes it, network)."""
    made = [(cause, engine, *each) for cause, engine, *makers in CAUSES for each in makers if each is not None]
    if number == 1:
        return made
    others = []
    for (cause, engine), networks in (SECOND if number == 2 else THIRD).items():
        makers = [make for *row, make, _ in made if row == [cause, engine]]
        for index, network in enumerate(networks):
            make, name = network if isinstance(network, tuple) else (makers[min(index, len(makers) - 1)], network)
            others.append((cause, engine, make, name))
    return others


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("folder", type=Path)
    words.add_argument("--set", type=int, choices=(1, 2, 3), default=1, help="2, 3: other networks")
    options = words.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.WARNING)
    maker, lines = Maker(folder), ["file\tengine\tnetwork\tcause"]
    made = files_of(options.set)
    for number, (cause, engine, make, network) in enumerate(made, 1):
        is_tflite = make in (dynamic_tflite, given)
        file = f"{number:02}.{'tflite' if is_tflite else 'onnx'}"
        if is_tflite and "OCTAVO_DATA" not in os.environ:
            print(f"left out, as OCTAVO_DATA is not set: {file}, {network}: {cause or 'healthy'}")
            continue
        content = make(maker, network)
        (folder / file).write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
        lines.append(f"{file}\t{engine}\t{network}\t{cause}")
        print(f"{file} {network}: {cause or 'healthy'}", flush=True)
    (folder / "truth.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
