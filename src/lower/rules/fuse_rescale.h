// s16 values as bytes. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_RESCALE_H_
#define OCTAVO_LOWER_RULES_FUSE_RESCALE_H_

#include "graph/patch.h"

namespace octavo {

// dequantize of s16 -> quantize to bytes: one quantized_elementwise, round(f32(q) * (x_scale / y_scale) + offset). To
// the same s16 nothing is left.
Match fuse_rescale(const Graph& graph, const Node& node);

// LiteRT's requantization of s16, which has no zero point, to bytes: one stage in fixed point. Before tables are made:
// what its operand was made of would be computed in floats there.
Match fuse_fixed_rescale(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_RESCALE_H_
