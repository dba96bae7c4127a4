// Additions and products of quantized values. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_BINARY_H_
#define OCTAVO_LOWER_RULES_FUSE_BINARY_H_

#include "graph/patch.h"

namespace octavo {

// A function of two dequantized values, then clamps and quantize, becomes quantized_elementwise.
Match fuse_binary(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_BINARY_H_
