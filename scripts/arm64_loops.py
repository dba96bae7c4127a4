#!/usr/bin/env python3
"""What the compiler made of the kernels for aarch64: of each, the loop that has most of its instruction among all.

    scripts/arm64_loops.py build/arm64 [--mca cortex-a55,neoverse-n1] [--llvm-mca llvm-mca-19]

Prints instructions and accesses to the stack per loop, instructions per 1,000 multiply-accumulates (bytes, elements) and, by llvm-mca, cycles of each family and of the tile of a
convolution that is used most. Exits 1 where the loop of a tile has sums in memory: more accesses to the stack than one per sixteen instructions.
"""

import argparse
import pathlib
import re
import subprocess
import sys

# Object, what a tile's name has in it, its multiply, what one is worth, and the pixels and vectors that most of a convolution is computed by.
TILES = [
    ("arm64_neon", "Products)0", r"smull2?", 8, "5, 1"),
    ("arm64_neon", "Products)1", r"smlal2", 16, "5, 1"),
    ("arm64/words", "WordsTile", r"smlal2?", 4, "4, 4"),  # of 16-bit integers
    ("arm64_dotprod", "Loads)0", r"udot", 16, "6, 4"),
    ("arm64_dotprod", "Loads)1", r"udot", 16, "6, 4"),  # for cores that execute in order
    ("arm64_i8mm", "MmlaTile", r"usmmla", 32, "2, 4"),  # pairs of pixels
]
# Object, what a function's name has in it, its instruction, what one is worth, and in what. One loop of each.
FAMILIES = [
    ("depthwise/arm64_neon", "accumulate_position", r"smlal2?", 4, "MACs"),
    ("integer_attention/arm64_neon", "run_head", r"smull2?", 4, "MACs"),
    ("integer_attention/arm64_dotprod", "run_head", r"udot", 16, "MACs"),
    ("byte_product/arm64_dotprod", "multiply", r"udot", 16, "MACs"),
    ("float/arm64_neon", "LaneChains", r"fmla", 4, "MACs in f32"),
    ("table/arm64_neon", "lookup", r"tb[lx]", 4, "bytes"),
    ("lines/arm64_neon", "layer_norm_lines", r"fmla|fmul|fadd|fsub", 4, "operations in f32"),
    ("lines/arm64_neon", "softmax_lines", r"fmla|fmul|fadd|fsub", 4, "operations in f32"),
]
BRANCH = re.compile(r"(?:b\.\w+|cbn?z|tbn?z|b)\t(?:.*, ?)?([0-9a-f]+) <")


def functions(path):
    text = subprocess.run(["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", "-C", path],
                          capture_output=True, text=True, check=True).stdout
    for match in re.finditer(r"^[0-9a-f]+ <(.+)>:\n((?: .*\n)+)", text, re.M):
        yield match.group(1), [(int(a, 16), line.strip())
                               for a, line in re.findall(r"^ +([0-9a-f]+):\t(.*)$", match.group(2), re.M)]


def densest_loop(instructions, multiply):
    """(multiplies, lines) of the loop with the largest share of multiplies; None where there is none."""
    index = {address: i for i, (address, _) in enumerate(instructions)}
    best = None
    for i, (address, line) in enumerate(instructions):
        branch = BRANCH.match(line)
        target = int(branch.group(1), 16) if branch else None
        if target is None or target > address or target not in index:
            continue
        lines = [text for _, text in instructions[index[target]:i + 1]]
        count = sum(bool(re.match("(" + multiply + r")\t", text)) for text in lines)
        if count and (best is None or count / len(lines) > best[0] / len(best[1])):
            best = (count, lines)
    return best


def cycles(program, lines, cpu):
    """Of one round, by llvm-mca. The branch back is left out: mca repeats what it is given."""
    rounds = 200
    code = "\n".join(re.sub(r"//.*", "", line) for line in lines if not BRANCH.match(line)) + "\n"
    out = subprocess.run([program, "-mtriple=aarch64", "-mattr=+dotprod,+i8mm", "-mcpu=" + cpu, f"-iterations={rounds}"],
                         input=code, capture_output=True, text=True, check=True).stdout
    return int(re.search(r"Total Cycles:\s+(\d+)", out).group(1)) / rounds


def print_families(kernels, program, cpus):
    for file, name, instruction, worth, unit in FAMILIES:
        loops = [densest_loop(instructions, instruction) for function, instructions in functions(kernels / (file + ".cpp.o")) if name in function]
        loops = [loop for loop in loops if loop]
        if not loops:
            sys.exit(f"{kernels / file}: no loop with {instruction} in any {name}")
        count, lines = max(loops, key=lambda loop: loop[0] / len(loop[1]))
        print(f"{file} {name}: {len(lines)} instructions, {count * worth} {unit}, {1000 * len(lines) / (count * worth):.0f} per 1000")
        for cpu in cpus:
            print(f"  {cpu}: {count * worth / cycles(program, lines, cpu):.1f} {unit} per cycle")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--mca", default="", help="processors of llvm-mca, with commas")
    parser.add_argument("--llvm-mca", default="llvm-mca-16", help="the program, of which newer ones have models of more cores")
    arguments = parser.parse_args()
    kernels = pathlib.Path(arguments.build) / "CMakeFiles/octavo_kernels.dir/src/kernels"
    folder = kernels / "conv"
    cpus = [cpu for cpu in arguments.mca.split(",") if cpu]
    spilled = False
    for name, tile, multiply, macs, largest in TILES:
        found = []
        for function, instructions in functions(folder / (name + ".cpp.o")):
            loop = densest_loop(instructions, multiply) if tile in function and "::run" in function else None
            if loop:
                found.append((loop[0], function, loop[1]))
        if not found:
            sys.exit(f"{folder / (name + '.cpp.o')}: no loop with {multiply} in any {tile}")
        for count, function, lines in sorted(found, key=lambda item: item[0]):
            stack = sum("[sp" in line for line in lines)
            spilled |= stack * 16 > len(lines)
            sizes = re.search(r"(\d+, \d+)>", function).group(1)
            print(f"{name} {tile} {sizes}: {len(lines)} instructions, {count * macs} MACs, {1000 * len(lines) / (count * macs):.1f} per 1000, "
                  f"{stack} stack accesses")
        for cpu in cpus:
            count, _, lines = next(item for item in found if largest + ">" in item[1])
            round_cycles = cycles(arguments.llvm_mca, lines, cpu)
            print(f"  {cpu}: {round_cycles:.1f} cycles, {count * macs / round_cycles:.1f} MACs per cycle")
    print_families(kernels, arguments.llvm_mca, cpus)
    sys.exit(1 if spilled else 0)


if __name__ == "__main__":
    main()
