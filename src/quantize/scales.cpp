// Choosing scales. Part of quantize/.
#include "quantize/scales.h"

#include <algorithm>
#include <cmath>

#include "base/requantize.h"
#include "quantize/channels.h"

namespace octavo {
namespace {

float bounded(double scale) { return std::clamp(static_cast<float>(scale), kSmallestScale, kLargestScale); }

float channel_scale(float largest, float bias, float x_scale) {
  const double magnitude = std::fabs(static_cast<double>(bias));
  if (largest == 0.0f) return magnitude == 0.0 ? 1.0f : bounded(magnitude / x_scale / 0x1p20);
  return std::max(bounded(largest / 127.0f), bounded(magnitude / x_scale / 0x1p30));
}

void round_row(std::span<const float> values, float scale, std::int8_t* rounded) {
  for (std::size_t i = 0; i < values.size(); ++i)
    rounded[i] = static_cast<std::int8_t>(round_small(clamp_f32(values[i] / scale, -127.0f, 127.0f)));
}

}  // namespace

ActivationScale activation_scale(TensorRange range) {
  const float lowest = std::min(range.lowest, 0.0f);
  const float highest = std::max(range.highest, 0.0f);
  if (lowest == highest) return {};
  const float width = highest - lowest;
  const float scale = std::isfinite(width) ? bounded(width / 255.0f) : kLargestScale;
  return {DType::u8, scale,
          std::clamp(static_cast<std::int32_t>(round_even(clamp_f32(-lowest / scale, 0.0f, 255.0f))), 0, 255)};
}

ActivationScale wide_scale(const ActivationScale& bytes) {
  const IntegerRange range = range_of(bytes.dtype);
  const auto below = static_cast<float>(bytes.zero_point - range.lowest),
             above = static_cast<float>(range.highest - bytes.zero_point);
  return {DType::s16, bounded(4.0 * std::max(below, above) * bytes.scale / 32767.0), 0};
}

ActivationScale global_activation_scale(float global_scale) { return {DType::s8, bounded(global_scale / 128.0f), 0}; }

QuantizedWeights quantize_weights(const Tensor& weights, int axis, std::span<const float> bias, float x_scale,
                                  const RoundedWeights* known) {
  const Shape& shape = weights.shape();
  const auto channels = static_cast<std::size_t>(shape[axis]),
             inner = static_cast<std::size_t>(shape.elements(axis + 1, shape.rank()));
  if (known != nullptr && (known->values.shape() != shape || known->scale.size() != channels)) known = nullptr;
  const std::vector<float> largest = channel_magnitudes(weights.view(), axis);
  QuantizedWeights result{Tensor(DType::s8, shape), {}, {}};
  std::vector<bool> is_known(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const float channel_bias = bias.empty() ? 0.0f : bias[c];
    const float smallest = bounded(std::fabs(static_cast<double>(channel_bias)) / x_scale / 0x1p30);
    is_known[c] = known != nullptr && known->scale[c] > 0.0f && known->scale[c] >= smallest;
    result.scale.push_back(is_known[c] ? known->scale[c] : channel_scale(largest[c], channel_bias, x_scale));
    if (!bias.empty())
      result.bias.push_back(quantize_value(channel_bias, x_scale * result.scale[c], 0, -(1 << 30), 1 << 30));
  }
  const auto values = weights.span<float>();
  auto* rounded = result.values.as<std::int8_t>();
  for (std::size_t begin = 0, row = 0; begin < values.size(); begin += inner, ++row) {
    const std::size_t c = row % channels;
    if (is_known[c]) std::copy_n(known->values.as<std::int8_t>() + begin, inner, rounded + begin);
    else round_row(values.subspan(begin, inner), result.scale[c], rounded + begin);
  }
  return result;
}

const RoundedWeights* known_weights(const Calibrated& calibrated, const std::string& result) {
  const auto found = calibrated.weights.find(result);
  return found == calibrated.weights.end() ? nullptr : &found->second;
}

}  // namespace octavo
