// Depthwise position by position over any Simd: all epilogues, any channel multiplier. Internal linkage only. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_DEPTHWISE_GENERIC_H_
#define OCTAVO_KERNELS_DEPTHWISE_GENERIC_H_

#include "kernels/depthwise/rows.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

// Channels [first, channels), one by one.
template <class X>
void accumulate_channels(const TapPosition& p, std::int64_t first) {
  for (std::int64_t c = first; c < p.channels; ++c) {
    std::int32_t sum = p.bias[c];
    const std::int64_t ic = p.channel_multiplier == 1 ? c : c / p.channel_multiplier;
    for (std::int64_t pair = 0; pair < p.pairs; ++pair) {
      const std::int16_t* w = p.weights + (pair * p.channels + c) * 2;
      const X left = reinterpret_cast<const X*>(p.taps[2 * pair])[ic];
      const X right = reinterpret_cast<const X*>(p.taps[2 * pair + 1])[ic];
      sum += static_cast<std::int32_t>(left) * w[0] + static_cast<std::int32_t>(right) * w[1];
    }
    p.acc[c] = sum;
  }
}

// kWide: accumulates the first channels in vectors and returns how many.
template <std::int64_t (*kWide)(const TapPosition&)>
void accumulate_position(const TapPosition& position) {
  const std::int64_t done = position.channel_multiplier == 1 ? kWide(position) : 0;
  return position.x_is_signed ? accumulate_channels<std::int8_t>(position, done)
                              : accumulate_channels<std::uint8_t>(position, done);
}

template <class S>
typename S::S32 rounded(typename S::F32 value, std::int32_t zero_point, std::int32_t lowest, std::int32_t highest) {
  const typename S::F32 raised = S::max(value, S::set(static_cast<float>(lowest - zero_point)));
  return S::add_s32(S::round(S::min(raised, S::set(static_cast<float>(highest - zero_point)))), S::set_s32(zero_point));
}

template <class S>
typename S::S32 residual_at(const Epilogue& e, const std::uint8_t* residual) {
  return e.residual_is_signed ? S::widen_s8(residual) : S::widen_u8(residual);
}

template <class S>
typename S::S32 finish_8bit(const Epilogue& e, typename S::F32 acc, typename S::F32 multiplier,
                            const std::uint8_t* residual) {
  if (e.kind == Epilogue::Kind::residual_before) {
    const typename S::F32 r = S::to_f32(S::sub_s32(residual_at<S>(e, residual), S::set_s32(e.residual_zero_point)));
    return rounded<S>(S::fma(acc, multiplier, S::mul(r, S::set(e.residual_ratio))), e.zero_point, e.lowest, e.highest);
  }
  const typename S::S32 q = rounded<S>(S::mul(acc, multiplier), e.zero_point, e.lowest, e.highest);
  if (e.kind == Epilogue::Kind::requantize) return q;
  const typename S::F32 conv = S::to_f32(S::sub_s32(q, S::set_s32(e.shift)));
  const typename S::F32 other = S::to_f32(S::sub_s32(residual_at<S>(e, residual), S::set_s32(e.shift)));
  const bool is_conv_first = e.kind == Epilogue::Kind::add_conv_first;
  const typename S::F32 a = is_conv_first ? conv : other, b = is_conv_first ? other : conv;
  const typename S::F32 sum = S::fma(a, S::set(e.a_ratio), S::fma(b, S::set(e.b_ratio), S::set(e.fixed)));
  const typename S::F32 raised = S::max(sum, S::set(static_cast<float>(e.add_lowest)));
  return S::add_s32(S::round(S::min(raised, S::set(static_cast<float>(e.add_highest)))), S::set_s32(e.shift));
}

template <class S>
typename S::F32 real_sum(const Epilogue& e, const std::int32_t* acc, std::int64_t channel) {
  const typename S::F32 whole = S::to_f32(S::load_s32(acc + channel));
  return e.rest == nullptr ? whole : S::add(whole, S::load(e.rest + channel));
}

template <class S>
void finish_position(const Epilogue& epilogue, const std::int32_t* acc, std::int64_t channels,
                     const std::uint8_t* residual, void* y) {
  const Epilogue e = epilogue;
  if (e.kind == Epilogue::Kind::s32) {
    for_lanes<S>(0, channels, [=]<class T>(std::int64_t c) {
      T::store_s32(static_cast<std::int32_t*>(y) + c, T::load_s32(acc + c));
    });
  } else if (e.kind == Epilogue::Kind::f32) {
    for_lanes<S>(0, channels, [=]<class T>(std::int64_t c) {
      T::store(static_cast<float*>(y) + c, T::mul(real_sum<T>(e, acc, c), T::load(e.multiplier + c)));
    });
  } else {
    auto* bytes = static_cast<std::uint8_t*>(y);
    for_lanes<S>(0, channels, [=]<class T>(std::int64_t c) {
      T::store_bytes(bytes + c, finish_8bit<T>(e, real_sum<T>(e, acc, c), T::load(e.multiplier + c), residual + c));
    });
    if (e.table != nullptr) S::lookup(e.table, bytes, bytes, channels);
  }
}

template <class S, std::int64_t (*kWide)(const TapPosition&)>
constexpr DepthwiseFunctions depthwise_functions() {
  return {.accumulate = &accumulate_position<kWide>, .finish = &finish_position<S>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_DEPTHWISE_GENERIC_H_
