// Computes at compile time what depends on constants only. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_FOLD_CONSTANTS_H_
#define OCTAVO_LOWER_RULES_FOLD_CONSTANTS_H_

#include "graph/patch.h"

namespace octavo {

// A node whose inputs are all constant becomes its value. dequantize stays, because the rules that make integer
// operators read it.
Match fold_constants(const Graph& graph, const Node& node);
// The same, dequantize included: for what stays in floating point.
Match fold_all_constants(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FOLD_CONSTANTS_H_
