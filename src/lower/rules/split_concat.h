// Concatenation of values that are quantized afterwards. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_SPLIT_CONCAT_H_
#define OCTAVO_LOWER_RULES_SPLIT_CONCAT_H_

#include "graph/patch.h"

namespace octavo {

// quantize(concat(a, b)) and unary(concat(a, b)) become concat(quantize(a), quantize(b)), so that each branch fuses by
// itself.
Match before_concat(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_SPLIT_CONCAT_H_
