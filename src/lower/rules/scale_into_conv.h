// Per-channel constants after a convolution go into its weights and bias. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_SCALE_INTO_CONV_H_
#define OCTAVO_LOWER_RULES_SCALE_INTO_CONV_H_

#include "graph/patch.h"

namespace octavo {

// add, sub, mul or div of conv(x, w, b) with one constant per output channel, the convolution having one reader.
Match scale_into_conv(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_SCALE_INTO_CONV_H_
