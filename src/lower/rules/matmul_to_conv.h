// A product with a constant matrix is a 1x1 convolution over rows. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_MATMUL_TO_CONV_H_
#define OCTAVO_LOWER_RULES_MATMUL_TO_CONV_H_

#include "graph/patch.h"

namespace octavo {

// matmul(x [..., K], w [K, N]) (+ bias [N]) becomes reshape, channels_last conv on [rows, 1, 1, K], reshape. w is
// constant or dequantize(constant).
Match matmul_to_conv(const Graph& graph, const Node& node);
// Only where both are quantized: what stays in f32 inside an int8 model stays a matmul.
Match quantized_matmul_to_conv(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_MATMUL_TO_CONV_H_
