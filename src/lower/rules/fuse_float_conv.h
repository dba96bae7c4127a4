// f32 convolution with all that follows it. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_FLOAT_CONV_H_
#define OCTAVO_LOWER_RULES_FUSE_FLOAT_CONV_H_

#include "graph/patch.h"

namespace octavo {

// conv, bias, residual addition, activation: one fused_conv. Two spatial axes, channels_last.
Match fuse_float_conv(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_FLOAT_CONV_H_
