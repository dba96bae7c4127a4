// Sums and means of quantized values in fixed point. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_SUM_H_
#define OCTAVO_LOWER_RULES_FUSE_SUM_H_

#include "graph/patch.h"

namespace octavo {

// dequantize -> sum or mean -> quantize becomes integer_sum and fixed_requantize (profiles tflite-double and
// tflite-single), or quantized_pool of the stored values (tflite-xnnpack).
Match fuse_sum(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_SUM_H_
