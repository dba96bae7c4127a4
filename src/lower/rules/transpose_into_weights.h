// A transpose before a matrix product becomes another order of the product's weights. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_TRANSPOSE_INTO_WEIGHTS_H_
#define OCTAVO_LOWER_RULES_TRANSPOSE_INTO_WEIGHTS_H_

#include "graph/patch.h"

namespace octavo {

// conv of [N, 1, 1, K] with a 1x1 window, its input being reshape(transpose(x)) (dequantized or not) with the batch in
// place: the columns of the constant weights move instead. Networks that flatten an image before a fully connected
// layer end up like this.
Match transpose_into_weights(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_TRANSPOSE_INTO_WEIGHTS_H_
