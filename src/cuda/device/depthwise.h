// Convolutions with a channel of their own for each group: a thread sums some neighbouring channels of one pixel. Part
// of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_DEPTHWISE_H_
#define OCTAVO_CUDA_DEVICE_DEPTHWISE_H_

#include "cuda/arguments.h"
#include "cuda/device/quad.h"
#include "cuda/device/taps.h"

namespace octavo::cuda {

// kLanes: kQuad where channels of y come in fours and each of them has one of x, else 1.
template <int kLanes, class Block>
OCTAVO_DEVICE void depthwise_thread(const DepthwiseArgs& p, std::int64_t thread) {
  const WindowArgs& g = p.window;
  const Division of_groups = divided(thread, g.out_channels / kLanes, p.by_groups);
  const auto channel = static_cast<std::int32_t>(of_groups.rest) * kLanes;
  const std::int64_t pixel = of_groups.quotient;
  const WindowCorner corner = corner_of(g, pixel);
  const std::int32_t from = kLanes == 1 ? channel / p.per_input : channel;
  Quad<std::int32_t> sums, offsets;
  unrolled<kLanes>([&](auto i) { offsets[i] = p.w_offset == nullptr ? 0 : p.w_offset[channel + i]; });
  for (std::int32_t tap = 0; tap < g.kernel_h * g.kernel_w; ++tap) {
    Quad<std::uint8_t> w, x;
    const std::int64_t place = tap_of(g, corner, tap);
    load_quad<Block>(reinterpret_cast<const std::uint8_t*>(p.w) + std::int64_t{tap} * g.out_channels + channel, kLanes,
                     kLanes == kQuad, w);
    if (place >= 0)
      load_quad<Block>(reinterpret_cast<const std::uint8_t*>(p.x) + place + from, kLanes, kLanes == kQuad, x);
    unrolled<kLanes>([&](auto i) {
      const std::int32_t value = place >= 0 ? x[i] : p.x_zero_point;
      sums[i] = Scalar::add_s32(sums[i], Scalar::mul_s32(value, static_cast<std::int8_t>(w[i]) + offsets[i]));
    });
  }
  const auto channels = QuadChannels::of(p.epilogue, p.bias, channel, kLanes);
  finish_quad<Block>(p.epilogue, channels, sums, p.other, p.y, pixel * g.out_channels + channel, kLanes,
                     kLanes == kQuad);
}

template <int kLanes, class Block>
OCTAVO_DEVICE void depthwise(Block& block, const DepthwiseArgs& p) {
  each_thread(block, p.threads, [&](std::int64_t thread) { depthwise_thread<kLanes, Block>(p, thread); });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_DEPTHWISE_H_
