// Products of two activations. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_MATMUL_H_
#define OCTAVO_LOWER_RULES_FUSE_MATMUL_H_

#include "graph/patch.h"

namespace octavo {

// matmul of two dequantized values becomes quantized_matmul, with the clamps and the quantize behind it or none: f32.
Match fuse_matmul(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_MATMUL_H_
