// Functions of one quantized value that XNNPACK computes in integers. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_XNNPACK_TABLE_H_
#define OCTAVO_LOWER_RULES_XNNPACK_TABLE_H_

#include "graph/patch.h"

namespace octavo {

// quantize(dequantize(x)) and quantize(leaky_relu(dequantize(x))) of one 8-bit type, profile tflite-xnnpack, as a table
// of its integer formula. Elsewhere, and where the source falls back to other formulas, the general tables do.
Match xnnpack_table(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_XNNPACK_TABLE_H_
