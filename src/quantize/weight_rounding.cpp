// Searching scales of weights. Part of quantize/.
#include "quantize/weight_rounding.h"

#include <algorithm>

#include "base/requantize.h"
#include "ops/list.h"
#include "quantize/channels.h"
#include "quantize/scales.h"

namespace octavo {
namespace {

// One output channel's weights, next to each other.
std::vector<float> channel_of(const Tensor& weights, int axis, std::size_t channel) {
  const Shape& shape = weights.shape();
  const auto channels = static_cast<std::size_t>(shape[axis]), inner = static_cast<std::size_t>(shape.elements(axis + 1, shape.rank()));
  const auto values = weights.span<float>();
  std::vector<float> own;
  for (std::size_t begin = channel * inner; begin < values.size(); begin += channels * inner)
    own.insert(own.end(), values.begin() + static_cast<std::ptrdiff_t>(begin), values.begin() + static_cast<std::ptrdiff_t>(begin + inner));
  return own;
}

float rounded(float value, float scale) { return round_small(clamp_f32(value / scale, -127.0f, 127.0f)); }

double squared_error(std::span<const float> values, float scale) {
  double sum = 0.0;
  for (const float value : values) {
    const double error = static_cast<double>(rounded(value, scale)) * scale - value;
    sum += error * error;
  }
  return sum;
}

float nearest_scale(std::span<const float> values, float largest) {
  constexpr int kSteps = 40;  // from half to all
  float best = largest / 127.0f;
  double least = squared_error(values, best);
  for (int step = kSteps / 2; step < kSteps; ++step) {
    const float scale = largest * static_cast<float>(step) / (127.0f * kSteps);
    const double error = squared_error(values, scale);
    if (error < least) least = error, best = scale;
  }
  return best;
}

}  // namespace

std::vector<WeightedProduct> weighted_products(const Graph& graph, const Placement& placement) {
  std::vector<WeightedProduct> products;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!placement.is_8bit[static_cast<std::size_t>(id.index)] || (node.spec != &kConv && node.spec != &kMatmul)) continue;
    if (graph.fact(node.inputs[1]).is_constant()) products.push_back({id, node.spec == &kConv ? 0 : 1});
  }
  return products;
}

RoundedWeights nearest_weights(const Tensor& weights, int axis) {
  // Scales below this would leave f32's normal numbers behind in products; such channels keep the scale of the largest weight.
  constexpr float kSmallestWeight = 0x1p-30f;
  const std::vector<float> largest = channel_magnitudes(weights.view(), axis);
  RoundedWeights result{Tensor(DType::s8, weights.shape()), {}};
  const auto inner = static_cast<std::size_t>(weights.shape().elements(axis + 1, weights.shape().rank()));
  for (std::size_t c = 0; c < largest.size(); ++c) {
    const std::vector<float> own = channel_of(weights, axis, c);
    const bool is_small = !(largest[c] > kSmallestWeight);
    result.scale.push_back(is_small ? 0.0f : nearest_scale(own, largest[c]));
    if (is_small) continue;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::size_t at = (i / inner * largest.size() + c) * inner + i % inner;
      result.values.as<std::int8_t>()[at] = static_cast<std::int8_t>(rounded(own[i], result.scale[c]));
    }
  }
  return result;
}

std::map<std::string, RoundedWeights> nearest_weights(const Graph& graph, const Placement& placement) {
  std::map<std::string, RoundedWeights> weights;
  for (const WeightedProduct& product : weighted_products(graph, placement)) {
    const Node& node = graph.node(product.node);
    weights[graph.value(node.outputs[0]).name] = nearest_weights(*graph.fact(node.inputs[1]).constant, product.axis);
  }
  return weights;
}

}  // namespace octavo
