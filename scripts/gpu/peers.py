#!/usr/bin/env python3
"""On a machine with a CUDA device and PyTorch: what torchvision's networks and encoders of text take there in fp32, tf32 and fp16, eager and compiled.

    ./peers.py [NETWORK...] [--batch 32 1 256] [--tokens 128]

`minilm_l6` and `bert_base` have the layers of all-MiniLM-L6-v2 and BERT-base behind their embeddings, and seeded weights. Times are of runs whose inputs and outputs stay on the device. Prints a table; says so where PyTorch or torchvision is not there.
"""
import argparse
import statistics
import sys
import time


def timed(torch, run, seconds):
    """The median of single runs, in ms, and how many there were."""
    for _ in range(5):
        run()
    torch.cuda.synchronize()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times), len(times)


ENCODERS = {"minilm_l6": (6, 384, 12), "bert_base": (12, 768, 12)}  # layers, width, heads


def made(torch, torchvision, name, batch, tokens, dtype):
    """A network on the device, and what it is run on."""
    torch.manual_seed(1)
    if name in ENCODERS:
        layers, width, heads = ENCODERS[name]
        layer = torch.nn.TransformerEncoderLayer(width, heads, 4 * width, activation="gelu", batch_first=True)
        network = torch.nn.TransformerEncoder(layer, layers)
        return network.eval().cuda().to(dtype), torch.randn(batch, tokens, width, device="cuda", dtype=dtype)
    network = getattr(torchvision.models, name)().eval().cuda().to(dtype, memory_format=torch.channels_last)
    return network, torch.randn(batch, 3, 224, 224, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)


def ways(options):
    """What is measured, the most telling first: what does not fit into the time is left out at the end."""
    for batch in options.batch:
        for name in options.networks:
            for kind in options.kinds:
                for how in options.how:
                    yield name, batch, kind, how


def measured(torch, torchvision, options, name, batch, kind, how):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = kind == "tf32"
    network, x = made(torch, torchvision, name, batch, options.tokens, torch.float16 if kind == "fp16" else torch.float32)
    runner = network if how == "eager" else torch.compile(network, mode=options.mode)
    with torch.inference_mode():
        return timed(torch, lambda: runner(x), options.seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=["vgg16", "resnet18", "resnet50", "minilm_l6", "bert_base"])
    parser.add_argument("--batch", type=int, nargs="+", default=[32, 1, 256])
    parser.add_argument("--kinds", nargs="+", default=["fp16", "tf32", "fp32"])
    parser.add_argument("--how", nargs="+", default=["eager", "compiled"])
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each way, after five runs")
    parser.add_argument("--minutes", type=float, default=8.0, help="after which nothing more is begun")
    parser.add_argument("--mode", default="default", help="of torch.compile")
    options = parser.parse_args()
    try:
        import torch
        import torchvision
    except ImportError as error:
        print(f"no peers: {error}")
        return 0
    if not torch.cuda.is_available():
        print("no peers: PyTorch finds no device")
        return 0
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    end, left_out = time.monotonic() + 60 * options.minutes, 0
    for name, batch, kind, how in ways(options):
        if time.monotonic() > end:
            left_out += 1
            continue
        try:
            median, runs = measured(torch, torchvision, options, name, batch, kind, how)
            print(f"{name} batch {batch} {kind} {how}: {median:.3f} ms (median of {runs})", flush=True)
        except Exception as error:  # one that does not compile shall not end the others
            print(f"{name} batch {batch} {kind} {how}: {type(error).__name__}", flush=True)
    if left_out:
        print(f"{left_out} left out: {options.minutes} minutes were over")
    return 0


if __name__ == "__main__":
    sys.exit(main())
