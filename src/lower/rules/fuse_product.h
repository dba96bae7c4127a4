// Matrix products that are rounded once, in f64. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_PRODUCT_H_
#define OCTAVO_LOWER_RULES_FUSE_PRODUCT_H_

#include "graph/patch.h"

namespace octavo {

// dequantize -> product with a constant quantized matrix -> bias -> quantize, profile tflite-double: a 1x1
// quantized_conv that gives its sums, and quantized_elementwise with f64 multipliers. LiteRT's reference kernel of
// FULLY_CONNECTED, unlike those of convolutions.
Match fuse_product(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_PRODUCT_H_
