// Products of two activations. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_MATMUL_H_
#define OCTAVO_LOWER_RULES_FUSE_MATMUL_H_

#include "graph/patch.h"

namespace octavo {

// matmul of two dequantized values, then clamps and quantize, becomes quantized_matmul.
Match fuse_matmul(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_MATMUL_H_
