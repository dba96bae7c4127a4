// An addition of quantized values joins the convolution before it. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_RESIDUAL_H_
#define OCTAVO_LOWER_RULES_FUSE_RESIDUAL_H_

#include "graph/patch.h"

namespace octavo {

// A quantized_elementwise that adds to an integer convolution with one reader becomes a part of its epilogue: the
// second rounding stays, in registers.
Match fuse_residual(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_RESIDUAL_H_
