// Softmax of quantized values. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_SOFTMAX_H_
#define OCTAVO_LOWER_RULES_FUSE_SOFTMAX_H_

#include "graph/patch.h"

namespace octavo {

// softmax along the last axis between dequantize and quantize becomes quantized_softmax.
Match fuse_softmax(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_SOFTMAX_H_
