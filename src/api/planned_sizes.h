// Which sizes of a graph get plans when it is compiled. Part of api/.
#ifndef OCTAVO_API_PLANNED_SIZES_H_
#define OCTAVO_API_PLANNED_SIZES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "octavo/compile.h"

namespace octavo::v1 {

// One for each of a graph's sizes, in their order.
using SizeValues = std::vector<std::int64_t>;

// Batch 1, or the least there is; what else is open at the size that is its example. Of a graph with open sizes.
SizeValues example_sizes(const Graph& graph);

// Of its inputs at these sizes, of which a graph without open ones has none.
InputShapes shapes_at(const Graph& graph, const SizeValues& sizes);

// Those of the shapes, or of the batches where there are none and nothing else is open; else none. One, of nothing, for
// a graph whose sizes are fixed. `path` names the file. Errors (usage): what its inputs cannot be, or twice the same.
Result<std::vector<SizeValues>> sizes_to_plan(const Graph& graph, const CompileOptions& options,
                                              const std::string& path);

}  // namespace octavo::v1

#endif  // OCTAVO_API_PLANNED_SIZES_H_
