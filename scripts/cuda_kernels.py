#!/usr/bin/env python3
"""What nvcc made of the kernels for devices: registers, memory, tensor core instructions, and what their loops allow.

    scripts/cuda_kernels.py BUILD [--markdown]

BUILD is a folder that was configured with OCTAVO_CUDA. Ends with 1 where a kernel spills registers, uses local memory, is missing for an architecture, or
where a convolution or attention of bytes has no tensor core instruction in its loop. The share is that of the tensor cores' peak which the instructions of the loop over K allow:
the time of its IMMA over the longest of that, the time to issue all of its instructions, and the time of shared memory. Waiting is not in it.
"""
import argparse
import pathlib
import re
import subprocess
import sys

# Cycles of a scheduler's tensor core for IMMA.16832 (4096 multiply-accumulates): 2048, 1024 and 4096 of them a cycle and multiprocessor, four schedulers.
IMMA_CYCLES = {80: 8, 89: 16, 90: 4, 100: 4}
# IGMMA.64xNx32 has N / 8 times as many for four warps, of which each scheduler has one; operands come from shared memory: (64 + N) * 32 bytes of it.
GROUP_CYCLES = {64: 32, 128: 64}
# A multiprocessor's shared memory takes 128 bytes a cycle, for four schedulers: 512 bytes of a warp are 4 cycles of it, 16 where every scheduler has one.
SHARED_CYCLES = {"LDSM": 16, "LDGSTS.128": 16, "LDGSTS": 4, "STS": 4, "LDS": 4}


class Loop:
    """The instructions between a backward branch and where it goes."""

    def __init__(self, instructions):
        self.count = len(instructions)
        self.imma = sum(name.startswith("IMMA") for name in instructions)
        self.groups = [int(re.match(r"IGMMA.64x(\d+)x", name)[1]) for name in instructions if name.startswith("IGMMA")]
        self.shared = sum((64 + columns) * 32 // 128 for columns in self.groups)
        for name in instructions:
            kind = name.split(".")[0]
            kind += ".128" if kind == "LDGSTS" and name.endswith(".128") else ""
            self.shared += SHARED_CYCLES.get(kind, 0)

    def share(self, architecture):
        tensor = self.imma * IMMA_CYCLES[architecture] + sum(GROUP_CYCLES[columns] for columns in self.groups)
        bounds = {"tensor cores": tensor, "instructions": self.count, "shared memory": self.shared}
        bound = max(bounds, key=bounds.get)
        return tensor / bounds[bound], bound


class Kernel:
    def __init__(self, name):
        self.name, self.registers, self.stack, self.local, self.code = name, 0, 0, 0, []

    def stores(self, first, last):
        return any(first <= address <= last and name.startswith("STS") for address, name, _ in self.code)

    def loop(self):
        """The innermost loop with most tensor core instructions; none of a kernel without them."""
        best = None
        for at, (address, name, target) in enumerate(self.code):
            if name != "BRA" or target is None or target >= address:
                continue
            first = next(i for i, (other, _, _) in enumerate(self.code) if other >= target)
            loop = Loop([name for _, name, _ in self.code[first:at + 1]])
            if (loop.imma or loop.groups) and (best is None or loop.count < best.count):
                best = loop
                # Of bytes that are gathered one by one: how often it runs is not in these numbers.
                best.has_loop = any(n == "BRA" and t is not None and target <= t < a and self.stores(t, a) for a, n, t in self.code[first:at])
        return best


def run(tool, *arguments):
    return subprocess.run([tool, *arguments], check=True, capture_output=True, text=True).stdout


def read(tool, image):
    kernels = {}
    usage = re.compile(r"Function (\w+):\s*\n\s*REG:(\d+) STACK:(\d+) SHARED:\d+ LOCAL:(\d+)")
    for name, registers, stack, local in usage.findall(run(tool, "--dump-resource-usage", image)):
        kernel = kernels[name] = Kernel(name)
        kernel.registers, kernel.stack, kernel.local = int(registers), int(stack), int(local)
    kernel = None
    line = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?([A-Z][A-Zx0-9_.]*)\s*(.*?);")
    for text in run(tool, "-sass", image).splitlines():
        if "Function : " in text:
            kernel = kernels[text.split("Function : ")[1].strip()]
        elif found := line.match(text):
            address, name, operands = found.groups()
            target = re.search(r"0x([0-9a-f]+)\s*$", operands) if name.startswith("BRA") else None
            kernel.code.append((int(address, 16), name.split(".")[0] if target else name, int(target[1], 16) if target else None))
    return kernels


def number_of(image):
    """90 of kernels_sm90a.cubin."""
    return int(re.search(r"_sm(\d+)", image.stem)[1])


def wanted(source):
    return set(re.findall(r"extern \"C\" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\(", source))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--markdown", action="store_true", help="the rows of docs/cuda.md")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    names = wanted((root / "src/cuda/device/kernels.cu").read_text())
    tool = root / "build/cuda-root/nvidia/cu13/bin/cuobjdump"
    images = sorted((options.build / "cuda").glob("kernels_sm*.cubin"), key=lambda image: number_of(image))
    wrong = [] if images else [f"{options.build}: no images"]
    bar = " | " if options.markdown else "  "
    for image in images:
        architecture = number_of(image)
        kernels = read(tool, image)
        wrong += [f"sm_{architecture}: no kernel {name}" for name in sorted(names - kernels.keys())]
        for kernel in sorted(kernels.values(), key=lambda kernel: kernel.name):
            loop = kernel.loop()
            if kernel.stack or kernel.local:
                wrong.append(f"sm_{architecture}: {kernel.name} has {kernel.stack} bytes of stack, {kernel.local} of local memory")
            if kernel.name.startswith(("conv_", "attention_q8_tile")) and not loop:
                wrong.append(f"sm_{architecture}: {kernel.name} has no tensor core instruction in a loop")
            share, bound = loop.share(architecture) if loop else (0, "")
            row = [f"sm_{architecture}", f"{kernel.name:16}", f"{kernel.registers:3} registers", f"{len(kernel.code):5} instructions"]
            if loop:
                row += [f"loop {loop.count:4}, {loop.imma:3} IMMA, {len(loop.groups):1} IGMMA", "a loop in it" if loop.has_loop else f"{share:4.0%} of peak, bound by {bound}"]
            print(bar.join(row))
    for text in wrong:
        print(f"{sys.argv[0]}: {text}", file=sys.stderr)
    print(f"{len(images)} architectures, {len(names)} kernels, {len(wrong)} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
