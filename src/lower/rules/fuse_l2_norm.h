// Quantized values over the length of their line. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_L2_NORM_H_
#define OCTAVO_LOWER_RULES_FUSE_L2_NORM_H_

#include "graph/patch.h"

namespace octavo {

// x / max(|x|, epsilon) along the last axis, x dequantized and the result quantized to units of 1/128 with a profile of
// TFLite, becomes fixed_l2_norm.
Match fuse_l2_norm(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_L2_NORM_H_
