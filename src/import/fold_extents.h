// The arithmetic of shapes in files (Shape, Gather, Concat, Mul, ...) on extents that stay open. Part of import/.
#ifndef OCTAVO_IMPORT_FOLD_EXTENTS_H_
#define OCTAVO_IMPORT_FOLD_EXTENTS_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace octavo {

// What is known of a value: sizes as floats or truths, which the run casts from a list of integers, are a constant with
// extents, too.
Fact fact_with_sizes(const Graph& graph, ValueId value);

// Whether it compares extents that depend on a number of things found, and either answer can be: what is to be done
// where nothing is found is no question to an example, so the run computes it, like any value.
bool is_for_the_run(const Attrs& attrs, const std::vector<const Fact*>& inputs);

// An operator on constants some of which are open extents (Fact::extents). Moving, joining, casting and picking keep
// them; arithmetic on integers makes new ones, and so do comparisons (0 or 1) and what is whole in f32: sums, minima,
// multiples. Nothing where the result is another float, which the run computes, and where the operator asks for
// numbers: its inputs are then those of the example, and stay so.
std::vector<ValueId> add_folded_extents(Graph& graph, const OpSpec& spec, const Attrs& attrs,
                                        const std::vector<const Fact*>& inputs, const std::vector<Fact>& outputs,
                                        const std::string& name);

// Integers or truths of floats that nodes compute from sizes alone: a cast of what truncated_sizes tells, else what
// they are at the example's sizes, which then stay so. Nothing where data decide an input.
ValueId add_integers_of_floats(Graph& graph, const OpSpec& spec, const Attrs& attrs, const std::vector<ValueId>& inputs,
                               const std::string& name);

}  // namespace octavo

#endif  // OCTAVO_IMPORT_FOLD_EXTENTS_H_
