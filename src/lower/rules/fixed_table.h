// Functions of one quantized value in fixed point. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FIXED_TABLE_H_
#define OCTAVO_LOWER_RULES_FIXED_TABLE_H_

#include "graph/patch.h"

namespace octavo {

// dequantize -> relu, clip, leaky_relu, hard_swish or nothing -> quantize becomes a table, with the numbers of TFLite's
// reference kernels: profiles tflite-double and tflite-single, and of tflite-xnnpack what XNNPACK leaves to TFLite's
// own kernels, which round as tflite-double does.
Match fixed_table(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FIXED_TABLE_H_
