// Integer convolutions and products of values that were quantized in the run. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_HYBRID_H_
#define OCTAVO_LOWER_RULES_FUSE_HYBRID_H_

#include "graph/patch.h"

namespace octavo {

// conv_integer or matmul_integer (constant weights, one zero point of x known in the run) -> cast to f32 -> times
// (x_scale * constant scales)
// -> constant bias -> relu or clip: one hybrid_conv; a product is the convolution of an image of one pixel per row.
// Or the bias comes before the cast, in integers: floor(constant / (x_scale * constant scales)) as s32, which is kept
// below 2^30 then.
Match fuse_hybrid(const Graph& graph, const Node& node);

// conv of rows that were quantized in the run (dequantized_in_run) by dequantized constant weights, with a constant
// bias -> relu or clip: one hybrid_conv.
Match fuse_hybrid_rows(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_HYBRID_H_
