// The arithmetic of shapes in files (Shape, Gather, Concat, Mul, ...) on extents that stay open. Part of import/.
#ifndef OCTAVO_IMPORT_FOLD_EXTENTS_H_
#define OCTAVO_IMPORT_FOLD_EXTENTS_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace octavo {

// Whether it compares extents that depend on a number of things found, and either answer can be: what is to be done
// where nothing is found is no question to an example, so the run computes it, like any value.
bool is_for_the_run(const Attrs& attrs, const std::vector<const Fact*>& inputs);

// An operator on constants some of which are open extents (Fact::extents). Moving, joining and casting between integers
// keep them, sums, products, quotients, minima and maxima of integers make new ones; comparisons are answered (see
// Sizes). Nothing where the operator asks for numbers: its inputs are then those of the example, and stay so.
std::vector<ValueId> add_folded_extents(Graph& graph, const OpSpec& spec, const Attrs& attrs,
                                        const std::vector<const Fact*>& inputs, const std::vector<Fact>& outputs,
                                        const std::string& name);

}  // namespace octavo

#endif  // OCTAVO_IMPORT_FOLD_EXTENTS_H_
