// What is not quantized because samples do not decide it: masks, and what is known once sizes are. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_SETTLED_H_
#define OCTAVO_QUANTIZE_SETTLED_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quantize/quantize.h"

namespace octavo {

// Nodes that only make masks of attention stay in f32: a mask holds numbers beyond any score, beside which others would
// round to nothing, and samples without padding do not have them. So do nodes that no input of the graph reaches, as
// tables of angles and positions of an open graph; what only moves constants keeps its role. `roles` by NodeId.
void keep_settled_in_float(const Graph& graph, std::vector<NodeRole>& roles);

// Of those wires that no input of the graph reaches: what they hold where the open sizes of the graph are these, by
// name. Numbers that are not finite do not count.
Result<std::map<std::string, TensorRange>> settled_ranges(const Graph& graph, const std::vector<ValueId>& wires,
                                                          const std::vector<std::int64_t>& sizes);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_SETTLED_H_
