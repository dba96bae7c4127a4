// Constant folding at import: shape arithmetic and reshaped weights become constants. Part of import/.
#ifndef OCTAVO_IMPORT_FOLD_H_
#define OCTAVO_IMPORT_FOLD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace octavo {

// Adds the outputs of an operator whose inputs are all constant to the graph, by its reference, as constants called
// `name`. Nothing where an input varies, where the operator is not one whose work is proportional to its elements
// (dequantization is never folded: the integers must stay visible), or where it would take more elements than `budget`
// still allows; the budget is taken down otherwise.
std::vector<ValueId> add_folded(Graph& graph, const OpSpec& spec, const Attrs& attrs,
                                const std::vector<ValueId>& inputs, const std::string& name, std::int64_t& budget);

}  // namespace octavo

#endif  // OCTAVO_IMPORT_FOLD_H_
