// A quantize/dequantize pair in a graph that is to compute in f32. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_CLAMP_FOR_PAIR_H_
#define OCTAVO_LOWER_RULES_CLAMP_FOR_PAIR_H_

#include "graph/patch.h"

namespace octavo {

// dequantize(quantize(x)) becomes clip(x, range of the type), or x where its producer cannot leave that range.
Match clamp_for_pair(const Graph& graph, const Node& node);
// clip(clip(x)) and clip(relu(x)) become one clip.
Match merge_clamps(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_CLAMP_FOR_PAIR_H_
