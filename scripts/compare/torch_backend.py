"""torch.compile with Octavo beside eager PyTorch and inductor, fp32 and int8, in turns. See README.md beside this file.

    python scripts/compare/torch_backend.py --images FOLDER --results results.jsonl [--answers] [--threads 1] [NAME...]

A line of JSON per network: minimum and median in ms of every way, and how far its answers are from eager PyTorch's of the same numbers. A
network that has a line is left out, so an interrupted run goes on; `--answers` measures no time, leaves inductor out, and runs the pt2e
graph a second time without oneDNN, which says how far PyTorch's answers are from its own. Names are torchvision's, `timm:NAME`, or
`minilm` (transformers, six layers of 384, seeded weights).
"""

import argparse
import json
import logging
import pathlib
import statistics
import time
import warnings

import numpy as np
import octavo.torch
import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

import networks

TIMED = [
    *("resnet18", "resnet50", "vgg16", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0", "shufflenet_v2_x1_0", "regnet_y_400mf"),
    *("timm:convnext_atto", "timm:vit_tiny_patch16_224", "minilm"),
]
MORE = [
    *("squeezenet1_1", "mnasnet1_0", "googlenet", "densenet121", "regnet_x_400mf", "resnet34", "resnext50_32x4d", "alexnet", "vgg11_bn", "efficientnet_b1"),
    *("inception_v3", "mobilenet_v3_small", "shufflenet_v2_x0_5", "convnext_tiny", "wide_resnet50_2", "efficientnet_v2_s", "timm:mobilevit_xxs"),
    *("timm:mixer_s32_224", "timm:deit_tiny_patch16_224", "timm:swin_tiny_patch4_window7_224", "timm:ghostnet_100", "timm:repvgg_a0"),
    *("timm:levit_128s", "timm:hardcorenas_a", "timm:cspresnet50", "timm:efficientformer_l1", "timm:poolformer_s12", "timm:edgenext_xx_small", "timm:resnest14d"),
]


class Sentences(torch.nn.Module):
    """A BERT that gives tensors."""

    def __init__(self):
        super().__init__()
        from transformers import BertConfig, BertModel

        sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
        self.bert = BertModel(BertConfig(**sizes))

    def forward(self, ids, mask):
        return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state


def network(name, photographs):
    """A network in eval mode and samples: tuples of inputs."""
    torch.manual_seed(1)
    if name == "minilm":
        masks = [torch.ones(1, 32, dtype=torch.long) for _ in range(8)]
        return Sentences().eval(), [(torch.randint(0, 30000, (1, 32)), mask) for mask in masks]
    if name.startswith("timm:"):
        import timm

        model = timm.create_model(name.removeprefix("timm:"), pretrained=False).eval()
        head = model.get_classifier()
        if isinstance(head, torch.nn.Linear) and not head.weight.any():  # MLP-Mixer's: every answer would be 0
            torch.nn.init.normal_(head.weight, std=0.02)
        size = model.default_cfg["input_size"][-1]
        images = torch.nn.functional.interpolate(torch.from_numpy(photographs), size=(size, size), mode="bilinear")
    else:
        model, made, _ = networks.make(name, photographs)
        images = torch.from_numpy(made)
    return model, [(image[None],) for image in images]


def converted(model, samples, quantizer):
    # X86InductorQuantizer looks for modules as strict export names them.
    prepared = prepare_pt2e(torch.export.export(model, samples[0], strict=isinstance(quantizer, x86.X86InductorQuantizer)).module(), quantizer)
    with torch.no_grad():
        for sample in samples[:4]:
            prepared(*sample)
    return convert_pt2e(prepared)


def without_onednn(function):
    """The same by PyTorch's own loops: sums in another order."""

    def run(*sample):
        with torch.backends.mkldnn.flags(enabled=False):
            return function(*sample)

    return run


def quantizers(is_inductor):
    xnnpack = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    inductor = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    return {"octavo": xnnpack, **({"inductor": inductor} if is_inductor else {}), "octavo's own": octavo.torch.OctavoQuantizer()}


def answers(function, samples):
    with torch.no_grad():
        return [function(*sample).numpy() for sample in samples]


def decibels(expected, found):
    error = sum(float(((a - b).astype(np.float64) ** 2).sum()) for a, b in zip(expected, found))
    return round(10 * np.log10(sum(float((a.astype(np.float64) ** 2).sum()) for a in expected) / max(error, 1e-30)), 1)


class Ways:
    """What runs the network: a function for each way, and what eager PyTorch gives of the same numbers."""

    def __init__(self, model, samples, is_timed):
        self.functions = {"eager fp32": model}
        self.references = {"eager fp32": model}
        self.notes = {}
        self.samples = samples
        self.add("octavo fp32", model, model, lambda: torch.compile(model, backend=octavo.torch.backend))
        if is_timed:
            self.add("inductor fp32", model, model, lambda: torch.compile(model))
        for backend, quantizer in quantizers(is_timed).items():
            way = f"{backend} int8"
            try:
                quantized = converted(model, samples, quantizer)
            except Exception as error:  # noqa: BLE001
                self.notes[way] = f"not quantized: {str(error).splitlines()[0]}"
                continue
            compiler = "inductor" if backend == "inductor" else octavo.torch.backend
            self.add(way, quantized, quantized, lambda q=quantized, c=compiler: torch.compile(q, backend=c))
            if backend == "octavo":
                self.add("eager pt2e", quantized, quantized, lambda q=quantized: q if is_timed else without_onednn(q))

    def add(self, way, model, reference, make):
        """Compiled by a first call, whose warnings are kept."""
        with warnings.catch_warnings(record=True) as caught, torch.no_grad(), torch._inductor.config.patch(freezing=True):
            warnings.simplefilter("always")
            try:
                function = make()
                start = time.perf_counter()
                function(*self.samples[0])
                self.notes[f"{way}, first call"] = f"{time.perf_counter() - start:.1f} s"
            except Exception as error:  # noqa: BLE001
                self.notes[way] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
                return
        self.functions[way], self.references[way] = function, reference
        told = [str(each.message) for each in caught if str(each.message).startswith("octavo:")]
        if told:
            self.notes[way] = "; ".join(told)

    def differences(self):
        """dB of every way to eager PyTorch of the same numbers, and of int8 to fp32."""
        expected = {id(each): answers(each, self.samples) for each in self.references.values()}
        whole = expected[id(self.references["eager fp32"])]
        found = {}
        for way, function in self.functions.items():
            given = answers(function, self.samples)
            found[way] = {"to_eager": decibels(expected[id(self.references[way])], given), "to_fp32": decibels(whole, given)}
        return found

    def times(self, seconds, turns):
        """Minimum and median in ms, in turns."""
        sample = self.samples[0]
        taken = {way: [] for way in self.functions}
        with torch.no_grad():
            for turn in range(turns):
                ways = list(self.functions)
                for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
                    function, end = self.functions[way], time.perf_counter() + seconds
                    function(*sample)
                    while True:
                        start = time.perf_counter()
                        function(*sample)
                        now = time.perf_counter()
                        taken[way].append((now - start) * 1e3)
                        if now > end:
                            break
        return {way: {"min": round(min(each), 3), "median": round(statistics.median(each), 3)} for way, each in taken.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", required=True, help="folder of jpegs")
    parser.add_argument("--results", required=True, help="file to append a line per network to")
    parser.add_argument("--answers", action="store_true", help="no times, and forty networks by default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each way in each turn")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(arguments.threads)
    results = pathlib.Path(arguments.results)
    done = {json.loads(line)["name"] for line in results.read_text().splitlines()} if results.exists() else set()
    photographs = networks.load_images(arguments.images, 16)
    for name in arguments.names or (TIMED + MORE if arguments.answers else TIMED):
        if name in done:
            continue
        torch._dynamo.reset()
        row = {"name": name, "threads": arguments.threads}
        try:
            model, samples = network(name, photographs)
            ways = Ways(model, samples[:6], is_timed=not arguments.answers)
            row["decibels"] = ways.differences()
            if not arguments.answers:
                row["ms"] = ways.times(arguments.seconds, arguments.turns)
            row["notes"] = ways.notes
        except Exception as error:  # noqa: BLE001
            row["failed"] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        with results.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
