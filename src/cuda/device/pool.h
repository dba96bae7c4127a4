// Pools over NHWC images: a thread has one channel of one pixel, or some that are neighbours. Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_POOL_H_
#define OCTAVO_CUDA_DEVICE_POOL_H_

#include "cuda/arguments.h"
#include "cuda/device/mma.h"
#include "cuda/device/quad.h"
#include "cuda/device/taps.h"
#include "kernels/epilogue/generic.h"

namespace octavo::cuda {

// f(element of x) for the taps inside the image, in row-major order; how many there are.
template <class F>
OCTAVO_DEVICE std::int32_t for_taps(const PoolArgs& p, std::int64_t thread, const F& f) {
  const WindowArgs& g = p.window;
  const auto [pixel, channel] = divided(thread, g.channels, p.by_groups);
  const WindowCorner corner = corner_of(g, pixel);
  std::int32_t count = 0;
  for (std::int32_t tap = 0; tap < g.kernel_h * g.kernel_w; ++tap) {
    const std::int64_t place = tap_of(g, corner, tap);
    if (place < 0) continue;
    f(place + channel);
    ++count;
  }
  return count;
}

// NaN wins; among equals the first stays.
template <class T, class Block>
OCTAVO_DEVICE void max_pool(Block& block, const PoolArgs& p) {
  each_thread(block, p.threads, [&](std::int64_t thread) {
    const auto* x = reinterpret_cast<const T*>(p.x);
    T best{};
    bool is_first = true;
    for_taps(p, thread, [&](std::int64_t at) {
      const T value = x[at];
      if (is_first || value > best || value != value) best = value;
      is_first = false;
    });
    reinterpret_cast<T*>(p.y)[thread] = best;
  });
}

// Of four bytes each.
OCTAVO_DEVICE std::uint32_t max_of_bytes(std::uint32_t a, std::uint32_t b) {
#ifdef __CUDA_ARCH__
  return __vmaxu4(a, b);
#else
  std::uint32_t greatest = 0;
  for (std::uint32_t byte = 0xff; byte != 0; byte <<= 8) greatest |= (a & byte) > (b & byte) ? a & byte : b & byte;
  return greatest;
#endif
}

// Of u8, sixteen channels at once; `threads` have as many.
template <class Block>
OCTAVO_DEVICE void max_pool_chunks(Block& block, const PoolArgs& p) {
  constexpr int kChannels = 16;
  each_thread(block, p.threads, [&](std::int64_t thread) {
    const WindowArgs& g = p.window;
    const Division of_chunks = divided(thread, g.channels / kChannels, p.by_groups);
    const std::int64_t channel = of_chunks.rest * kChannels;
    const WindowCorner corner = corner_of(g, of_chunks.quotient);
    Quad<std::uint32_t> best;
    for (std::int32_t tap = 0; tap < g.kernel_h * g.kernel_w; ++tap) {
      const std::int64_t place = tap_of(g, corner, tap);
      if (place < 0) continue;
      Quad<std::uint32_t> x;
      Block::template copy<kChannels>(reinterpret_cast<std::byte*>(x.at), p.x + place + channel);
      unrolled<kQuad>([&](auto i) { best[i] = max_of_bytes(best[i], x[i]); });
    }
    Block::template copy<kChannels>(p.y + thread * kChannels, reinterpret_cast<const std::byte*>(best.at));
  });
}

OCTAVO_DEVICE std::int32_t stored_in(const PoolArgs& p, const std::uint8_t* x) {
  return p.is_signed != 0 ? Scalar::widen_s8(x) : Scalar::widen_u8(x);
}
OCTAVO_DEVICE std::int32_t stored_at(const PoolArgs& p, std::int64_t at) {
  return stored_in(p, reinterpret_cast<const std::uint8_t*>(p.x) + at);
}

// What a sum of so many taps inside becomes: for integer_average, where `kDivides`, and the epilogue.
template <bool kDivides>
OCTAVO_DEVICE void finish_sum(const PoolArgs& p, std::int64_t element, std::int32_t sum, std::int32_t inside) {
  if constexpr (kDivides) {
    const std::int32_t count = p.count > 0 ? p.count : inside;
    sum = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
  }
  const RowEpilogue e = with_factors_at(p.epilogue, element % p.window.channels * p.epilogue.factor_step);
  const std::int64_t bytes = e.result == RowEpilogue::Result::bytes ? 1 : 4;
  finish_sums<Scalar>(e, &sum, 1, 1, p.y + element * bytes);
}

// QuantizedPoolForm::sum, and integer_average where `kDivides`.
template <bool kDivides, class Block>
OCTAVO_DEVICE void sum_pool(Block& block, const PoolArgs& p) {
  each_thread(block, p.threads, [&](std::int64_t thread) {
    std::int32_t sum = 0;
    const std::int32_t inside = for_taps(p, thread, [&](std::int64_t at) {
      sum = Scalar::add_s32(sum, Scalar::sub_s32(stored_at(p, at), p.x_zero_point));
    });
    finish_sum<kDivides>(p, thread, sum, inside);
  });
}

// The same where windows are large: eight warps share the taps of one pixel, for 128 channels.
template <bool kDivides, class Block>
OCTAVO_DEVICE void wide_sum_pool(Block& block, const PoolArgs& p) {
  constexpr int kWarps = kThreadsOfBlock / kWarp;
  const WindowArgs& g = p.window;
  const std::int64_t blocks = (g.channels + kWidePoolChannels - 1) / kWidePoolChannels, pixel = block.x() / blocks;
  const std::int64_t first = block.x() % blocks * kWidePoolChannels;
  auto* sums = reinterpret_cast<Quad<std::int32_t>*>(block.shared());
  auto* counts = reinterpret_cast<std::int32_t*>(block.shared() + kThreadsOfBlock * sizeof *sums);
  block.each([&](int t) {
    const std::int64_t channel = first + t % kWarp * kQuad;
    const WindowCorner corner = corner_of(g, pixel);
    Quad<std::int32_t> sum;
    std::int32_t inside = 0;
    for (std::int32_t tap = t / kWarp; channel < g.channels && tap < g.kernel_h * g.kernel_w; tap += kWarps) {
      const std::int64_t place = tap_of(g, corner, tap);
      if (place < 0) continue;
      Quad<std::uint8_t> x;
      load_quad<Block>(reinterpret_cast<const std::uint8_t*>(p.x) + place + channel, kQuad, true, x);
      unrolled<kQuad>(
          [&](auto i) { sum[i] = Scalar::add_s32(sum[i], Scalar::sub_s32(stored_in(p, &x[i]), p.x_zero_point)); });
      ++inside;
    }
    sums[t] = sum, counts[t] = inside;
  });
  block.sync();
  block.each([&](int t) {
    if (t >= kWidePoolChannels || first + t >= g.channels) return;
    std::int32_t sum = 0, inside = 0;
    for (int warp = 0; warp < kWarps; ++warp) {
      sum = Scalar::add_s32(sum, sums[warp * kWarp + t / kQuad].at[t % kQuad]);
      inside += counts[warp * kWarp + t / kQuad];
    }
    finish_sum<kDivides>(p, pixel * g.channels + first + t, sum, inside);
  });
}

// Taps of an axis before the end of the padded image.
OCTAVO_DEVICE std::int32_t taps_before(std::int32_t end, std::int32_t start, std::int32_t kernel,
                                       std::int32_t dilation) {
  const std::int32_t room = (end - start + dilation - 1) / dilation;
  return room < kernel ? room : kernel;
}

// average_pool of f32: a sum in f64, in order, times the reciprocal of how many.
template <class Block>
OCTAVO_DEVICE void float_pool(Block& block, const PoolArgs& p) {
  each_thread(block, p.threads, [&](std::int64_t thread) {
    const WindowArgs& g = p.window;
    double sum = 0.0;
    std::int32_t count = for_taps(p, thread, [&](std::int64_t at) {
      sum = Lane::add_f64(sum, Lane::widen(reinterpret_cast<const float*>(p.x)[at]));
    });
    if (p.pads != 0) {
      const WindowCorner corner = corner_of(g, thread / g.channels);
      count = taps_before(p.padded_height, corner.h, g.kernel_h, g.dilation_h) *
              taps_before(p.padded_width, corner.w, g.kernel_w, g.dilation_w);
    }
    reinterpret_cast<float*>(p.y)[thread] = Lane::narrow(Lane::mul_f64(sum, 1.0 / static_cast<double>(count)));
  });
}

// QuantizedPoolForm::real_average: average_pool_add in order, divided twice.
template <class Block>
OCTAVO_DEVICE void mean_pool(Block& block, const PoolArgs& p) {
  each_thread(block, p.threads, [&](std::int64_t thread) {
    const RowEpilogue& e = p.epilogue;
    float total = 0.0f;
    const std::int32_t inside = for_taps(p, thread, [&](std::int64_t at) {
      const float value = Scalar::to_f32(Scalar::sub_s32(stored_at(p, at), p.x_zero_point));
      total = Scalar::add(total, Scalar::mul(p.x_scale, value));
    });
    const float count = Scalar::to_f32(p.count > 0 ? p.count : inside);
    const float value = Scalar::div(Scalar::div(total, count), e.factor);
    auto stored = static_cast<std::uint8_t>(rounded<Scalar>(Scalar::add(value, e.offset), e.round));
    if (e.table != nullptr) stored = e.table[stored];
    p.y[thread] = std::byte{stored};
  });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_POOL_H_
