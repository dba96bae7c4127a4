// Nodes that somebody chose to keep in f32 in a graph that came quantized. Part of lower/.
#ifndef OCTAVO_LOWER_RULES_KEPT_IN_FLOAT_H_
#define OCTAVO_LOWER_RULES_KEPT_IN_FLOAT_H_

#include <set>
#include <string>

#include "graph/patch.h"

namespace octavo {

// What only kept nodes read: dequantize(constant) becomes an f32 constant, so that no integer operator is made of them,
// and dequantize(quantize(x)) of an x that a kept node or nobody makes a clamp to the range of the type. Other pairs
// are conversions.
Match keep_in_float(const Graph& graph, const Node& node, const std::set<std::string>& kept);

}  // namespace octavo

#endif  // OCTAVO_LOWER_RULES_KEPT_IN_FLOAT_H_
