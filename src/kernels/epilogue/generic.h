// Epilogues over any Simd, channels after channels. Internal linkage only. Part of kernels/epilogue/.
#ifndef OCTAVO_KERNELS_EPILOGUE_GENERIC_H_
#define OCTAVO_KERNELS_EPILOGUE_GENERIC_H_

#include "kernels/epilogue/rows.h"
#include "kernels/simd/fixed.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

template <class S>
constexpr typename S::S32 rounded(typename S::F32 value, const RowRound& round) {
  const typename S::F32 raised = S::max(value, S::set(round.lowest));
  return S::add_s32(S::round(S::min(raised, S::set(round.highest))), S::set_s32(round.after));
}

// Of an integer; clamped before the zero point comes to it, which could leave 32 bits otherwise.
template <class S>
constexpr typename S::S32 rounded_integer(typename S::S32 value, const RowRound& round) {
  const typename S::S32 raised = S::max_s32(value, S::set_s32(round.lowest_integer));
  return S::add_s32(S::min_s32(raised, S::set_s32(round.highest_integer)), S::set_s32(round.after));
}

// f32(the other operand as it is stored - what was added to it).
template <class S>
constexpr typename S::F32 real_other(const RowEpilogue& e, typename S::S32 stored) {
  return S::to_f32(S::sub_s32(stored, S::set_s32(e.other_shift)));
}

// Of a scaled sum, and what other() reads; no addition in integers.
template <class S, class Other>
constexpr typename S::S32 finish_stored(const RowEpilogue& e, typename S::F32 acc, typename S::F32 multiplier,
                                        const Other& other) {
  if (e.addition == Addition::before_rounding) {
    const typename S::F32 r = real_other<S>(e, other());
    return rounded<S>(S::fma(acc, multiplier, S::mul(r, S::set(e.ratio))), e.round);
  }
  const typename S::S32 q = rounded<S>(S::mul(acc, multiplier), e.round);
  if (e.addition == Addition::none) return q;
  const typename S::F32 value = S::to_f32(S::sub_s32(q, S::set_s32(e.value_shift)));
  const typename S::F32 r = real_other<S>(e, other());
  const bool is_first = e.addition == Addition::real_first;
  const typename S::F32 a = is_first ? value : r, b = is_first ? r : value;
  return rounded<S>(S::fma(a, S::set(e.a_ratio), S::fma(b, S::set(e.b_ratio), S::set(e.fixed))), e.add_round);
}

template <class S>
constexpr typename S::S32 finish_8bit(const RowEpilogue& e, typename S::F32 acc, typename S::F32 multiplier,
                                      const std::uint8_t* other, std::int64_t channel) {
  return finish_stored<S>(
      e, acc, multiplier, [&]() __attribute__((always_inline)) {
        return e.other_is_signed ? S::widen_s8(other + channel) : S::widen_u8(other + channel);
      });
}

template <class S>
constexpr typename S::F32 real_sum(const RowEpilogue& e, const std::int32_t* acc, std::int64_t channel) {
  const typename S::F32 whole = S::to_f32(S::load_s32(acc + channel));
  return e.rest == nullptr ? whole : S::add(whole, S::load(e.rest + channel));
}

// The sums of `channels` channels; y and other: those of the first one.
template <class S>
constexpr void finish_channels(const RowEpilogue& epilogue, const std::int32_t* acc, std::int64_t channels,
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
      T::store_bytes(bytes + c, finish_8bit<T>(e, real_sum<T>(e, acc, c), T::load(e.multiplier + c), other, c));
    });
    if (e.table != nullptr) S::lookup(e.table, bytes, bytes, channels);
  }
}

// ---- sums of operators that are no convolutions ----

// Finishers of a sum: `of` prepares what the values of a channel share.
struct WholeSum {
  template <class S>
  static constexpr auto of(const RowEpilogue& e, std::int64_t) {
    return [&e](typename S::S32 x) { return rounded_integer<S>(x, e.round); };
  }
};
template <class S>
constexpr typename S::F32 affine_real(const RowEpilogue& e, typename S::S32 x) {
  return S::add(S::mul(S::to_f32(x), S::set(e.factor)), S::set(e.offset));
}
struct AffineSum {
  template <class S>
  static constexpr auto of(const RowEpilogue& e, std::int64_t) {
    return [&e](typename S::S32 x) { return rounded<S>(affine_real<S>(e, x), e.round); };
  }
};
template <FixedRounding kRounding>
struct FixedSum {
  template <class S>
  static constexpr auto of(const RowEpilogue& e, std::int64_t channel) {
    using Factor = LaneFactor<S, kRounding>;
    const Factor factor = e.factor_step == 0 ? Factor::of(S::set_s32(*e.fixed_multiplier), S::set_s32(*e.fixed_shift))
                                             : Factor::of(S::load_s32(e.fixed_multiplier + channel),
                                                          S::load_s32(e.fixed_shift + channel));
    return [&e, factor](typename S::S32 x) { return rounded_integer<S>(factor.apply(x), e.round); };
  }
};

// Rows inside: a factor is prepared once for all of them.
template <class S, class Finisher>
constexpr void finish_sums_by(const RowEpilogue& epilogue, const std::int32_t* sums, std::int64_t rows, std::int64_t n,
                              std::uint8_t* y) {
  // By value: stores of bytes may alias anything reached through a pointer.
  const RowEpilogue e = epilogue;
  for_lanes<S>(
      0, n, [=]<class T>(std::int64_t c) __attribute__((always_inline)) {
        const auto finish = Finisher::template of<T>(e, c);
        for (std::int64_t r = 0; r < rows; ++r) T::store_bytes(y + r * n + c, finish(T::load_s32(sums + r * n + c)));
      });
}

// Halves away from 0: of what is cut off, at least a half.
template <class S>
constexpr void finish_doubles(const RowEpilogue& epilogue, const std::int32_t* sums, std::int64_t rows, std::int64_t n,
                              std::uint8_t* y) {
  const double* multiplier = epilogue.double_multiplier;
  const double lowest = epilogue.round.lowest_integer, highest = epilogue.round.highest_integer;
  const std::int32_t after = epilogue.round.after;
  const std::int64_t step = epilogue.factor_step;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < n; ++c) {
      const double product = static_cast<double>(sums[r * n + c]) * multiplier[c * step];
      const double raised = product > lowest ? product : lowest, bounded = raised < highest ? raised : highest;
      const auto whole = static_cast<std::int32_t>(bounded);
      const double rest = bounded - static_cast<double>(whole);
      y[r * n + c] = static_cast<std::uint8_t>(whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0) + after);
    }
  }
}

template <class S>
constexpr void store_reals(const RowEpilogue& epilogue, const std::int32_t* sums, std::int64_t n, float* y) {
  const RowEpilogue e = epilogue;
  for_lanes<S>(0, n, [=]<class T>(std::int64_t i) { T::store(y + i, affine_real<T>(e, T::load_s32(sums + i))); });
}

// rows x n sums, dense; channels along n, factors those of the first one on. y: s32 where the epilogue has no stages,
// f32 where it does not round.
template <class S>
constexpr void finish_sums(const RowEpilogue& e, const std::int32_t* sums, std::int64_t rows, std::int64_t n, void* y) {
  if (e.result == RowEpilogue::Result::s32) {
    __builtin_memcpy(y, sums, static_cast<std::size_t>(rows * n) * sizeof *sums);
    return;
  }
  if (e.result == RowEpilogue::Result::f32) return store_reals<S>(e, sums, rows * n, static_cast<float*>(y));
  auto* bytes = static_cast<std::uint8_t*>(y);
  using enum Formula;
  if (e.formula == affine) finish_sums_by<S, AffineSum>(e, sums, rows, n, bytes);
  else if (e.formula == double_scale) finish_doubles<S>(e, sums, rows, n, bytes);
  else if (e.formula != fixed_scale) finish_sums_by<S, WholeSum>(e, sums, rows, n, bytes);
  else if (e.fixed_rounding == FixedRounding::once)
    finish_sums_by<S, FixedSum<FixedRounding::once>>(e, sums, rows, n, bytes);
  else if (e.fixed_rounding == FixedRounding::twice_up)
    finish_sums_by<S, FixedSum<FixedRounding::twice_up>>(e, sums, rows, n, bytes);
  else finish_sums_by<S, FixedSum<FixedRounding::twice>>(e, sums, rows, n, bytes);
  if (e.table != nullptr) S::lookup(e.table, bytes, bytes, rows * n);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_EPILOGUE_GENERIC_H_
