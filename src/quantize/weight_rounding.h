// Weights of products as s8 by other rules than rounding to the nearest with the largest as scale. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_WEIGHT_ROUNDING_H_
#define OCTAVO_QUANTIZE_WEIGHT_ROUNDING_H_

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quantize/placement.h"
#include "quantize/quantize.h"

namespace octavo {

// A convolution or product with constant weights that computes in 8 bits.
struct WeightedProduct {
  NodeId node;
  int axis = 0;  // of the output channels in the weights
};
std::vector<WeightedProduct> weighted_products(const Graph& graph, const Placement& placement);

// Per output channel the scale with the least sum of squared errors, between half of what the largest weight asks for
// and all of it.
RoundedWeights nearest_weights(const Tensor& weights, int axis);

// Of all products, by name of the result.
std::map<std::string, RoundedWeights> nearest_weights(const Graph& graph, const Placement& placement);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_WEIGHT_ROUNDING_H_
