// Functions of one quantized value in fixed point. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FIXED_TABLE_H_
#define OCTAVO_LOWER_RULES_FIXED_TABLE_H_

#include "graph/patch.h"

namespace octavo {

// dequantize -> a function of one value, or nothing -> quantize becomes a table with the numbers of TFLite's own
// kernels, which the profile names: those of fixed point, and tflite-joined.
Match fixed_table(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FIXED_TABLE_H_
