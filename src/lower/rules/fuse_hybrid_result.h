// What follows products of values that were quantized in the run. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_HYBRID_RESULT_H_
#define OCTAVO_LOWER_RULES_FUSE_HYBRID_RESULT_H_

#include "graph/patch.h"

namespace octavo {

// hybrid_conv with a real result -> addition of a dequantized value of the same shape, perhaps -> relu or clip ->
// quantize: one hybrid_conv that stores it. Needs scales of the weights and a bias per channel.
Match fuse_hybrid_result(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_HYBRID_RESULT_H_
