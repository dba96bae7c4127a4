// Weights of products and factors of their channels. Part of quantize/.
#include "quantize/product_weights.h"

#include <algorithm>
#include <cmath>

#include "ops/matmul/matmul.h"
#include "quantize/channels.h"

namespace octavo {

bool is_product_of(const Graph& graph, const Node& node, ValueId x) {
  if (node.spec != &kMatmul || node.inputs[0] != x || node.inputs[1] == x) return false;
  const Fact& weights = graph.fact(node.inputs[1]);
  return weights.is_constant() && weights.dtype == DType::f32 && weights.shape.rank() == 2;
}

std::vector<float> weights_met(const Graph& graph, const std::vector<NodeId>& products) {
  std::vector<float> largest;
  for (const NodeId id : products) {
    const std::vector<float> own = channel_magnitudes(graph.fact(graph.node(id).inputs[1]).constant->view(), 0);
    largest.resize(own.size());
    std::transform(own.begin(), own.end(), largest.begin(), largest.begin(),
                   [](float a, float b) { return std::max(a, b); });
  }
  return largest;
}

std::vector<float> smoothing_factors(const std::vector<float>& seen, const std::vector<float>& met, double share) {
  constexpr double kSmallest = 1e-5, kMost = 64.0;
  std::vector<double> logs;
  double mean = 0.0;
  for (std::size_t c = 0; c < seen.size(); ++c) {
    const auto log_of = [&](float value) { return std::log(std::max(static_cast<double>(value), kSmallest)); };
    logs.push_back(share * log_of(seen[c]) - (1.0 - share) * log_of(met[c]));
    mean += logs.back() / static_cast<double>(seen.size());
  }
  std::vector<float> factors;
  for (const double log : logs)
    factors.push_back(static_cast<float>(std::clamp(std::exp(log - mean), 1.0 / kMost, kMost)));
  return factors;
}

ValueId add_scaled_product(Patch& patch, const Graph& graph, const Node& product, ValueId x,
                           const std::vector<float>& factors) {
  const ValueId weights = patch.constant(graph.value(product.inputs[1]).name + "/smoothed",
                                         scaled_channels(*graph.fact(product.inputs[1]).constant, 0, factors));
  return patch.add(kMatmul, product.attrs, {x, weights}, product.name, product.origin);
}

}  // namespace octavo
