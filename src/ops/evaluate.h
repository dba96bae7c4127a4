// evaluate: runs operators and graphs by their references: the normative answer. Part of ops/.
#ifndef OCTAVO_OPS_EVALUATE_H_
#define OCTAVO_OPS_EVALUATE_H_

#include <functional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace octavo {

// One operator on these inputs; a view without data is an input that is left out. Error: what infer rejects; resource
// where memory runs out.
Result<std::vector<Tensor>> evaluate_op(const OpSpec& spec, const Attrs& attrs,
                                        std::span<const ConstTensorView> inputs);

// Sees every value as it is computed, in order; graph inputs first. Constants are not shown.
using ValueObserver = std::function<void(ValueId, const Tensor&)>;

// The whole graph: one tensor per graph input in, one per graph output out. Intermediate results are freed after their
// last use. Error: usage where an input's number, type or shape is wrong; resource where memory runs out.
Result<std::vector<Tensor>> evaluate(const Graph& graph, std::span<const Tensor> inputs,
                                     const ValueObserver& observer = {});

}  // namespace octavo

#endif  // OCTAVO_OPS_EVALUATE_H_
