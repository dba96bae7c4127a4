"""Installs a build into a folder of its own, builds the programs of examples/ against it, runs compiled models with them, and
looks at what they linked. The standard library only.

    installed_package.py SOURCE BUILD COMPILER

examples/embed is only built where $OCTAVO_DATA (../shared/data) has no encoder.
"""
import ast
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

# What compiles models, chooses kernels, or is needed for it. None of it may be in a program that only runs.
FORBIDDEN = re.compile(
    r"google::protobuf|nlohmann|flatbuffers|onnx::|zip_|dnnl|GOMP_|\bomp_"
    r"|octavo::(make_plan|choose|all_choices|all_ways|lower|import_)\b"
    r"|octavo::(\(anonymous namespace\)::)?(conv_cost|conv_refusal|pack_conv|pack_winograd)\b"
)


def run(*command, code=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def first_image(npz):
    """The first of its u8 images as f32 between -1 and 1, as '--preprocess tf' makes it: the .npy, and its values."""
    data = zipfile.ZipFile(npz).read("images.npy")
    start = 10 + struct.unpack("<H", data[8:10])[0]
    count, height, width, channels = ast.literal_eval(data[10:start].decode())["shape"]
    pixels = data[start : start + height * width * channels]
    values = struct.pack(f"<{len(pixels)}f", *(pixel / 127.5 - 1.0 for pixel in pixels))
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {channels}, {height}, {width}), }}".ljust(117)
    return b"\x93NUMPY\x01\x00v\x00" + header.encode() + b"\n" + values, values


def largest(npy):
    """Index and value of the largest score."""
    data = npy.read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    scores = struct.unpack(f"<{(len(data) - start) // 4}f", data[start:])
    return f"{scores.index(max(scores))} {max(scores):.9g}\n"


def build_example(source, work, compiler, *options, name="run_octv"):
    build = work / "-".join((name, *options))
    run("cmake", "-S", source / "examples" / name, "-B", build, f"-DCMAKE_PREFIX_PATH={work / 'prefix'}",
        f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release", *options)
    run("cmake", "--build", build)
    return build / name


def check_symbols(program):
    symbols = run("nm", "-C", program).splitlines()
    found = [symbol for symbol in symbols if FORBIDDEN.search(symbol) and not symbol.endswith("octavo_onednn_library")]
    if found:
        sys.exit("linked, though it is not needed to run a model:\n" + "\n".join(found))
    if not any("octavo::load_model" in symbol for symbol in symbols):
        sys.exit("no symbol of Octavo is there: what was looked at?")


def check_embedder(program, octavo, encoder, work):
    """A sentence's nearest neighbour is the same sentence, in a batch with a longer one."""
    sentences = [(101, 2023, 102), (101, 2002, 2003, 1037, 2158, 102), (101, 2023, 102)]
    with zipfile.ZipFile(work / "tokens.npz", "w") as tokens:
        for name, values in ("s_ids", sum(sentences, ())), ("s_lengths", [len(sentence) for sentence in sentences]):
            header = f"{{'descr': '<u2', 'fortran_order': False, 'shape': ({len(values)},), }}".ljust(117) + "\n"
            tokens.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00v\x00" + header.encode() + struct.pack(f"<{len(values)}H", *values))
    run(octavo, "compile", encoder, "-o", work / "encoder.octv", "--calibrate", "random")
    answer = run(program, work / "encoder.octv", work / "tokens.npz", "s", 0, 2)
    if not re.match(r"0: 2 \(1\.0000\) 1 .*\n2: 0 \(1\.0000\) 1 ", answer):
        sys.exit(f"{program} says {answer}")


def main():
    source, build, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    digits = source / "examples/digits"
    with tempfile.TemporaryDirectory(prefix="runtime_test.", dir=build) as folder:
        work = pathlib.Path(folder)
        run("cmake", "--install", build, "--prefix", work / "prefix")
        octavo = work / "prefix/bin/octavo"
        int8, fp32 = work / "int8.octv", work / "fp32.octv"
        run(octavo, "compile", digits / "digits.onnx", "-o", int8, "--calibrate", digits / "calibration.npz", "--preprocess", "tf")
        run(octavo, "compile", digits / "digits.onnx", "-o", fp32, "--precision", "fp32")
        npy, values = first_image(digits / "test.npz")
        (work / "image.npy").write_bytes(npy)
        (work / "image.bin").write_bytes(values)

        program = build_example(source, work, compiler)
        check_symbols(program)
        for model, example in ((int8, program), (fp32, build_example(source, work, compiler, "-DRUN_OCTV_FP32=ON"))):
            run(octavo, "run", model, "--input", work / "image.npy", "--output-dir", work)
            expected, answer = largest(work / "logits.npy"), run(example, model, work / "image.bin")
            if answer != expected:
                sys.exit(f"{model.name}: {example} says {answer}, octavo run {expected}")
        refusal = run(program, fp32, work / "image.bin", code=4)
        if not re.search(r"step \d+ .* of octavo_onednn, which this program does not link", refusal):
            sys.exit(f"another message was expected where oneDNN is not linked: {refusal}")

        embedder = build_example(source, work, compiler, name="embed")
        encoder = pathlib.Path(os.environ.get("OCTAVO_DATA", source / "../shared/data")) / "models/minilm_l6_v2_fp32.onnx"
        if encoder.exists():
            check_embedder(embedder, octavo, encoder, work)

        run("strip", program)
        print(f"run_octv, stripped: {program.stat().st_size} bytes")


main()
