// Loops over channels. Part of quantize/.
#include "quantize/channels.h"

#include <algorithm>
#include <cmath>

namespace octavo {
namespace {

// Elements as [outer, channels, inner].
struct Extents {
  std::size_t outer = 1, channels = 1, inner = 1;
};

Extents extents_of(const Shape& shape, int axis) {
  return {static_cast<std::size_t>(shape.elements(0, axis)), static_cast<std::size_t>(shape[axis]),
          static_cast<std::size_t>(shape.elements(axis + 1, shape.rank()))};
}

// accumulate(sum of the channel, value). Channels that lie next to each other are walked together: their sums become
// vector registers.
template <class Sum, class Accumulate>
std::vector<Sum> reduce(const ConstTensorView& values, int axis, Accumulate accumulate) {
  const Extents e = extents_of(values.shape, axis);
  std::vector<Sum> sums(e.channels);
  const float* value = values.as<float>();
  for (std::size_t o = 0; o < e.outer; ++o) {
    if (e.inner == 1) {
      for (std::size_t c = 0; c < e.channels; ++c) sums[c] = accumulate(sums[c], value[c]);
      value += e.channels;
      continue;
    }
    for (std::size_t c = 0; c < e.channels; ++c) {
      Sum sum = sums[c];
      for (std::size_t i = 0; i < e.inner; ++i) sum = accumulate(sum, *value++);
      sums[c] = sum;
    }
  }
  return sums;
}

template <class Change>
void change(const TensorView& values, int axis, std::span<const float> by_channel, Change change_value) {
  const Extents e = extents_of(values.shape, axis);
  float* value = values.as<float>();
  for (std::size_t o = 0; o < e.outer; ++o) {
    if (e.inner == 1) {
      for (std::size_t c = 0; c < e.channels; ++c) value[c] = change_value(value[c], by_channel[c]);
      value += e.channels;
      continue;
    }
    for (std::size_t c = 0; c < e.channels; ++c) {
      for (std::size_t i = 0; i < e.inner; ++i, ++value) *value = change_value(*value, by_channel[c]);
    }
  }
}

}  // namespace

std::vector<float> channel_means(const ConstTensorView& values, int axis) {
  const auto sums =
      reduce<double>(values, axis, [](double sum, float value) { return sum + static_cast<double>(value); });
  const Extents e = extents_of(values.shape, axis);
  const auto count = static_cast<double>(std::max<std::size_t>(1, e.outer * e.inner));
  std::vector<float> means;
  for (const double sum : sums) means.push_back(static_cast<float>(sum / count));
  return means;
}

std::vector<float> channel_magnitudes(const ConstTensorView& values, int axis) {
  return reduce<float>(values, axis, [](float largest, float value) { return std::max(largest, std::fabs(value)); });
}

std::vector<float> values_of_channels(const ConstTensorView& values, int axis, std::size_t first, std::size_t count) {
  const Extents e = extents_of(values.shape, axis);
  const std::size_t size = e.outer * e.inner;
  std::vector<float> own(count * size);
  for (std::size_t o = 0; o < e.outer; ++o) {
    const float* from = values.as<float>() + (o * e.channels + first) * e.inner;
    for (std::size_t c = 0; c < count; ++c)
      std::copy_n(from + c * e.inner, e.inner, own.data() + c * size + o * e.inner);
  }
  return own;
}

void add_to_channels(const TensorView& values, int axis, std::span<const float> shift) {
  change(values, axis, shift, [](float value, float by) { return value + by; });
}

void scale_channels(const TensorView& values, int axis, std::span<const float> factor) {
  change(values, axis, factor, [](float value, float by) { return value * by; });
}

Tensor scaled_channels(const Tensor& tensor, int axis, std::span<const float> factor) {
  Tensor result = Tensor::copy_of(tensor.view());
  scale_channels(result.view(), axis, factor);
  return result;
}

}  // namespace octavo
