// fused_conv and float_depthwise: each sum is one chain of fused multiply-adds in f32, so that a thread has whole sums,
// and goes along K. Part of cuda/device/.
//
// Tiles: 64 pixels by 64 channels of a group; the activation is written once, behind the sums.
#ifndef OCTAVO_CUDA_DEVICE_FLOAT_CONV_H_
#define OCTAVO_CUDA_DEVICE_FLOAT_CONV_H_

#include "cuda/device/floats.h"
#include "cuda/device/sum_tile.h"

namespace octavo::cuda {

// Where the k-th element of a pixel's window lies in x, -1 outside of the image.
OCTAVO_DEVICE std::int64_t link_of(const FloatConvArgs& p, const WindowCorner& corner, std::int64_t group,
                                   std::int32_t k) {
  const std::int64_t place = tap_of(p.window, corner, k / p.group_in);
  return place < 0 ? -1 : place + group * p.group_in + k % p.group_in;
}

// What becomes of the sum of an element of y.
OCTAVO_DEVICE void end_chain(const FloatConvArgs& p, float sum, float bias, std::int64_t at) {
  float value = Lane::add(sum, bias);
  if (p.addition == FloatAddition::before_activation) value = Lane::add(value, p.residual[at]);
  value = unary_of(p.activation, value, p.numbers);
  if (p.addition == FloatAddition::after_activation) value = Lane::add(value, p.residual[at]);
  p.y[at] = value;
}

template <class Block>
OCTAVO_DEVICE void float_conv(Block& block, const FloatConvArgs& p) {
  SumTile<float, Block> tile{block, {}};
  const auto pixel_of = [&](int row) { return block.x() * kSumTile + row; };
  tile.multiply_all(p.k, [&](std::int64_t first) {
    const auto x_at = [&](int row, int link) {
      const std::int64_t k = first + link;
      if (k >= p.k || pixel_of(row) >= p.pixels) return 0.0f;
      const std::int64_t at = link_of(p, corner_of(p.window, pixel_of(row)), block.z(), static_cast<std::int32_t>(k));
      return at < 0 ? 0.0f : p.x[at];
    };
    const auto w_at = [&](int column, int link) {
      const std::int64_t channel = block.z() * p.padded_out + block.y() * kSumTile + column, k = first + link;
      return k < p.k ? p.w[k * p.groups * p.padded_out + channel] : 0.0f;
    };
    tile.load(x_at, w_at);
  });
  tile.finish([&](int row, int column, float sum) {
    const std::int64_t own = block.y() * kSumTile + column;
    if (pixel_of(row) >= p.pixels || own >= p.group_out) return;
    const std::int64_t at = pixel_of(row) * p.window.out_channels + block.z() * p.group_out + own;
    end_chain(p, sum, p.bias[block.z() * p.padded_out + own], at);
  });
}

// A thread has an element of y: of groups of few channels.
template <class Block>
OCTAVO_DEVICE void float_conv_direct(Block& block, const FloatConvArgs& p) {
  each_thread(block, p.pixels * p.window.out_channels, [&](std::int64_t thread) {
    const std::int64_t channel = thread % p.window.out_channels;
    const WindowCorner corner = corner_of(p.window, thread / p.window.out_channels);
    float sum = 0.0f;
    for (std::int32_t k = 0; k < p.k; ++k) {
      const std::int64_t at = link_of(p, corner, channel / p.group_out, k);
      sum = Lane::fma(at < 0 ? 0.0f : p.x[at], p.w[std::int64_t{k} * p.window.out_channels + channel], sum);
    }
    end_chain(p, sum, p.bias[channel], thread);
  });
}

// A thread has an element of y.
template <class Block>
OCTAVO_DEVICE void float_depthwise(Block& block, const FloatDepthwiseArgs& p) {
  each_thread(block, p.threads, [&](std::int64_t thread) {
    const std::int64_t channel = thread % p.window.channels;
    const WindowCorner corner = corner_of(p.window, thread / p.window.channels);
    const std::int32_t taps = p.window.kernel_h * p.window.kernel_w;
    float sum = p.bias[channel];
    for (std::int32_t i = 0; i < taps; ++i) {
      const std::int64_t at = tap_of(p.window, corner, p.taps[i]);
      if (at >= 0) sum = Lane::fma(p.x[at + channel], p.w[std::int64_t{i} * p.window.channels + channel], sum);
    }
    p.y[thread] = clamped(sum, p.lowest, p.highest);
  });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_FLOAT_CONV_H_
