"""Makes tests/import/litert: small .tflite files of one operator each, with what LiteRT answers by default and by its reference kernels.

    python scripts/make_litert_vectors.py

NAME.bin holds the inputs of NAME.tflite in order, the default answer, and the reference kernels' answer: raw bytes.
Needs, in any virtual environment: pip install ai-edge-litert==2.3.0 numpy
"""

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


def main():
    folder = ROOT / "tests" / "import" / "litert"
    folder.mkdir(exist_ok=True)
    for name, make in litert_operators.OPERATORS.items():
        for dtype in ("s8", "u8"):
            if name in LEFT_OUT:
                continue
            best = None
            with tempfile.TemporaryDirectory() as work:
                for seed in range(ATTEMPTS):
                    path = pathlib.Path(work) / f"{seed}.tflite"
                    rng = np.random.default_rng([7, sorted(litert_operators.OPERATORS).index(name), dtype == "s8", seed])
                    make(litert_operators.Draw(rng, dtype, False)).save(path)
                    data, differing, distinct = attempt(path, seed)
                    # Vectors that tell the formulas apart, then those whose answers say much.
                    rank = (min(differing, 3), distinct)
                    if best is None or rank > best[0]:
                        best = (rank, path.read_bytes(), data)
            (folder / f"{name}_{dtype}.tflite").write_bytes(best[1])
            (folder / f"{name}_{dtype}.bin").write_bytes(best[2])
            print(f"{name}_{dtype}: {len(best[1])} + {len(best[2])} bytes, {best[0][0]} or more answers differ, {best[0][1]} distinct")


if __name__ == "__main__":
    main()
