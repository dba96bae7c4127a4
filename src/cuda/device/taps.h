// Threads of kernels without shared memory, and where the taps of a window lie for one of them. Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_TAPS_H_
#define OCTAVO_CUDA_DEVICE_TAPS_H_

#include "cuda/arguments.h"
#include "cuda/device/platform.h"

namespace octavo::cuda {

inline constexpr int kThreadsOfBlock = 256;

// f(thread) for those below `threads` of this block.
template <class Block, class F>
OCTAVO_DEVICE void each_thread(Block& block, std::int64_t threads, const F& f) {
  block.each([&](int t) {
    const std::int64_t thread = block.x() * kThreadsOfBlock + t;
    if (thread < threads) f(thread);
  });
}

// A number below 2^63, and how often another is in it; by multiplying, where both are small.
struct Division {
  std::int64_t quotient = 0, rest = 0;
};
OCTAVO_DEVICE Division divided(std::int64_t number, std::int64_t by, const Divisor& small) {
  if (number < std::int64_t{1} << 31 && small.divisor == by) {
    const auto n = static_cast<std::uint32_t>(number);
    const std::uint32_t quotient = small.quotient(n);
    return {quotient, n - quotient * small.divisor};
  }
  return {number / by, number % by};
}

// The window of a pixel of y, counted over all images: its upper left corner in x, and the image's first byte.
struct WindowCorner {
  std::int64_t image = 0;
  std::int32_t h = 0, w = 0;
};

OCTAVO_DEVICE WindowCorner corner_of(const WindowArgs& g, std::int64_t pixel) {
  const Division column = divided(pixel, g.out_width, g.by_out_width);
  const Division row = divided(column.quotient, g.out_height, g.by_out_height);
  const auto oh = static_cast<std::int32_t>(row.rest), ow = static_cast<std::int32_t>(column.rest);
  return {row.quotient * g.height * g.width * g.channels, oh * g.stride_h - g.pad_top, ow * g.stride_w - g.pad_left};
}

// Of a tap, in row-major order, in elements of x, at channel 0; -1 outside of the image.
OCTAVO_DEVICE std::int64_t tap_of(const WindowArgs& g, const WindowCorner& corner, std::int32_t tap) {
  const auto number = static_cast<std::uint32_t>(tap);
  const std::uint32_t kh = g.by_kernel_w.quotient(number), kw = number - kh * g.by_kernel_w.divisor;
  const std::int32_t h = corner.h + static_cast<std::int32_t>(kh) * g.dilation_h;
  const std::int32_t w = corner.w + static_cast<std::int32_t>(kw) * g.dilation_w;
  if (h < 0 || h >= g.height || w < 0 || w >= g.width) return -1;
  return corner.image + (std::int64_t{h} * g.width + w) * g.channels;
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_TAPS_H_
