// The parts of a quantized network that can go back to f32 one by one. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_GROUPS_H_
#define OCTAVO_QUANTIZE_GROUPS_H_

#include <vector>

#include "graph/graph.h"
#include "quantize/placement.h"
#include "quantize/quantize.h"

namespace octavo {

// Every product, sum, gate and mean that computes in integers, with what is joined to it (bias, residual addition,
// clamp), in the graph's order. With all of them skipped nothing is quantized.
std::vector<LayerGroup> integer_groups(const Graph& graph, const Placement& placement);

// Of a graph that came with its pairs: every product with quantized weights, with what follows it before anything is
// rounded.
std::vector<LayerGroup> quantized_groups(const Graph& graph);

// Every f32 activation: what may carry a pair, whatever is skipped.
std::vector<ValueId> f32_activations(const Graph& graph);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_GROUPS_H_
