// s16 values as bytes. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_RESCALE_H_
#define OCTAVO_LOWER_RULES_FUSE_RESCALE_H_

#include "graph/patch.h"

namespace octavo {

// dequantize of s16 -> quantize to bytes: one quantized_elementwise, round(f32(q) * (x_scale / y_scale) + offset). To
// the same s16 nothing is left.
Match fuse_rescale(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_RESCALE_H_
