// Convolutions of s16 values with 8-bit weights. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_S16_CONV_H_
#define OCTAVO_LOWER_RULES_FUSE_S16_CONV_H_

#include "graph/patch.h"

namespace octavo {

// dequantize (s16) -> conv -> clamps -> quantize (s16), profile of TFLite's own kernels, becomes two quantized_conv of
// the bytes of x, by the same weights, and the quantized_elementwise that joins their sums and rounds once.
Match fuse_s16_conv(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_S16_CONV_H_
