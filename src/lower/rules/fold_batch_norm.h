// Batch normalisation becomes part of the convolution before it, or a convolution of its own. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FOLD_BATCH_NORM_H_
#define OCTAVO_LOWER_RULES_FOLD_BATCH_NORM_H_

#include "graph/patch.h"

namespace octavo {

// batch_norm(conv(x, w, b)) with constant statistics and f32 weights, the convolution having one reader.
Match fold_batch_norm(const Graph& graph, const Node& node);
// Any other batch norm of an image: a depthwise convolution with a 1x1 window, so that it fuses and quantizes like one.
Match batch_norm_to_conv(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FOLD_BATCH_NORM_H_
