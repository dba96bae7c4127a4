// Residual additions behind the reshape that a product brought. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_ADDITION_BEFORE_RESHAPE_H_
#define OCTAVO_LOWER_RULES_ADDITION_BEFORE_RESHAPE_H_

#include "graph/patch.h"

namespace octavo {

// reshape(convolution) + dequantized: reshape(convolution + reshape(dequantized)), so that the convolution can take the
// addition in. The reshape must have no other reader.
Match addition_before_reshape(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_ADDITION_BEFORE_RESHAPE_H_
