// Average pools and spatial means of quantized values. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FUSE_POOL_H_
#define OCTAVO_LOWER_RULES_FUSE_POOL_H_

#include "graph/patch.h"

namespace octavo {

// average_pool or the mean over both spatial axes of a dequantized image, then clamps and quantize, becomes
// quantized_pool.
Match fuse_pool(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FUSE_POOL_H_
