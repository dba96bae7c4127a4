// Weights and biases of integer convolutions. Part of lower/.
#include "lower/integer_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

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

// The part of a weight that goes into the first plane, or into the second.
std::int8_t plane_part(std::int16_t value, std::int64_t plane) {
  const int first = std::clamp<int>(value, -128, 127);
  return static_cast<std::int8_t>(plane == 0 ? first : value - first);
}

// One plane, or two whose sum the weight is: [OC, 2, KH * KW * IC]. Nothing where the second cannot hold the rest.
std::optional<Tensor> as_planes(const std::vector<std::int16_t>& values, const Shape& shape, std::int64_t planes) {
  if (std::any_of(values.begin(), values.end(), [](std::int16_t value) { return value > 254; })) return std::nullopt;
  Shape stored = shape;
  stored[1] *= planes;
  Tensor w(DType::s8, stored);
  const std::int64_t size = shape[0] == 0 ? 0 : static_cast<std::int64_t>(values.size()) / shape[0];
  for (std::int64_t row = 0; row < shape[0] * planes; ++row) {
    const std::int16_t* from = values.data() + row / planes * size;
    std::int8_t* to = w.as<std::int8_t>() + row * size;
    for (std::int64_t i = 0; i < size; ++i) to[i] = plane_part(from[i], row % planes);
  }
  return w;
}

// The bias in units of x_scale * w_scale.
std::variant<Tensor, std::string> accumulator_bias(const SourceWeights& source, const QuantType& x, std::int64_t channels) {
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

// bias + sum w * x for the most extreme x of the type.
bool can_overflow(const Tensor& bias, const std::vector<std::int16_t>& values, const QuantType& x, std::int64_t channel) {
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
  return !fits_s32(start + positive * highest_x + negative * lowest_x) || !fits_s32(start + positive * lowest_x + negative * highest_x);
}

}  // namespace

std::optional<Tensor> bias_with_zero_point(const Tensor& bias, const Tensor& w, std::int32_t x_zero_point) {
  Tensor corrected(DType::s32, bias.shape());
  const std::int64_t channels = bias.elements();
  const std::int64_t per_channel = channels == 0 ? 0 : w.elements() / channels;
  for (std::int64_t c = 0; c < channels; ++c) {
    std::int64_t sum = 0;
    const std::int8_t* first = w.as<std::int8_t>() + c * per_channel;
    for (std::int64_t i = 0; i < per_channel; ++i) sum += first[i];
    const std::int64_t value = bias.as<std::int32_t>()[c] - x_zero_point * sum;
    if (!fits_s32(value)) return std::nullopt;
    corrected.as<std::int32_t>()[c] = static_cast<std::int32_t>(value);
  }
  return corrected;
}

std::variant<IntegerWeights, std::string> integer_weights(const SourceWeights& source, const QuantType& x) {
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
    if (can_overflow(plain_bias, values, x, c)) return "the sum of output channel " + std::to_string(c) + " could leave 32 bits";
  }
  IntegerWeights result;
  result.planes = std::all_of(values.begin(), values.end(), [](std::int16_t v) { return v >= -128 && v <= 127; }) ? 1 : 2;
  auto w = as_planes(values, shape, result.planes);
  if (!w) return std::string("a weight lies 255 above its zero point, which two planes of s8 cannot hold");
  auto corrected = bias_with_zero_point(plain_bias, *w, x.zero_point);
  if (!corrected) return std::string("a bias with the zero point in it leaves 32 bits");
  result.w = std::move(*w);
  result.bias = std::move(*corrected);
  for (std::int64_t c = 0; c < channels; ++c) result.scale.push_back(of_channel(source.w.scale, c));
  return result;
}

}  // namespace octavo
