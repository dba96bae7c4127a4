"""The share of output channels for which exact Winograd needs no parts (docs/numerics.md), of every 3x3 convolution of stride 1 of 8-bit ONNX models.

    python scripts/compare/winograd_parts.py QDQ.onnx...          models of `octavo quantize`; --worst: with all weights scaled to -127 or 127
"""

import argparse

import numpy
import onnx
from onnx import numpy_helper

LIMIT = 2**25


def parts_of(weights):
    """Of one output channel [channels, 9]: the fewest equal parts of its pairs of input channels that keep every sum below the limit."""
    positive = numpy.maximum(weights, 0).sum(1)
    negative = numpy.maximum(-weights, 0).sum(1)
    pairs = (len(weights) + 1) // 2
    for parts in range(1, pairs + 1):
        ends = [min(len(weights), pairs * i // parts * 2) for i in range(parts + 1)]
        if all(255 * max(positive[a:b].sum(), negative[a:b].sum()) < LIMIT for a, b in zip(ends, ends[1:])):
            return parts
    raise AssertionError("one pair is always within the limit")


def convolutions(model):
    """Weights [out, channels, 9] of the dense 3x3 convolutions of stride 1."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    producers = {output: node for node in model.graph.node for output in node.output}
    for node in model.graph.node:
        if node.op_type != "Conv":
            continue
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        dequantize = producers.get(node.input[1])
        if dequantize is None or attributes.get("group", 1) != 1 or set(attributes.get("strides", [1])) != {1} or set(attributes.get("dilations", [1])) != {1}:
            continue
        weights = numpy_helper.to_array(constants[dequantize.input[0]]).astype(numpy.int64)
        if weights.shape[2:] == (3, 3):
            yield weights.reshape(*weights.shape[:2], 9)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--worst", action="store_true")
    arguments = parser.parse_args()
    print("| model | 3x3 convolutions | output channels | within the bound | most parts | largest sum of the bound |\n| --- | --- | --- | --- | --- | --- |")
    for path in arguments.models:
        found = [numpy.where(w < 0, -127, 127) if arguments.worst else w for w in convolutions(onnx.load(path))]
        parts = [parts_of(channel) for weights in found for channel in weights]
        largest = max(255 * max(numpy.maximum(w, 0).sum((1, 2)).max(), numpy.maximum(-w, 0).sum((1, 2)).max()) for w in found) / LIMIT
        share = sum(p == 1 for p in parts) / len(parts)
        print(f"| {path.rsplit('/', 1)[-1].split('.')[0]} | {len(found)} | {len(parts)} | {100 * share:.1f} % | {max(parts)} | {100 * largest:.0f} % |")


if __name__ == "__main__":
    main()
