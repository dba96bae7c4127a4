// Searching scales of weights. Part of quantize/.
#include "quantize/weight_rounding.h"

#include <algorithm>

#include "base/machine.h"
#include "base/parallel.h"
#include "base/requantize.h"
#include "quantize/channels.h"
#include "quantize/scales.h"

namespace octavo {
namespace {

float rounded(float value, float scale) { return round_small(clamp_f32(value / scale, -127.0f, 127.0f)); }

// Summed side by side, as vectors do it.
double squared_error(std::span<const float> values, float scale) {
  constexpr std::size_t kSums = 4;
  double sums[kSums] = {};
  const auto add = [&](std::size_t sum, float value) {
    const double error = static_cast<double>(rounded(value, scale)) * scale - value;
    sums[sum] += error * error;
  };
  std::size_t i = 0;
  for (; i + kSums <= values.size(); i += kSums) {
    for (std::size_t k = 0; k < kSums; ++k) add(k, values[i + k]);
  }
  for (; i < values.size(); ++i) add(0, values[i]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
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

void weight_rounding_round_channel(std::span<const float> own, float scale, std::int8_t* values, std::size_t channels,
                                   std::size_t inner) {
  for (std::size_t i = 0; i < own.size(); i += inner, values += channels * inner) {
    for (std::size_t k = 0; k < inner; ++k) values[k] = static_cast<std::int8_t>(rounded(own[i + k], scale));
  }
}

}  // namespace

std::vector<WeightedProduct> weighted_products(const Graph& graph, const Placement& placement) {
  std::vector<WeightedProduct> products;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const int axis = node.spec->weight_axis;
    if (!placement.is_8bit[static_cast<std::size_t>(id.index)] || axis < 0) continue;
    if (graph.fact(node.inputs[1]).is_constant()) products.push_back({id, axis});
  }
  return products;
}

RoundedWeights nearest_weights(const Tensor& weights, int axis) {
  // Scales below this would leave f32's normal numbers behind in products; such channels keep the scale of the largest
  // weight.
  constexpr float kSmallestWeight = 0x1p-30f;
  constexpr std::size_t kTogether = 16;  // those of a line of memory, where channels lie next to each other
  const std::vector<float> largest = channel_magnitudes(weights.view(), axis);
  const std::size_t channels = largest.size(),
                    inner = static_cast<std::size_t>(weights.shape().elements(axis + 1, weights.shape().rank()));
  RoundedWeights result{Tensor(DType::s8, weights.shape()), std::vector<float>(channels)};
  for_each_part((channels + kTogether - 1) / kTogether, host_machine().cores, [&](std::size_t part) {
    const std::size_t first = part * kTogether, count = std::min(kTogether, channels - first);
    const std::vector<float> together = values_of_channels(weights.view(), axis, first, count);
    for (std::size_t c = first; c < first + count; ++c) {
      if (!(largest[c] > kSmallestWeight)) continue;
      const std::size_t size = together.size() / count;
      const std::span<const float> own(together.data() + (c - first) * size, size);
      result.scale[c] = nearest_scale(own, largest[c]);
      weight_rounding_round_channel(own, result.scale[c], result.values.as<std::int8_t>() + c * inner, channels, inner);
    }
  });
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
