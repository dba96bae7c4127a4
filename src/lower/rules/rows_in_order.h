// Rows that are put into another order and back. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_ROWS_IN_ORDER_H_
#define OCTAVO_LOWER_RULES_ROWS_IN_ORDER_H_

#include "graph/patch.h"

namespace octavo {

// transpose(f(transpose(x))), where f computes every row by itself (products with constant matrices, sums with constant
// rows, functions of elements, normalisation of rows) and the rows end up where they were, becomes f(x).
Match rows_in_order(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_ROWS_IN_ORDER_H_
