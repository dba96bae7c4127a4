// Sums and means of quantized values, TFLite's. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_SUM_H_
#define OCTAVO_LOWER_RULES_FUSE_SUM_H_

#include "graph/patch.h"

namespace octavo {

// dequantize -> sum or mean -> quantize becomes quantized_pool: exact sums, then a factor in fixed point (profiles
// tflite-double and tflite-single), or a real one (tflite-xnnpack, of values as they are stored).
Match fuse_sum(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_SUM_H_
