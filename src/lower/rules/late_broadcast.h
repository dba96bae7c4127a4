// Elements are computed once and repeated afterwards, not the other way round. Part of lower/.
//
// Exporters write a mask of keys as one of queries and keys: 'and' with a comparison of positions that holds for all of
// them, then 'where'. What attention reads is the row of keys.
#ifndef OCTAVO_LOWER_RULES_LATE_BROADCAST_H_
#define OCTAVO_LOWER_RULES_LATE_BROADCAST_H_

#include "graph/patch.h"

namespace octavo {

// A comparison of a value that is never negative (positions, sizes) with one that is never positive: true, as a
// constant that is repeated.
Match settle_comparison(const Graph& graph, const Node& node);
// a and true, repeated: a, repeated.
Match drop_true(const Graph& graph, const Node& node);
// f(repeat(x), scalars) of single elements: repeat(f(x, scalars)).
Match expand_later(const Graph& graph, const Node& node);
// Attention repeats its mask itself.
Match mask_before_expand(const Graph& graph, const Node& node);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_LATE_BROADCAST_H_
