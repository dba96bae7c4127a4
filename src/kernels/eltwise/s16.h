// The loops of eltwise/ with results of s16. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_ELTWISE_S16_H_
#define OCTAVO_KERNELS_ELTWISE_S16_H_

#include "kernels/eltwise/pairs.h"
#include "kernels/eltwise/rows.h"

namespace octavo {
namespace {

// ---- pairs in fixed point ----

template <class S, int kStep>
typename S::S32 s16_at(const std::int16_t* p, std::int64_t i) {
  if constexpr (kStep == 0) return S::set_s32(*p);
  else return S::widen_s16(p + i);
}

template <class S, class Op, int kAStep, int kBStep>
void s16_pair_block(const S16Rows& rows) {
  const S16Rows p = rows;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const std::int16_t* a = p.a + r * p.a_row_stride;
    const std::int16_t* b = p.b + r * p.b_row_stride;
    std::int16_t* y = p.y + r * p.n;
    for_lanes<S>(
        0, p.n, [&]<class T>(std::int64_t i) __attribute__((always_inline)) {
          T::store_s16(y + i, Op::template apply<T>(p.epilogue, s16_at<T, kAStep>(a, i), s16_at<T, kBStep>(b, i)));
        });
  }
}

template <class S, class Op>
void s16_pair_rows(const S16Rows& p) {
  if (p.a_step == 0) s16_pair_block<S, Op, 0, 1>(p);
  else if (p.b_step == 0) s16_pair_block<S, Op, 1, 0>(p);
  else s16_pair_block<S, Op, 1, 1>(p);
}

template <class S, Formula kFormula>
void s16_fixed_pairs(const S16Rows& p) {
  using enum FixedRounding;
  if (p.epilogue.fixed_rounding == once) s16_pair_rows<S, FixedPair<kFormula, once, kS16Headroom>>(p);
  else s16_pair_rows<S, FixedPair<kFormula, twice, kS16Headroom>>(p);
}

template <class S>
void s16_pairs(const S16Rows& p) {
  switch (p.epilogue.formula) {
    case Formula::fixed_add: return s16_fixed_pairs<S, Formula::fixed_add>(p);
    case Formula::fixed_sub: return s16_fixed_pairs<S, Formula::fixed_sub>(p);
    case Formula::fixed_div: return s16_pair_rows<Scalar, FixedQuotient>(p);
    default: return s16_fixed_pairs<S, Formula::fixed_mul>(p);
  }
}

// ---- sums of two bytes ----

// Modulo 2^32, as the source adds them.
template <class S, FixedRounding kRounding>
void joined_fixed(const JoinedRows& rows) {
  const JoinedRows p = rows;
  for_lanes<S>(
      0, p.n, [&]<class T>(std::int64_t c) __attribute__((always_inline)) {
        const auto finish = FixedSum<kRounding>::template of<T>(p.epilogue, c);
        const typename T::S32 bits = T::set_s32(8);
        for (std::int64_t i = c; i < p.rows * p.n; i += p.n) {
          const typename T::S32 upper = FixedLanes<T>::shift_left(T::load_s32(p.upper + i), bits);
          T::store_s16(p.y + i, finish(T::add_s32(upper, T::load_s32(p.lower + i))));
        }
      });
}

// WideMultiplier::apply; the compiler vectorizes the loops where there are vectors of 64-bit products.
void joined_wide(const JoinedRows& rows) {
  const JoinedRows p = rows;
  const RowEpilogue& e = p.epilogue;
  const std::int64_t lowest = e.round.lowest_integer, highest = e.round.highest_integer, after = e.round.after;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t c = 0; c < p.n; ++c) {
      const std::int64_t factor = c * e.factor_step, i = r * p.n + c;
      const std::int64_t asked = e.fixed_shift[factor], raised = asked > 1 ? asked : 1,
                         shift = raised < 46 ? raised : 46;
      const std::int64_t sum = std::int64_t{256} * p.upper[i] + p.lower[i];
      const std::uint64_t product =
          static_cast<std::uint64_t>(sum) * static_cast<std::uint64_t>(e.fixed_multiplier[factor]);
      const auto near = static_cast<std::int64_t>(product + (std::uint64_t{1} << (shift - 1))) >> shift;
      const std::int64_t scaled = static_cast<std::int32_t>(near);
      const std::int64_t above = scaled > lowest ? scaled : lowest;
      p.y[i] = static_cast<std::int16_t>((above < highest ? above : highest) + after);
    }
  }
}

// One factor in f64, halves away from 0.
void joined_double(const JoinedRows& rows) {
  const JoinedRows p = rows;
  const RowEpilogue& e = p.epilogue;
  const double lowest = e.round.lowest_integer, highest = e.round.highest_integer;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    for (std::int64_t c = 0; c < p.n; ++c) {
      const std::int64_t i = r * p.n + c;
      const double sum = 256.0 * static_cast<double>(p.upper[i]) + static_cast<double>(p.lower[i]);
      const double product = sum * e.double_multiplier[c * e.factor_step];
      const double raised = product > lowest ? product : lowest, bounded = raised < highest ? raised : highest;
      const auto whole = static_cast<std::int32_t>(bounded);
      const double rest = bounded - static_cast<double>(whole);
      p.y[i] = static_cast<std::int16_t>(whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0) + e.round.after);
    }
  }
}

template <class S>
void joined_sums(const JoinedRows& p) {
  using enum FixedRounding;
  if (p.is_wide) return joined_wide(p);
  if (p.epilogue.formula == Formula::double_scale) return joined_double(p);
  if (p.epilogue.fixed_rounding == once) return joined_fixed<S, once>(p);
  if (p.epilogue.fixed_rounding == twice_up) return joined_fixed<S, twice_up>(p);
  return joined_fixed<S, twice>(p);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_ELTWISE_S16_H_
