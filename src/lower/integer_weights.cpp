// Weights and biases of integer convolutions. Part of lower/.
#include "lower/integer_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace octavo {
namespace {

constexpr std::int64_t kS32Lowest = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kS32Highest = std::numeric_limits<std::int32_t>::max();

bool fits_s32(std::int64_t value) { return value >= kS32Lowest && value <= kS32Highest; }

template <class T>
const T& of_channel(const std::vector<T>& list, std::int64_t channel) {
  return list.size() == 1 ? list[0] : list[static_cast<std::size_t>(channel)];
}

// Weights of one output channel.
std::int64_t channel_size(const Tensor& w) { return w.shape()[0] == 0 ? 0 : w.elements() / w.shape()[0]; }

template <class Stored>
void centre(const Stored* from, std::int16_t* to, std::int64_t count, std::int32_t zero_point) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::int16_t>(from[i] - zero_point);
}

// w - zero_point, in [-255, 255].
std::vector<std::int16_t> centred(const QuantizedConstant& w) {
  const std::int64_t size = channel_size(*w.q);
  std::vector<std::int16_t> values(static_cast<std::size_t>(w.q->elements()));
  for (std::int64_t c = 0; c < w.q->shape()[0]; ++c) {
    std::int16_t* to = values.data() + c * size;
    const std::int32_t zero_point = of_channel(w.zero_point, c);
    if (w.q->dtype() == DType::u8) centre(w.q->as<std::uint8_t>() + c * size, to, size, zero_point);
    else centre(w.q->as<std::int8_t>() + c * size, to, size, zero_point);
  }
  return values;
}

bool fits_s8(const std::vector<std::int16_t>& values) {
  return std::all_of(values.begin(), values.end(), [](std::int16_t value) { return value >= -128 && value <= 127; });
}

Tensor as_s8(const std::vector<std::int16_t>& values, const Shape& shape) {
  Tensor w(DType::s8, shape);
  std::transform(values.begin(), values.end(), w.as<std::int8_t>(),
                 [](std::int16_t value) { return static_cast<std::int8_t>(value); });
  return w;
}

// The stored values themselves as s8, those of u8 less 128, and what (w - zero_point) is more than that.
void set_with_offset(IntegerWeights& weights, const QuantizedConstant& w) {
  const bool is_unsigned = w.q->dtype() == DType::u8;
  const std::uint8_t flip = is_unsigned ? 0x80 : 0;
  weights.w = Tensor(DType::s8, w.q->shape());
  std::transform(w.q->as<std::uint8_t>(), w.q->as<std::uint8_t>() + w.q->elements(), weights.w.as<std::uint8_t>(),
                 [flip](std::uint8_t value) { return static_cast<std::uint8_t>(value ^ flip); });
  weights.w_offset = Tensor(DType::s32, Shape{w.q->shape()[0]});
  for (std::int64_t c = 0; c < w.q->shape()[0]; ++c) {
    weights.w_offset->as<std::int32_t>()[c] = (is_unsigned ? 128 : 0) - of_channel(w.zero_point, c);
  }
}

// The bias in units of x_scale * w_scale.
std::variant<Tensor, std::string> accumulator_bias(const SourceWeights& source, const QuantType& x,
                                                   std::int64_t channels) {
  Tensor bias(DType::s32, Shape{channels});
  for (std::int64_t c = 0; c < channels; ++c) {
    const double unit = static_cast<double>(x.scale * of_channel(source.w.scale, c));
    double value = 0.0;
    if (source.float_bias) value = source.float_bias->as<float>()[c] / unit;
    if (source.integer_bias) {
      const auto& given = *source.integer_bias;
      const std::int64_t count = element_as_double(given.q->view(), c) - of_channel(given.zero_point, c);
      const double ratio = static_cast<double>(of_channel(given.scale, c)) / unit;
      // Files store x_scale * w_scale as it was rounded by whoever wrote them; the integers are meant as they are.
      value = std::abs(ratio - 1.0) < 1e-3 ? static_cast<double>(count) : static_cast<double>(count) * ratio;
    }
    if (!(std::abs(value) < 2147483648.0)) return "the bias of output channel " + std::to_string(c) + " leaves 32 bits";
    bias.as<std::int32_t>()[c] = static_cast<std::int32_t>(std::nearbyint(value));
  }
  return bias;
}

// What the f32 bias is more than the units in `bias`.
Tensor rest_of_bias(const Tensor& float_bias, const Tensor& bias, const SourceWeights& source, const QuantType& x) {
  Tensor rest(DType::f32, bias.shape());
  for (std::int64_t c = 0; c < bias.elements(); ++c) {
    const double unit = static_cast<double>(x.scale * of_channel(source.w.scale, c));
    rest.as<float>()[c] = static_cast<float>(float_bias.as<float>()[c] / unit - bias.as<std::int32_t>()[c]);
  }
  return rest;
}

// bias + sum w * x for the most extreme x of the type.
bool can_overflow(const Tensor& bias, const std::vector<std::int16_t>& values, const QuantType& x,
                  std::int64_t channel) {
  const IntegerRange range = range_of(x.dtype);
  const std::int64_t lowest_x = range.lowest - x.zero_point;
  const std::int64_t highest_x = range.highest - x.zero_point;
  const auto per_channel = values.size() / static_cast<std::size_t>(bias.elements());
  std::int64_t positive = 0;
  std::int64_t negative = 0;
  const std::int16_t* first = values.data() + static_cast<std::size_t>(channel) * per_channel;
  for (std::size_t i = 0; i < per_channel; ++i) {
    positive += std::max<std::int16_t>(first[i], 0);
    negative += std::min<std::int16_t>(first[i], 0);
  }
  const std::int64_t start = bias.as<std::int32_t>()[channel];
  return !fits_s32(start + positive * highest_x + negative * lowest_x) ||
         !fits_s32(start + positive * lowest_x + negative * highest_x);
}

}  // namespace

std::vector<ValueId> conv_inputs(Patch& patch, const Node& node, ValueId x, const IntegerWeights& weights) {
  return {x, patch.constant(node.name + "/weight", weights.w), patch.constant(node.name + "/bias", weights.bias),
          weights.w_offset ? patch.constant(node.name + "/weight_offset", *weights.w_offset) : ValueId{}};
}

std::optional<Tensor> bias_with_zero_point(const Tensor& bias, const Tensor& w, const Tensor* w_offset,
                                           std::int32_t x_zero_point) {
  Tensor corrected(DType::s32, bias.shape());
  const std::int64_t channels = bias.elements();
  const std::int64_t per_channel = channels == 0 ? 0 : w.elements() / channels;
  for (std::int64_t c = 0; c < channels; ++c) {
    std::int64_t sum = w_offset == nullptr ? 0 : per_channel * w_offset->as<std::int32_t>()[c];
    const std::int8_t* first = w.as<std::int8_t>() + c * per_channel;
    constexpr std::int64_t kMost = 1 << 16;  // terms that 32 bits hold, which a loop adds several at a time
    for (std::int64_t i = 0; i < per_channel; i += kMost) {
      const std::int64_t end = std::min(per_channel, i + kMost);
      sum += std::accumulate(first + i, first + end, std::int32_t{0});
    }
    const std::int64_t value = bias.as<std::int32_t>()[c] - x_zero_point * sum;
    if (!fits_s32(value)) return std::nullopt;
    corrected.as<std::int32_t>()[c] = static_cast<std::int32_t>(value);
  }
  return corrected;
}

std::variant<IntegerWeights, std::string> integer_weights(const SourceWeights& source, const QuantType& x,
                                                          Profile profile) {
  const Shape& shape = source.w.q->shape();
  const std::int64_t channels = shape[0];
  if (!is_8bit(source.w.q->dtype())) return std::string("its weights have more than 8 bits");
  if (source.w.axis > 0) return std::string("its weights have scales along another axis than the output channels");
  if (source.w.scale.size() != 1 && static_cast<std::int64_t>(source.w.scale.size()) != channels)
    return std::string("its weights have scales in blocks");
  auto bias = accumulator_bias(source, x, channels);
  if (auto* reason = std::get_if<std::string>(&bias)) return std::move(*reason);
  const Tensor& plain_bias = std::get<Tensor>(bias);

  const std::vector<std::int16_t> values = centred(source.w);
  for (std::int64_t c = 0; c < channels; ++c) {
    if (can_overflow(plain_bias, values, x, c))
      return "the sum of output channel " + std::to_string(c) + " could leave 32 bits";
  }
  IntegerWeights result;
  if (fits_s8(values)) result.w = as_s8(values, shape);
  else set_with_offset(result, source.w);
  auto corrected =
      bias_with_zero_point(plain_bias, result.w, result.w_offset ? &*result.w_offset : nullptr, x.zero_point);
  if (!corrected) return std::string("a bias with the zero point in it leaves 32 bits");
  if (profile == Profile::pt2e && source.float_bias)
    result.bias_rest = rest_of_bias(*source.float_bias, plain_bias, source, x);
  result.bias = std::move(*corrected);
  for (std::int64_t c = 0; c < channels; ++c) result.scale.push_back(of_channel(source.w.scale, c));
  return result;
}

}  // namespace octavo
