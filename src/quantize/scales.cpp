// Choosing scales. Part of quantize/.
#include "quantize/scales.h"

#include <algorithm>
#include <cmath>

#include "base/requantize.h"

namespace octavo {
namespace {

// Products and quotients of scales stay normal f32 numbers.
constexpr float kSmallestScale = 0x1p-40f;
constexpr float kLargestScale = 0x1p40f;

float bounded(double scale) { return std::clamp(static_cast<float>(scale), kSmallestScale, kLargestScale); }

float channel_scale(float largest, float bias, float x_scale) {
  const double magnitude = std::fabs(static_cast<double>(bias));
  if (largest == 0.0f) return magnitude == 0.0 ? 1.0f : bounded(magnitude / x_scale / 0x1p20);
  return std::max(bounded(largest / 127.0f), bounded(magnitude / x_scale / 0x1p30));
}

}  // namespace

ActivationScale activation_scale(TensorRange range) {
  const float lowest = std::min(range.lowest, 0.0f);
  const float highest = std::max(range.highest, 0.0f);
  if (lowest == highest) return {};
  const float width = highest - lowest;
  const float scale = std::isfinite(width) ? bounded(width / 255.0f) : kLargestScale;
  return {DType::u8, scale, std::clamp(static_cast<std::int32_t>(round_even(clamp_f32(-lowest / scale, 0.0f, 255.0f))), 0, 255)};
}

ActivationScale global_activation_scale(float global_scale) { return {DType::s8, bounded(global_scale / 128.0f), 0}; }

QuantizedWeights quantize_weights(const Tensor& weights, int axis, std::span<const float> bias, float x_scale) {
  const Shape& shape = weights.shape();
  const std::int64_t channels = shape[axis];
  const std::int64_t inner = shape.elements(axis + 1, shape.rank());
  const auto channel_of = [&](std::int64_t i) { return static_cast<std::size_t>(i / inner % channels); };
  const auto values = weights.span<float>();

  std::vector<float> largest(static_cast<std::size_t>(channels), 0.0f);
  for (std::int64_t i = 0; i < weights.elements(); ++i) {
    float& so_far = largest[channel_of(i)];
    so_far = std::max(so_far, std::fabs(values[static_cast<std::size_t>(i)]));
  }
  QuantizedWeights result{Tensor(DType::s8, shape), {}, {}};
  for (std::size_t c = 0; c < largest.size(); ++c) {
    const float channel_bias = bias.empty() ? 0.0f : bias[c];
    result.scale.push_back(channel_scale(largest[c], channel_bias, x_scale));
    if (!bias.empty()) result.bias.push_back(quantize_value(channel_bias, x_scale * result.scale[c], 0, -(1 << 30), 1 << 30));
  }
  for (std::int64_t i = 0; i < weights.elements(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    result.values.as<std::int8_t>()[at] = static_cast<std::int8_t>(quantize_value(values[at], result.scale[channel_of(i)], 0, -127, 127));
  }
  return result;
}

}  // namespace octavo
