"""Makes the archives beside this file and expected.npz with PyTorch's answers. Development only; in any virtual environment:

    pip install numpy onnx==1.22.0 onnxscript==0.7.2 onnxruntime==1.31.0 torch==2.15.0 torchao==0.18.0 ruamel.yaml pandas tabulate flatbuffers
    pip install --no-deps executorch==1.5.1
    python tests/import/pt2/make.py [NAME...]

With names, those archives alone, and the other answers stay.
"""

import copy
import io
import json
import logging
import pathlib
import re
import sys
import tempfile
import warnings
import zipfile

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quant_pre_process, quantize_static
from torch import nn
from torch._export.serde.schema import SCHEMA_VERSION
from torch._export.serde.serialize import serialize
from torchao.kernel import intmm
from torchao.quantization import Int8DynamicActivationInt8WeightConfig, Int8DynamicActivationIntxWeightConfig, PerAxis, PerTensor, quantize_
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

HERE = pathlib.Path(__file__).parent


class Block(nn.Module):
    """Convolutions of every kind, a residual, an average, a classifier."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8)
        self.depthwise, self.grouped = nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.Conv2d(8, 8, (1, 3), 1, (0, 1), groups=2)
        self.classifier = nn.Linear(8, 5)

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)))
        x = F.max_pool2d(x, 2)
        x = F.relu(self.grouped(F.relu(self.depthwise(x)))) + x
        return self.classifier(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class Operators(nn.Module):
    """One result per group of operators. What the core dialect writes as gathers or logarithms is left out there."""

    def __init__(self, is_core):
        super().__init__()
        self.is_core = is_core
        self.norm, self.layer_norm = nn.BatchNorm2d(4, affine=False), nn.LayerNorm([5, 6])
        self.inplace, self.bilinear = nn.ReLU6(inplace=True), nn.Upsample(scale_factor=2, mode="bilinear")
        self.same, self.prelu = nn.Conv2d(4, 2, (2, 3), padding="same", dilation=2), nn.PReLU(4)
        self.conv1d, self.dropout = nn.Conv1d(5, 3, 3, stride=2, padding=1), nn.Dropout(0.5, inplace=True)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        scaled = x * 2 + 1
        residual = self.dropout(self.inplace(scaled))
        residual += x
        first, _, last = torch.split(x, [1, 2, 1], 1)
        return (
            F.hardswish(x) + F.hardsigmoid(x) - F.silu(x) * torch.sigmoid(x) / 3,
            F.gelu(x) + F.gelu(x, approximate="tanh") + F.leaky_relu(x, 0.2) + F.elu(x) + torch.tanh(x),
            x if self.is_core else F.softplus(x) + F.mish(x),
            torch.clamp(x, -0.5, 1) + torch.clamp(x, min=0.1) + F.hardtanh(x, -2, 0.5) + self.prelu(x),
            residual,
            torch.cat([b, a, first, last], 1),
            torch.stack([a, b], -1),
            F.avg_pool2d(x, 3, 2, 1) + F.avg_pool2d(x, 3, 2, 1, count_include_pad=False) + F.max_pool2d(x, 3, 2, 1),
            F.max_pool2d(x, 2, 2, ceil_mode=True) - F.avg_pool2d(x, 2, 2, ceil_mode=True),
            F.adaptive_avg_pool2d(x, (1, 3)),
            x.mean((2, 3)) + x.sum((-1, -2)) * x.amax((2, 3)) - x.amin((2, 3)),
            self.norm(x) + self.layer_norm(x),
            F.softmax(x, 1) + F.log_softmax(x, -1),
            x.permute(0, 2, 3, 1).reshape(x.shape[0], -1, 4).transpose(1, 2),
            x.view(x.shape[0], 2, 2, 5, 6).transpose(1, 2).contiguous().view(x.shape[0], -1, 5, 6),
            x[:, 1:, ::2, -3:] + x[:, 0, None, ::2, :3],
            F.pad(x, (1, 0, 2, 1), value=0.5),
            x + 1 if self.is_core else F.pad(x, (1, 2, 1, 1), mode="reflect") + F.pad(x, (1, 2, 1, 1), mode="replicate"),
            F.interpolate(x, scale_factor=2.0),
            self.bilinear(x) + F.interpolate(x, size=(10, 12), mode="bilinear", align_corners=True),
            self.same(x),
            self.conv1d(x[:, 1]),
            torch.matmul(a, b.transpose(2, 3)),
            torch.maximum(a, b) - torch.minimum(a, b) + a.abs().sqrt() + (b * b).add(1).rsqrt() + (1 - a) + torch.pow(b, 2) - torch.exp(-a),
            a.flatten(1, 2).unflatten(1, (2, 5)).unsqueeze(0).squeeze(0).repeat(1, 2, 1, 1),
            a[:, :, :1].expand(-1, -1, 3, -1),
            x.argmax(1),
        )


class Recurrent(nn.Module):
    """Layers and cells of every kind; first states that are given, and zeros."""

    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTM(6, 4, 2, bidirectional=True, batch_first=True), nn.GRU(6, 4, bias=False)
        self.deep_gru, self.plain_lstm = nn.GRU(6, 3, 2, batch_first=True), nn.LSTM(6, 3, bias=False)
        self.rnn, self.relu = nn.RNN(6, 4, bidirectional=True), nn.RNN(6, 4, 2, nonlinearity="relu", batch_first=True, dropout=0.5)
        self.lstm_cell, self.gru_cell = nn.LSTMCell(6, 4), nn.GRUCell(6, 4, bias=False)
        self.rnn_cell, self.relu_cell = nn.RNNCell(6, 4), nn.RNNCell(6, 4, nonlinearity="relu")

    def forward(self, x):
        steps, state, step = x.transpose(0, 1), x[:, 0, :4].contiguous(), x[:, 1]
        first = state.unsqueeze(0)
        y, (h, c) = self.lstm(x)
        plain, (_, last) = self.plain_lstm(steps, (first[..., :3], first[..., 1:]))
        cell = self.lstm_cell(step, (state, -state))
        return (y, h, c, *self.gru(steps, first), *self.deep_gru(x), plain, last, *self.rnn(steps), *self.relu(x),
                *cell, self.gru_cell(step, state), self.rnn_cell(step), self.relu_cell(step, state))


class Rows(nn.Module):
    """Two products of rows."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(12, 20), nn.Linear(20, 6)

    def forward(self, x):
        return self.second(F.relu(self.first(x)))


class Tokens(nn.Module):
    """The same where each row has a scale of its own, as the quantizers of language models write it."""

    def __init__(self, rows):
        super().__init__()
        self.rows, self.operators = rows, torch.ops.quantized_decomposed
        for name in ("first", "second"):
            weight = getattr(rows, name).weight.detach()
            scale = weight.abs().amax(1) / 127
            self.register_buffer(f"{name}_scale", scale)
            self.register_buffer(f"{name}_zero", torch.zeros(len(scale), dtype=torch.int64))
            self.register_buffer(f"{name}_weight", torch.round(weight / scale[:, None]).to(torch.int8))

    def product(self, x, name):
        operators, buffers = self.operators, [getattr(self, f"{name}_{part}") for part in ("weight", "scale", "zero")]
        scale, zero = operators.choose_qparams_per_token_asymmetric(x, torch.int8)
        q = operators.quantize_per_token(x, scale, zero, -128, 127, torch.int8)
        rows = operators.dequantize_per_token(q, scale, zero, -128, 127, torch.int8, torch.float32)
        return F.linear(rows, operators.dequantize_per_channel(*buffers, 0, -127, 127, torch.int8), getattr(self.rows, name).bias)

    def forward(self, x):
        return self.product(F.relu(self.product(x, "first")), "second")


def images(count, seed, size=16):
    return torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(seed))


def with_statistics(model, x):
    for norm in (m for m in model.modules() if isinstance(m, nn.BatchNorm2d)):
        norm.momentum = None
        norm.train()
    model(x)
    return model.eval()


def export(model, x, batch=True):
    return torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},) if batch else None)


def quantized(model, x, quantizer, **options):
    prepared = prepare_pt2e(torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},)).module(), quantizer)
    prepared(x)
    return export(convert_pt2e(prepared, **options), x)


def torchao(model, x, config, is_signed=False):
    """As quantize_ leaves it, with plain tensors. It multiplies u8, which it shifts its s8 to, unless the processor has tiles."""
    model = copy.deepcopy(model)
    quantize_(model, config)
    intmm._cpu_is_amx_tile_supported, intmm._cpu_is_vnni_supported = (lambda: is_signed), (lambda: True)
    return export(model, x).run_decompositions({})


def xnnpack(**options):
    return XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, **options))


def inductor():
    return x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())


def written_out(program):
    """Quantization in single operators, as inductor and older exporters have it."""
    table = torch.export.default_decompositions()
    operators = torch.ops.quantized_decomposed

    def channel(tensor, like, axis):
        return tensor.view([-1 if i == axis else 1 for i in range(like.dim())])

    table[operators.quantize_per_tensor.default] = lambda x, s, z, lo, hi, t: torch.clamp(torch.round(x * (1.0 / s)) + z, lo, hi).to(t)
    table[operators.dequantize_per_tensor.default] = lambda x, s, z, lo, hi, t, **o: (x.to(torch.float32) - z) * s
    table[operators.dequantize_per_channel.default] = lambda x, s, z, a, lo, hi, t, **o: (x - channel(z, x, a)) * channel(s, x, a)
    return program.run_decompositions(table)


def slim(document):
    for node in document["graph_module"]["graph"]["nodes"]:
        trace = "\n".join(node["metadata"].get("stack_trace", "").splitlines()[-2:])
        node["metadata"] = {"stack_trace": re.sub(r'File "[^"]*/', 'File "', trace)} if trace else {}
    document["graph_module"]["module_call_graph"] = []
    document["guards_code"] = []
    return json.dumps(document, separators=(",", ":"))


def save(program, name):
    """As torch.export.save writes it, but packed, and without what tracing left behind."""
    file = io.BytesIO()
    torch.export.save(program, file)
    with zipfile.ZipFile(file) as whole, zipfile.ZipFile(HERE / f"{name}.pt2", "w", zipfile.ZIP_DEFLATED) as packed:
        for entry in whole.namelist():
            if "sample_inputs" in entry or "/.data/" in entry:
                continue
            data = whole.read(entry)
            packed.writestr(zipfile.ZipInfo(entry), slim(json.loads(data)) if entry.endswith("models/model.json") else data, zipfile.ZIP_DEFLATED)


def save_serialized(program, name):
    """The layout before archive_version; its parts are what today's serializer makes."""
    artifact = serialize(program)
    with zipfile.ZipFile(HERE / f"{name}.pt2", "w", zipfile.ZIP_DEFLATED) as file:
        for entry, data in {
            "version": ".".join(map(str, SCHEMA_VERSION)),
            "serialized_exported_program.json": slim(json.loads(artifact.exported_program)),
            "serialized_state_dict.pt": artifact.state_dict,
            "serialized_constants.pt": artifact.constants,
        }.items():
            file.writestr(zipfile.ZipInfo(entry), data, zipfile.ZIP_DEFLATED)


def save_pickled(program, name):
    """The first layout with archive_version: weights as a pickle each for parameters and constants."""
    artifact = serialize(program)
    with zipfile.ZipFile(HERE / f"{name}.pt2", "w", zipfile.ZIP_DEFLATED) as file:
        for entry, data in {
            "archive_format": "pt2",
            "archive_version": "0",
            "byteorder": "little",
            "models/model.json": slim(json.loads(artifact.exported_program)),
            "data/weights/model.pt": artifact.state_dict,
            "data/constants/model.pt": artifact.constants,
        }.items():
            file.writestr(zipfile.ZipInfo(f"{name}/{entry}"), data, zipfile.ZIP_DEFLATED)


class Samples(CalibrationDataReader):
    def __init__(self, x):
        self.rest = [{"input": image[None]} for image in x.numpy()]

    def get_next(self):
        return self.rest.pop() if self.rest else None


def drop_traces(path):
    """torch writes the stack of every call into the nodes, with paths of the machine it ran on."""
    model = onnx.load(path)
    for holder in [model, model.graph, *model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer]:
        del holder.metadata_props[:]
    onnx.save(model, path)


def save_onnx_twins(model, x):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "model.onnx"
        names = {"input_names": ["input"], "output_names": ["output"], "dynamic_axes": {"input": {0: "batch"}, "output": {0: "batch"}}}
        torch.onnx.export(model, (x[:1],), source, dynamo=False, opset_version=17, **names)
        quant_pre_process(source, source, skip_symbolic_shape=True)
        for name, kind in {"qdq": QuantFormat.QDQ, "qoperator": QuantFormat.QOperator}.items():
            types = {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8}
            quantize_static(source, HERE / f"block_{name}.onnx", Samples(x), quant_format=kind, per_channel=True, **types)


def main():
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    asked = sys.argv[1:]
    expected = dict(np.load(HERE / "expected.npz")) if asked else {}
    x = images(8, 2)
    block = with_statistics(Block(), x)
    probe = images(2, 3)

    def keep(name, program, store=save, x=probe):
        if asked and name not in asked:
            return
        store(program, name)
        with torch.no_grad():
            answers = program.module()(x)
        for i, answer in enumerate(answers if isinstance(answers, tuple) else (answers,)):
            expected[f"{name}.{i}"] = answer.numpy()

    keep("fp32", export(block, x))
    keep("fp32_core", export(block, x).run_decompositions())
    pt2e = quantized(block, x, xnnpack())
    keep("pt2e", pt2e)
    keep("pt2e_core", pt2e.run_decompositions())
    keep("pt2e_written_out", written_out(pt2e))
    keep("pt2e_unfolded", quantized(block, x, xnnpack(), fold_quantize=False))
    keep("pt2e_x86", quantized(block, x, inductor()))
    keep("pt2e_serialized", pt2e, save_serialized)
    keep("pt2e_pickled", pt2e, save_pickled)
    expected["block.x"] = probe.numpy()

    small = torch.randn(3, 4, 5, 6, generator=torch.Generator().manual_seed(4))
    keep("operators", export(with_statistics(Operators(False), small), small), x=small[:2])
    keep("operators_core", export(with_statistics(Operators(True), small), small).run_decompositions(), x=small[:2])
    expected["operators.x"] = small[:2].numpy()

    rows = torch.randn(4, 5, 12, generator=torch.Generator().manual_seed(5)) * torch.tensor([0.1, 1, 3, 0, 7])[:, None]
    model = Rows().eval()
    keep("pt2e_dynamic", quantized(model, rows, xnnpack(is_dynamic=True)), x=rows[:2])
    keep("pt2e_tokens", export(Tokens(model).eval(), rows), x=rows[:2])
    keep("torchao", torchao(model, rows, Int8DynamicActivationInt8WeightConfig()), x=rows[:2])
    keep("torchao_signed", torchao(model, rows, Int8DynamicActivationInt8WeightConfig(), is_signed=True), x=rows[:2])
    keep("torchao_tensor", torchao(model, rows, Int8DynamicActivationInt8WeightConfig(granularity=PerTensor())), x=rows[:2])
    keep("torchao_intx", torchao(model, rows, Int8DynamicActivationIntxWeightConfig(weight_granularity=PerAxis(0))), x=rows[:2])
    expected["rows.x"] = rows[:2].numpy()

    steps = torch.randn(3, 5, 6, generator=torch.Generator().manual_seed(6))
    torch.manual_seed(7)
    keep("recurrent", export(Recurrent().eval(), steps), x=steps[:2])
    expected["recurrent.x"] = steps[:2].numpy()
    if not asked:
        save_onnx_twins(block, x)
        torch.onnx.export(pt2e.module(), (probe,), HERE / "pt2e_exported.onnx", dynamo=True, verbose=False, external_data=False)
        drop_traces(HERE / "pt2e_exported.onnx")
    np.savez_compressed(HERE / "expected.npz", **expected)


if __name__ == "__main__":
    main()
