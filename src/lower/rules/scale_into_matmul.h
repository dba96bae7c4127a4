// Per-channel factors after a matrix product go into the matrix. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_SCALE_INTO_MATMUL_H_
#define OCTAVO_LOWER_RULES_SCALE_INTO_MATMUL_H_

#include "graph/patch.h"

namespace octavo {

// c * (matmul(x, w) + b), a transpose before the factors or none, with f32 constants: the layer scale of ConvNeXt and
// its kind.
Match scale_into_matmul(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_SCALE_INTO_MATMUL_H_
