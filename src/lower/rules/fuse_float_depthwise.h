// Depthwise f32 convolutions that stay in float, with their clamp. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_FLOAT_DEPTHWISE_H_
#define OCTAVO_LOWER_RULES_FUSE_FLOAT_DEPTHWISE_H_

#include "graph/patch.h"

namespace octavo {

// conv (as many groups as channels in and out, constant weights) -> relu or clip: one float_depthwise.
Match fuse_float_depthwise(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_FLOAT_DEPTHWISE_H_
