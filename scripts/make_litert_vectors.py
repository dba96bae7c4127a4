"""Makes tests/import/litert and tests/import/litert_floats: small .tflite files of one operator each, with what LiteRT answers by default and by its reference kernels.

    python scripts/make_litert_vectors.py [--floats-only]

NAME.bin holds the inputs of NAME.tflite in order, the default answer, and the reference kernels' answer: raw bytes.
Needs, in any virtual environment: pip install ai-edge-litert==2.3.0 numpy
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "compare"))
import litert_operators  # noqa: E402

LEFT_OUT = {"elu"}  # the reference kernels have none
ATTEMPTS = 60
FLOAT_VARIANTS = 4


def random_inputs(details, rng):
    for detail in details:
        if detail["dtype"] == np.float32:
            # Ties of the rounding among them.
            scale = 0.25
            yield (rng.integers(-600, 600, detail["shape"]) * scale / 2).astype(np.float32)
        else:
            yield rng.integers(0, 256, detail["shape"]).astype(np.uint8).view(detail["dtype"])


def answer(path, resolver, inputs):
    made = Interpreter(model_path=str(path), experimental_op_resolver_type=resolver)
    made.allocate_tensors()
    for detail, value in zip(made.get_input_details(), inputs):
        made.set_tensor(detail["index"], value)
    made.invoke()
    return made.get_tensor(made.get_output_details()[0]["index"]).copy()


def attempt(path, seed):
    """The bytes of a vector, how many answers differ between the two kinds of kernels, and how many distinct answers there are."""
    made = Interpreter(model_path=str(path))
    inputs = list(random_inputs(made.get_input_details(), np.random.default_rng(seed)))
    default, reference = (answer(path, resolver, inputs) for resolver in (OpResolverType.AUTO, OpResolverType.BUILTIN_REF))
    data = b"".join(value.tobytes() for value in [*inputs, default, reference])
    return data, int(np.count_nonzero(default != reference)), len(np.unique(reference))


def write_best(folder, name, make, seeds, dtype, file_name):
    best = None
    with tempfile.TemporaryDirectory() as work:
        for seed in range(ATTEMPTS):
            path = pathlib.Path(work) / f"{seed}.tflite"
            make(litert_operators.Draw(np.random.default_rng([7, litert_operators.number_of(name), *seeds, seed]), dtype, False)).save(path)
            data, differing, distinct = attempt(path, seed)
            # Vectors that tell the formulas apart, then those whose answers say much.
            rank = (min(differing, 3), distinct)
            if best is None or rank > best[0]:
                best = (rank, path.read_bytes(), data)
    (folder / f"{file_name}.tflite").write_bytes(best[1])
    (folder / f"{file_name}.bin").write_bytes(best[2])
    print(f"{file_name}: {len(best[1])} + {len(best[2])} bytes, {best[0][0]} or more answers differ, {best[0][1]} distinct")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--floats-only", action="store_true", help="leave tests/import/litert as it is")
    only_floats = parser.parse_args().floats_only
    folder, floats = ROOT / "tests" / "import" / "litert", ROOT / "tests" / "import" / "litert_floats"
    folder.mkdir(exist_ok=True)
    floats.mkdir(exist_ok=True)
    for name, make in litert_operators.OPERATORS.items():
        for dtype in ("s8", "u8"):
            if name not in LEFT_OUT and not only_floats:
                write_best(folder, name, make, [dtype == "s8"], dtype, f"{name}_{dtype}")
    for name, make in litert_operators.FLOAT_OPERATORS.items():
        for i in range(FLOAT_VARIANTS):
            write_best(floats, name, make, [i], "s8", f"{name}_{i}")


if __name__ == "__main__":
    main()
