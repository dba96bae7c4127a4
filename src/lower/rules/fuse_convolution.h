// dequantize, convolution, quantize become one integer convolution. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_CONVOLUTION_H_
#define OCTAVO_LOWER_RULES_FUSE_CONVOLUTION_H_

#include "graph/patch.h"

namespace octavo {

// conv of a dequantized image with dequantized constant weights: its clamps and its quantize are fused; a residual that
// is added before anything is rounded as well. Without a quantize the integer convolution gives f32.
Match fuse_convolution(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_CONVOLUTION_H_
