"""Makes tests/import/encoders: one small encoder of transformers as each exporter spells it, each file by its own tool, and what that tool's runtime answers.

    pip install numpy onnx==1.22.0 onnxruntime==1.32.0 onnxscript==0.7.2 timm==1.0.31 torch==2.15.0 transformers==5.23.0
    python scripts/make_encoder_files.py
"""

import json
import pathlib
import sys
import zipfile

import numpy as np
import onnx
import torch

ROOT = pathlib.Path(__file__).parent.parent
FOLDER = ROOT / "tests/import/encoders"
sys.path.insert(0, str(ROOT / "scripts/compare"))

import encoder_networks as networks  # noqa: E402
import encoders  # noqa: E402

# name of the file -> network, its attention, spelling
FILES = {
    "bert_onnx14": ("bert", "eager", "onnx14"),
    "bert_onnx17": ("bert", "sdpa", "onnx17"),
    "bert_dynamo20": ("bert", "sdpa", "dynamo20"),
    "bert_dynamo23": ("bert", "sdpa", "dynamo23"),
    "bert_dynamic": ("bert", "eager", "dynamic"),
    "bert_ort": ("bert", "eager", "ort"),
    "bert_ort_dynamic": ("bert", "eager", "ort_dynamic"),
    "bert_ort_qdq": ("bert", "eager", "ort_qdq"),
    "llama_dynamo20": ("llama", "sdpa", "dynamo20"),
    "llama_pt2": ("llama", "eager", "pt2"),
}
KEPT_ENTRIES = ("models/", "data/weights/", "data/constants/", "archive_format", "archive_version", "byteorder")
DROPPED_KEYS = {"nn_module_stack", "from_node", "torch_fn", "stack_trace", "source_fn_stack"}


class Written(torch.nn.Module):
    """What encoders write into parts of tensors, and what is wrapped in graphs of their own."""

    def forward(self, x):
        y = x * 2
        y[:, 1:, 0] += 1.5
        y[0].copy_(x[1])
        with torch.no_grad():
            count = torch.arange(x.shape[1])
            shares = count / 4 + count * 0.5
        with torch.autocast("cpu", enabled=False):
            y = y + torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        rows, columns = torch.meshgrid(count, torch.arange(x.shape[2]), indexing="ij")
        grid = torch.zeros(x.shape[1], x.shape[2])
        grid[1:, 1:] = (rows * 3 + columns)[1:, 1:].float()
        grid[0, 0].fill_(7)
        return y + grid + shares[:, None] + y.detach()[:, [2, 0, 1]]


def without_traces(value):
    if isinstance(value, list):
        return [without_traces(item) for item in value]
    if isinstance(value, dict):
        return {key: without_traces(item) for key, item in value.items() if key not in DROPPED_KEYS}
    return value


def pack(path):
    """As torch.export.save writes it, but packed, and without what tracing left behind, paths among it."""
    with zipfile.ZipFile(path) as file:
        entries = {name: file.read(name) for name in file.namelist() if any(part in name for part in KEPT_ENTRIES)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries.items():
            if "models/" in name:
                data = json.dumps(without_traces(json.loads(data)), separators=(",", ":"))
            file.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def drop_traces(path):
    """Without names of nodes, which make up a third, and the stack of every call, with paths of the machine it ran on."""
    model = onnx.load(path)
    graph = model.graph
    for holder in [model, graph, *graph.node, *graph.input, *graph.output, *graph.initializer, *model.functions]:
        del holder.metadata_props[:]
        holder.ClearField("doc_string")
    for node in graph.node:
        node.name = ""
        node.input[:], node.output[:] = ([name.replace("/network/", "/") for name in names] for names in (node.input, node.output))
    for tensor in graph.initializer:
        tensor.name = tensor.name.replace("/network/", "/")
    del graph.value_info[:]
    onnx.save(model, path)


def make(file, network, attention, spelling):
    """Writes the file and returns the answer of ONNX Runtime, or of PyTorch for its program."""
    feeds = networks.feeds(network)
    path = FOLDER / (f"{file}.pt2" if spelling == "pt2" else f"{file}.onnx")
    with networks.silence():
        networks.export(network, attention, spelling, path)
    pack(path) if spelling == "pt2" else drop_traces(path)
    return encoders.reference(network, attention, spelling, path, feeds)


def main():
    networks.SIZES |= {"hidden_size": 32, "intermediate_size": 32}
    networks.WORDS |= {"vocab_size": 50, "max_position_embeddings": 16}
    FOLDER.mkdir(exist_ok=True)
    arrays = networks.feeds("bert")
    for file, case in FILES.items():
        arrays[file] = make(file, *case)
    torch.manual_seed(1)
    arrays["written.x"] = torch.randn(2, 3, 4).numpy()
    torch.export.save(torch.export.export(Written(), (torch.from_numpy(arrays["written.x"]),)), FOLDER / "written.pt2")
    pack(FOLDER / "written.pt2")
    arrays["written"] = Written()(torch.from_numpy(arrays["written.x"])).numpy()
    np.savez_compressed(FOLDER / "expected.npz", **arrays)
    for path in sorted(FOLDER.iterdir()):
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
