"""Story: VGG16, batch 32, quantized by PyTorch's pt2e, is slower than in fp32. Why, and what runs it in integers.

    python scripts/stories/pt2e_vgg16.py

convert_pt2e leaves pairs of quantize and dequantize nodes beside operators in floats. Timed in turns: the network in fp32, eager and
compiled by inductor; the converted graph as it is, eager; the graph of X86InductorQuantizer, compiled by inductor with freezing, which
turns its pairs into integer kernels; Octavo of the exported converted graph, and of fp32. `octavo diagnose --engine torch` reads the
converted graph and PyTorch's trace of it.
Needs: pip install torch torchvision torchao executorch; build/bin/octavo
"""

import json

import common
import torch
import torchvision


def converted(model, x, quantizer, is_strict):
    """As pt2e's documentation has it, ranges from one batch of random pictures."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    prepared = prepare_pt2e(torch.export.export(model, (x,), strict=is_strict).module(), quantizer)
    prepared(x)
    return convert_pt2e(prepared)


def saved(given, name, module, x):
    path = given.folder / f"{name}.pt2"
    if not path.exists():
        torch.export.save(torch.export.export(module, (x,)), path)
    return path


def traced(given, run, path, x):
    """What `octavo diagnose` says of a program and of PyTorch's trace of it, two runs."""
    trace, report = given.folder / "trace.json", given.folder / "report.json"
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for _ in range(2):
            run(x)
    profiler.export_chrome_trace(str(trace))
    common.octavo(given, "diagnose", path, "--engine", "torch", "--profile", trace, "--json", report)
    return json.loads(report.read_text())


def main():
    given = common.arguments(__doc__, network={"default": "vgg16"}, batch={"type": int, "default": 32}, size={"type": int, "default": 224})
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    model = torchvision.models.get_model(given.network, weights=None).eval()
    x = torch.randn(given.batch, 3, given.size, given.size)
    pairs = converted(model, x, XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True)), False)
    files = {"fp32": saved(given, f"{given.network}_fp32", model, x), "pt2e": saved(given, f"{given.network}_pt2e", pairs, x)}
    with torch._inductor.config.patch(freezing=True):
        runs = {"fp32, eager": model, "fp32, inductor": torch.compile(model), "pt2e, eager": pairs}
        lowered = converted(model, x, x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config()), True)
        runs["pt2e of X86InductorQuantizer, inductor"] = torch.compile(lowered)
        for run in runs.values():
            run(x)
    own = {f"Octavo of {name}": common.OctavoRun(given, path, precision, given.batch) for (name, path), precision in zip(files.items(), ("fp32", "int8"))}
    times = common.timed(given, {name: (lambda each=run: each(x)) for name, run in runs.items()}, own)

    print(f"torch {torch.__version__}, {given.network}, batch {given.batch}, {given.size}x{given.size}, {common.told_machine(given.threads)}\n")
    fp32 = times["fp32, eager"]["min_ms"]
    common.table(["run", "ms", "median", "to fp32, eager"], [[name, f"{each['min_ms']:.1f}", f"{each['median_ms']:.1f}", f"{fp32 / each['min_ms']:.2f}x"] for name, each in times.items()])
    found = {name: traced(given, runs[f"{name}, eager"], path, x) for name, path in files.items()}
    pt2e = found["pt2e"]
    print(f"{pt2e['verdict']}\n")
    before, after = found["fp32"]["profile"], pt2e["profile"]
    more = {each: after[each] - before[each] for each in ("integer_ms", "float_products_ms", "conversions_ms", "others_ms", "total_ms")}
    rows = [[each.removesuffix("_ms").replace("_", " "), *(f"{side[each]:.1f}" for side in (before, after)), f"{ms:+.1f}", f"{100 * ms / more['total_ms']:.0f} %"] for each, ms in more.items()]
    common.table(["traced", "fp32, ms", "pt2e, ms", "lost", "of all that is lost"], rows)
    common.table(["finding", "nodes", "ms", "sure"], [[each["cause"], len(each["nodes"]), f"{each['measured_ms'] or each['predicted_ms']:.1f}", each["sure"]] for each in pt2e["findings"]])
    lost = times["pt2e, eager"]["min_ms"] - fp32
    print(f"The converted graph takes {lost:.1f} ms more than fp32, {more['total_ms']:.1f} in traces; its conversions are {100 * more['conversions_ms'] / more['total_ms']:.0f} % of these\n")


if __name__ == "__main__":
    main()
