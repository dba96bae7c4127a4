// Products of an activation with constant weights: what factors per channel of the activation move into. Part of
// quantize/.
#ifndef OCTAVO_QUANTIZE_PRODUCT_WEIGHTS_H_
#define OCTAVO_QUANTIZE_PRODUCT_WEIGHTS_H_

#include <vector>

#include "graph/graph.h"
#include "graph/patch.h"

namespace octavo {

// A matmul of x with a constant f32 matrix.
bool is_product_of(const Graph& graph, const Node& node, ValueId x);

// The largest magnitude of the weights that each channel of what the products read meets.
std::vector<float> weights_met(const Graph& graph, const std::vector<NodeId>& products);

// What each channel is divided by, of the largest magnitudes seen and met: seen^share / met^(1 - share), in units of
// their geometric mean, between 1/64 and 64.
std::vector<float> smoothing_factors(const std::vector<float>& seen, const std::vector<float>& met, double share);

// The product once more, of x and of weights whose rows are multiplied by the factors.
ValueId add_scaled_product(Patch& patch, const Graph& graph, const Node& product, ValueId x,
                           const std::vector<float>& factors);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_PRODUCT_WEIGHTS_H_
