// Per-channel arithmetic on tensors. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_CHANNELS_H_
#define OCTAVO_QUANTIZE_CHANNELS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "base/tensor.h"

namespace octavo {

// f32 values. Sums are f64, in the order of the elements.
std::vector<float> channel_means(const ConstTensorView& values, int axis);
// The largest magnitude of each channel.
std::vector<float> channel_magnitudes(const ConstTensorView& values, int axis);
// The values of channels [first, first + count), one channel after the other.
std::vector<float> values_of_channels(const ConstTensorView& values, int axis, std::size_t first, std::size_t count);
// value + shift[channel]. `shift` has an element per channel.
void add_to_channels(const TensorView& values, int axis, std::span<const float> shift);
// value * factor[channel].
void scale_channels(const TensorView& values, int axis, std::span<const float> factor);
// A copy of that.
Tensor scaled_channels(const Tensor& tensor, int axis, std::span<const float> factor);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_CHANNELS_H_
