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

// What folding may make beyond the size of its inputs, of a whole graph: a file must not grow into a compiled model of
// any size, or take any time.
struct FoldBudget {
  std::int64_t elements = std::int64_t{1} << 24;
  std::int64_t macs = std::int64_t{1} << 28;
};
// fold_constants of results that are too large for it (positions of windows through a small network), within a budget.
Match fold_large_constants(const Graph& graph, const Node& node, FoldBudget& budget);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_FOLD_CONSTANTS_H_
