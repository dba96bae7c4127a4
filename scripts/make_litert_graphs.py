"""Makes tests/bits/litert_graphs.npz: small random quantized .tflite graphs with what LiteRT answers.

    python scripts/make_litert_graphs.py [--count N] [--length N]

GRAPH/model holds a file, GRAPH/in/NAME its inputs, GRAPH/tflite-xnnpack/NAME the outputs of the default interpreter and GRAPH/tflite-double/NAME those
of the reference kernels. The same graphs and answers every time. Needs, in any virtual environment:
pip install ai-edge-litert==2.3.0 flatbuffers numpy
"""

import argparse
import io
import pathlib
import sys
import zipfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "compare"))
import litert_graph_operators  # noqa: E402
import litert_graphs  # noqa: E402

FIRST_SEED = 1_000_000
LARGEST = 5_000  # bytes of a file: small graphs are read as well as large ones


def arrays_of(seed, length):
    """The arrays of one graph, or nothing where it is large or LiteRT does not take it."""
    graph = litert_graph_operators.random_graph(seed, length)
    content, inputs = graph.content(), graph.sample_inputs()
    if len(content) > LARGEST:
        return {}
    arrays = {"model": np.frombuffer(content, np.uint8)} | {f"in/{name}": value for name, value in inputs.items()}
    for profile in graph.profiles:
        answers = litert_graphs.litert_answers(content, profile, inputs)
        if answers is None:
            return {}
        arrays |= {f"{profile}/{name}": value for name, value in answers.items()}
    return arrays


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--length", type=int, default=8)
    arguments = parser.parse_args()
    path, seed, made = ROOT / "tests" / "bits" / "litert_graphs.npz", FIRST_SEED, 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        while made < arguments.count:
            arrays = arrays_of(seed, arguments.length)
            for name, value in arrays.items():
                buffer = io.BytesIO()
                np.save(buffer, value)
                archive.writestr(zipfile.ZipInfo(f"{seed}/{name}.npy"), buffer.getvalue(), zipfile.ZIP_DEFLATED, 9)
            made += 1 if arrays else 0
            seed += 1
    print(f"{path}: {made} graphs, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
