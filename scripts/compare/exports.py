"""Every file of a folder, at sizes of all kinds: Octavo in fp32 (and int8 by samples of several sizes) beside ONNX Runtime.

    python scripts/compare/exports.py FOLDER [NAME...] [--sizes 20] [--int8] [--json FILE]

The files are those of exporters, with names for what is open ("batch_size", "past_sequence_length + 1"). Sizes are drawn by a seed: each name alone 0 and 1
among others, then random ones. A line for each file: whether it imports; the least dB of any output at any size (infinite: the same numbers), with empty
outputs that must have ONNX Runtime's shape; how many sizes only Octavo refused, only ONNX Runtime, and both; ms of processor time of the first run of a new
size and of the shortest of five later ones, in the median of all sizes at which nothing is empty. Then what was refused, once for each message. One thread. Random
numbers of a file are made 0 for both. Needs Octavo's wheel, numpy, onnx and onnxruntime.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import re
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import onnx
import onnxruntime

import octavo

LATER_RUNS = 5
#: What a name of a size that has such a word in it may be: numbers from the first to the second, in steps.
RANGES = {"channels": (3, 3, 1), "feature_size": (80, 80, 1), "batch": (0, 3, 1), "height": (32, 256, 1), "width": (32, 256, 1), "": (0, 48, 1)}
#: By what the file is called; before RANGES.
RANGES_OF_FILES = {
    "swin": {"height": (224, 448, 224), "width": (224, 448, 224)},  # whole windows in every stage, or the file has no meaning
}
#: Ids are below the vocabulary of every model.
VOCABULARY = 50

Sizes = dict[str, int]
Feeds = dict[str, np.ndarray]


@dataclasses.dataclass
class Declared:
    """An input: its type, and numbers or expressions over names."""

    name: str
    dtype: np.dtype
    dims: list[int | str]


def without_noise(path: Path, folder: str) -> Path:
    """The file, or a copy in which normal numbers deviate by 1e-30: at 0 ONNX Runtime aborts."""
    model = onnx.load(path)
    random = [node for node in model.graph.node if node.op_type in ("RandomNormal", "RandomNormalLike")]
    if not random:
        return path
    for node in random:
        kept = [each for each in node.attribute if each.name != "scale"]
        del node.attribute[:]
        node.attribute.extend([*kept, onnx.helper.make_attribute("scale", 1e-30)])
    copy = Path(folder) / path.name
    onnx.save(model, copy)
    return copy


def declared_inputs(path: Path) -> list[Declared]:
    graph = onnx.load(path, load_external_data=False).graph
    constants = {each.name for each in graph.initializer}
    inputs = []
    for given in graph.input:
        if given.name in constants:
            continue
        kind = given.type.tensor_type
        dims = [dim.dim_param or dim.dim_value for dim in kind.shape.dim]
        inputs.append(Declared(given.name, np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)), dims))
    return inputs


def names_in(dim: int | str) -> list[str]:
    return re.findall(r"[A-Za-z_]\w*", dim) if isinstance(dim, str) else []


def extent(dim: int | str, sizes: Sizes) -> int:
    """An expression of +, -, * and / over names, rounded down."""
    if isinstance(dim, int):
        return dim
    return int(eval(re.sub(r"(?<!/)/(?!/)", "//", dim), {"__builtins__": {}}, dict(sizes)))


def range_of(name: str, path: Path) -> tuple[int, int, int]:
    for word, names in RANGES_OF_FILES.items():
        if word in str(path) and name in names:
            return names[name]
    return next(found for word, found in RANGES.items() if word in name)


def drawn_sizes(inputs: list[Declared], path: Path, count: int) -> Iterator[Sizes]:
    names = sorted({name for given in inputs for dim in given.dims for name in names_in(dim)})
    ranges = {name: range_of(name, path) for name in names}
    random = np.random.default_rng(7)

    def drawn() -> Sizes:
        return {name: int(random.integers(max(low, min(2, high)), high + 1)) // step * step for name, (low, high, step) in ranges.items()}

    sizes = [drawn()]
    for few in (0, 1):
        sizes += [drawn() | {name: few} for name, (low, high, _) in ranges.items() if low <= few <= high]
    while len(sizes) < count:
        sizes.append(drawn())
    yield from sizes[:count]


def feeds_at(inputs: list[Declared], sizes: Sizes) -> Feeds:
    random = np.random.default_rng([3, *sizes.values()])
    feeds = {}
    for given in inputs:
        shape = [extent(dim, sizes) for dim in given.dims]
        if given.dtype.kind == "f":
            value = random.standard_normal(shape)
        elif "mask" in given.name:
            value = np.ones(shape)
        elif "position" in given.name:
            value = np.broadcast_to(np.arange(shape[-1]), shape)
        elif given.dtype == np.bool_:
            value = random.integers(0, 2, shape)
        else:
            value = random.integers(2, VOCABULARY, shape)
        feeds[given.name] = np.ascontiguousarray(value, dtype=given.dtype)
    return feeds


def decibels(found: np.ndarray, wanted: np.ndarray) -> float:
    """Of the signal to what differs; minus infinity where the shapes do, or where one is a number and the other is not."""
    if found.shape != wanted.shape:
        return -math.inf
    found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    odd = ~np.isfinite(wanted)
    if not np.array_equal(found[odd], wanted[odd], equal_nan=True) or not np.isfinite(found[~odd]).all():
        return -math.inf
    noise, signal = np.square(found[~odd] - wanted[~odd]).sum(), np.square(wanted[~odd]).sum()
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal > 0 else -math.inf


def first_and_later(run: Callable[[], list[np.ndarray]]) -> tuple[list[np.ndarray], float, float]:
    """Results, ms of the first run, and of the shortest of the later ones: of processor time, since other work may be going on."""
    start = time.process_time()
    results = run()
    first, later = time.process_time() - start, math.inf
    for _ in range(LATER_RUNS):
        start = time.process_time()
        run()
        later = min(later, time.process_time() - start)
    return results, first * 1e3, later * 1e3


@dataclasses.dataclass
class AtSize:
    sizes: Sizes
    refusal: str = ""  # Octavo's
    peer_refusal: str = ""
    worst: float = math.inf
    output: str = ""  # whose dB that is
    ours: tuple[float, float] = (0.0, 0.0)
    peers: tuple[float, float] = (0.0, 0.0)


@dataclasses.dataclass
class File:
    path: Path
    refusal: str = ""  # where it does not compile
    at: list[AtSize] = dataclasses.field(default_factory=list)

    @property
    def refused(self) -> list[AtSize]:
        """What only Octavo refuses."""
        return [each for each in self.at if each.refusal and not each.peer_refusal]

    @property
    def worst(self) -> float:
        return min((each.worst for each in self.at if not each.refusal and not each.peer_refusal), default=math.inf)


def at_size(model: octavo.Model, session: Any, inputs: list[Declared], sizes: Sizes) -> AtSize:
    feeds, made = feeds_at(inputs, sizes), AtSize(sizes)
    ours: list[np.ndarray] = []
    peers: list[np.ndarray] = []
    try:
        peers, *times = first_and_later(lambda: session.run(None, feeds))
        made.peers = (times[0], times[1])
    except Exception as error:  # every kind that it has
        made.peer_refusal = str(error).splitlines()[0]
    try:
        ours, *times = first_and_later(lambda: list(model.run(feeds).values()))
        made.ours = (times[0], times[1])
    except octavo.OctavoError as error:
        made.refusal = str(error).splitlines()[0]
    for output, found, wanted in zip(session.get_outputs(), ours, peers):
        ratio = decibels(found, wanted)
        if ratio < made.worst:
            made.worst, made.output = ratio, f"{output.name} {found.shape} beside {wanted.shape}"
    return made


def compared(path: Path, count: int, int8: bool = False) -> File:
    inputs, file = declared_inputs(path), File(path)
    sizes = list(drawn_sizes(inputs, path, count))
    options: dict[str, Any] = {"precision": "fp32"}
    if int8:
        # Without a past a decoder begins; without anything else nothing is computed.
        shown = [each for each in sizes if all(size > 0 or "past" in name for name, size in each.items())]
        options = {"precision": "int8", "calibrate": [feeds_at(inputs, each) for each in shown[:8]]}
    try:
        model = octavo.compile(path, threads=1, progress=False, **options)
    except octavo.OctavoError as error:
        file.refusal = str(error)
        return file
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    file.at = [at_size(model, session, inputs, each) for each in sizes]
    return file


def line_of(file: File, name: str) -> str:
    if file.refusal:
        return f"| {name} | {file.refusal.splitlines()[0]} | | | | | |"
    theirs = [each for each in file.at if each.peer_refusal]
    timed = [each for each in file.at if not each.refusal and not each.peer_refusal and 0 not in each.sizes.values()]
    cells = [name, "yes", f"{file.worst:.0f}", f"{len(file.refused)}, {sum(not each.refusal for each in theirs)}, {sum(bool(each.refusal) for each in theirs)}"]
    for which in ("ours", "peers"):
        cells.append(", ".join(f"{statistics.median(getattr(each, which)[k] for each in timed):.1f}" for k in (0, 1)) if timed else "")
    return "| " + " | ".join(cells) + f" | {len(file.at)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="only files with one of these in their path")
    parser.add_argument("--sizes", type=int, default=20)
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    files = []
    print("| file | imports | worst dB | refused: Octavo, ONNX Runtime, both | Octavo: first, later ms | ONNX Runtime | sizes |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for path in sorted(arguments.folder.rglob("*.onnx")):
        name = str(path.relative_to(arguments.folder))
        if arguments.names and not any(each in name for each in arguments.names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            files.append(dataclasses.replace(compared(without_noise(path, folder), arguments.sizes, arguments.int8), path=path))
        print(line_of(files[-1], name), flush=True)
    for file in files:
        told = set()
        for each in file.at:
            odd = each.refusal if each in file.refused else f"{each.worst:.0f} dB: {each.output}" if each.worst < 100 and not arguments.int8 else ""
            if odd and odd not in told:
                print(f"{file.path.parent.name}/{file.path.name} {each.sizes}: {odd}")
                told.add(odd)
    if arguments.json:
        arguments.json.write_text(json.dumps([dataclasses.asdict(file) | {"path": str(file.path)} for file in files], indent=1))


if __name__ == "__main__":
    main()
