// Regions of the graph that are a function of one 8-bit value, element by element. Part of lower/.
#ifndef OCTAVO_LOWER_TABLE_REGION_H_
#define OCTAVO_LOWER_TABLE_REGION_H_

#include <optional>
#include <string>
#include <variant>

#include "graph/graph.h"

namespace octavo {

// The 8-bit value x such that `wire` depends on x[i] and on scalar constants only: the earliest one. Nothing where
// there is none.
std::optional<ValueId> single_source(const Graph& graph, ValueId wire);

// The value of `wire` for each of the 256 values of `source` (indexed by the unsigned byte), computed by the
// references as tables have them (ops/in_tables.h).
Result<Tensor> tabulate(const Graph& graph, ValueId wire, ValueId source);

}  // namespace octavo

#endif  // OCTAVO_LOWER_TABLE_REGION_H_
