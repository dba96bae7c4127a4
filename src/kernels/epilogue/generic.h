// Epilogues over any Simd, channels after channels. Internal linkage only. Part of kernels/epilogue/.
#ifndef OCTAVO_KERNELS_EPILOGUE_GENERIC_H_
#define OCTAVO_KERNELS_EPILOGUE_GENERIC_H_

#include "kernels/epilogue/rows.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

template <class S>
typename S::S32 rounded(typename S::F32 value, const RowRound& round) {
  const typename S::F32 raised = S::max(value, S::set(round.lowest));
  return S::add_s32(S::round(S::min(raised, S::set(round.highest))), S::set_s32(round.after));
}

// f32(the other operand - what was added to it).
template <class S>
typename S::F32 other_at(const RowEpilogue& e, const std::uint8_t* other) {
  const typename S::S32 stored = e.other_is_signed ? S::widen_s8(other) : S::widen_u8(other);
  return S::to_f32(S::sub_s32(stored, S::set_s32(e.other_shift)));
}

template <class S>
typename S::S32 finish_8bit(const RowEpilogue& e, typename S::F32 acc, typename S::F32 multiplier,
                            const std::uint8_t* other) {
  if (e.addition == Addition::before_rounding) {
    const typename S::F32 r = other_at<S>(e, other);
    return rounded<S>(S::fma(acc, multiplier, S::mul(r, S::set(e.ratio))), e.round);
  }
  const typename S::S32 q = rounded<S>(S::mul(acc, multiplier), e.round);
  if (e.addition == Addition::none) return q;
  const typename S::F32 value = S::to_f32(S::sub_s32(q, S::set_s32(e.value_shift)));
  const typename S::F32 r = other_at<S>(e, other);
  const bool is_first = e.addition == Addition::real_first;
  const typename S::F32 a = is_first ? value : r, b = is_first ? r : value;
  return rounded<S>(S::fma(a, S::set(e.a_ratio), S::fma(b, S::set(e.b_ratio), S::set(e.fixed))), e.add_round);
}

template <class S>
typename S::F32 real_sum(const RowEpilogue& e, const std::int32_t* acc, std::int64_t channel) {
  const typename S::F32 whole = S::to_f32(S::load_s32(acc + channel));
  return e.rest == nullptr ? whole : S::add(whole, S::load(e.rest + channel));
}

// The sums of `channels` channels; y and other: those of the first one.
template <class S>
void finish_channels(const RowEpilogue& epilogue, const std::int32_t* acc, std::int64_t channels,
                     const std::uint8_t* other, void* y) {
  // By value: stores of bytes may alias anything reached through a pointer.
  const RowEpilogue e = epilogue;
  if (e.result == RowEpilogue::Result::s32) {
    for_lanes<S>(0, channels, [=]<class T>(std::int64_t c) {
      T::store_s32(static_cast<std::int32_t*>(y) + c, T::load_s32(acc + c));
    });
  } else if (e.result == RowEpilogue::Result::f32) {
    for_lanes<S>(0, channels, [=]<class T>(std::int64_t c) {
      T::store(static_cast<float*>(y) + c, T::mul(real_sum<T>(e, acc, c), T::load(e.multiplier + c)));
    });
  } else {
    auto* bytes = static_cast<std::uint8_t*>(y);
    for_lanes<S>(0, channels, [=]<class T>(std::int64_t c) {
      T::store_bytes(bytes + c, finish_8bit<T>(e, real_sum<T>(e, acc, c), T::load(e.multiplier + c), other + c));
    });
    if (e.table != nullptr) S::lookup(e.table, bytes, bytes, channels);
  }
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_EPILOGUE_GENERIC_H_
