// Pools over NHWC images: a thread has one channel of one pixel, neighbours have neighbours. Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_POOL_H_
#define OCTAVO_CUDA_DEVICE_POOL_H_

#include "cuda/arguments.h"
#include "cuda/device/taps.h"
#include "kernels/epilogue/generic.h"

namespace octavo::cuda {

// f(element of x) for the taps inside the image, in row-major order; how many there are.
template <class F>
OCTAVO_DEVICE std::int32_t for_taps(const WindowArgs& g, std::int64_t thread, const F& f) {
  const std::int64_t channel = thread % g.channels;
  const WindowCorner corner = corner_of(g, thread / g.channels);
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
    for_taps(p.window, thread, [&](std::int64_t at) {
      const T value = x[at];
      if (is_first || value > best || value != value) best = value;
      is_first = false;
    });
    reinterpret_cast<T*>(p.y)[thread] = best;
  });
}

OCTAVO_DEVICE std::int32_t stored_at(const PoolArgs& p, std::int64_t at) {
  const auto* x = reinterpret_cast<const std::uint8_t*>(p.x) + at;
  return p.is_signed != 0 ? Scalar::widen_s8(x) : Scalar::widen_u8(x);
}

// The epilogue with the factors of one channel.
OCTAVO_DEVICE RowEpilogue at_channel(const RowEpilogue& epilogue, std::int64_t channel) {
  RowEpilogue e = epilogue;
  const std::int64_t step = channel * e.factor_step;
  if (e.formula == Formula::double_scale) e.double_multiplier += step;
  if (e.formula == Formula::fixed_scale) e.fixed_multiplier += step, e.fixed_shift += step;
  return e;
}

// QuantizedPoolForm::sum, and integer_average where `kDivides`.
template <bool kDivides, class Block>
OCTAVO_DEVICE void sum_pool(Block& block, const PoolArgs& p) {
  each_thread(block, p.threads, [&](std::int64_t thread) {
    std::int32_t sum = 0;
    const std::int32_t inside = for_taps(p.window, thread, [&](std::int64_t at) {
      sum = Scalar::add_s32(sum, Scalar::sub_s32(stored_at(p, at), p.x_zero_point));
    });
    if constexpr (kDivides) {
      const std::int32_t count = p.count > 0 ? p.count : inside;
      sum = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
    }
    const RowEpilogue e = at_channel(p.epilogue, thread % p.window.channels);
    const std::int64_t bytes = e.result == RowEpilogue::Result::bytes ? 1 : 4;
    finish_sums<Scalar>(e, &sum, 1, 1, p.y + thread * bytes);
  });
}

// QuantizedPoolForm::real_average: average_pool_add in order, divided twice.
template <class Block>
OCTAVO_DEVICE void mean_pool(Block& block, const PoolArgs& p) {
  each_thread(block, p.threads, [&](std::int64_t thread) {
    const RowEpilogue& e = p.epilogue;
    float total = 0.0f;
    const std::int32_t inside = for_taps(p.window, thread, [&](std::int64_t at) {
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
