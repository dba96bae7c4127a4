// The loops of eltwise/ over pairs of stored values. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_ELTWISE_PAIRS_H_
#define OCTAVO_KERNELS_ELTWISE_PAIRS_H_

#include "base/fixed_quotient.h"
#include "kernels/eltwise/rows.h"
#include "kernels/epilogue/generic.h"

namespace octavo {
namespace {

// How an operand is widened: known to the compiler, or asked per element.
enum class Sign { u8, asked };
template <Sign kSign>
bool is_signed(bool asked) {
  return kSign == Sign::asked && asked;
}

// kStep 0: an operand whose elements are all the same.
template <class S, Sign kSign, int kStep>
typename S::S32 operand_at(const std::uint8_t* p, std::int64_t i, bool asked) {
  const bool has_sign = is_signed<kSign>(asked);
  if constexpr (kStep == 0) return S::set_s32(has_sign ? static_cast<std::int8_t>(*p) : static_cast<std::int32_t>(*p));
  else return has_sign ? S::widen_s8(p + i) : S::widen_u8(p + i);
}

template <class S>
constexpr typename S::F32 real_less(typename S::S32 x, std::int32_t shift) {
  return S::to_f32(S::sub_s32(x, S::set_s32(shift)));
}

struct RealSum {
  template <class S>
  static constexpr typename S::S32 apply(const RowEpilogue& e, typename S::S32 a, typename S::S32 b) {
    const typename S::F32 inner = S::fma(real_less<S>(b, e.other_shift), S::set(e.b_ratio), S::set(e.fixed));
    return rounded<S>(S::fma(real_less<S>(a, e.value_shift), S::set(e.a_ratio), inner), e.round);
  }
};
struct RealProduct {
  // Products of two differences of 8-bit values are exact in f32.
  template <class S>
  static constexpr typename S::S32 apply(const RowEpilogue& e, typename S::S32 a, typename S::S32 b) {
    const typename S::F32 product = S::mul(real_less<S>(a, e.value_shift), real_less<S>(b, e.other_shift));
    return rounded<S>(S::add(S::mul(product, S::set(e.factor)), S::set(e.offset)), e.round);
  }
};
struct IntegerSum {
  template <class S>
  static constexpr typename S::S32 apply(const RowEpilogue& e, typename S::S32 a, typename S::S32 b) {
    return rounded_by<S>(e, e.round, a, b);
  }
  template <class S>
  static constexpr typename S::S32 rounded_by(const RowEpilogue& e, const RowRound& round, typename S::S32 a,
                                              typename S::S32 b) {
    const typename S::S32 products =
        S::add_s32(S::mul_s32(a, S::set_s32(e.a_factor.multiplier)), S::mul_s32(b, S::set_s32(e.b_factor.multiplier)));
    return rounded_integer<S>(S::shift_right_s32(S::add_s32(products, S::set_s32(e.bias)), e.right_shift), round);
  }
};
// FixedBinaryForm of base/fixed_point.h; kHeadroom: of sums and differences.
template <Formula kFormula, FixedRounding kRounding, int kHeadroom = 20>
struct FixedPair {
  template <class S>
  static constexpr typename S::S32 times(typename S::S32 x, const RowFactor& factor) {
    return LaneFactor<S, kRounding>::of(S::set_s32(factor.multiplier), S::set_s32(factor.shift)).apply(x);
  }
  template <class S>
  static constexpr typename S::S32 value(const RowEpilogue& e, typename S::S32 a, typename S::S32 b) {
    if constexpr (kFormula == Formula::fixed_mul) return times<S>(S::mul_s32(a, b), e.y_factor);
    constexpr bool is_square = kFormula == Formula::fixed_squared_difference;
    const typename S::S32 zero = S::set_s32(0), headroom = S::set_s32(is_square ? 7 : kHeadroom);
    // One of the two is 0.
    if constexpr (kFormula == Formula::fixed_prelu)
      return S::add_s32(times<S>(S::max_s32(a, zero), e.a_factor),
                        times<S>(S::mul_s32(S::min_s32(a, zero), b), e.y_factor));
    const typename S::S32 left = times<S>(FixedLanes<S>::shift_left(a, headroom), e.a_factor),
                          right = times<S>(FixedLanes<S>::shift_left(b, headroom), e.b_factor);
    if constexpr (is_square) {
      const typename S::S32 difference = S::sub_s32(left, right);
      return times<S>(S::mul_s32(difference, difference), e.y_factor);
    }
    return times<S>(kFormula == Formula::fixed_sub ? S::sub_s32(left, right) : S::add_s32(left, right), e.y_factor);
  }
  template <class S>
  static constexpr typename S::S32 apply(const RowEpilogue& e, typename S::S32 a, typename S::S32 b) {
    return rounded_integer<S>(
        value<S>(e, S::sub_s32(a, S::set_s32(e.value_shift)), S::sub_s32(b, S::set_s32(e.other_shift))), e.round);
  }
};

// Its reciprocals are those of base/, by one lane.
struct FixedQuotient {
  template <class S>
  static std::int32_t apply(const RowEpilogue& e, std::int32_t a, std::int32_t b) {
    return rounded_integer<S>(
        fixed_quotient(e.y_factor.multiplier, e.y_factor.shift, a - e.value_shift, b - e.other_shift), e.round);
  }
};

template <class S, class Op, Sign kA, Sign kB, int kAStep, int kBStep>
void pair_block(const PairRows& rows) {
  // By value: stores of bytes may alias anything reached through a pointer.
  const PairRows p = rows;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const std::uint8_t* a = p.a + r * p.a_row_stride;
    const std::uint8_t* b = p.b + r * p.b_row_stride;
    std::uint8_t* y = p.y + r * p.n;
    for_lanes<S>(
        0, p.n, [&]<class T>(std::int64_t i) __attribute__((always_inline)) {
          T::store_bytes(y + i, Op::template apply<T>(p.epilogue, operand_at<T, kA, kAStep>(a, i, p.a_is_signed),
                                                      operand_at<T, kB, kBStep>(b, i, p.b_is_signed)));
        });
  }
}

// b is the same for all rows, as the factors of squeeze-excite are: what is computed of it alone is computed once for a
// few columns of all rows.
template <class S, class Op, Sign kA, Sign kB>
void pair_columns(const PairRows& rows) {
  constexpr std::int64_t kTogether = 4 * S::kLanes;
  const PairRows p = rows;
  std::int64_t i = 0;
  for (; i + kTogether <= p.n; i += kTogether) {
    typename S::S32 b[4];
    for (int k = 0; k < 4; ++k) b[k] = operand_at<S, kB, 1>(p.b, i + k * S::kLanes, p.b_is_signed);
    const std::uint8_t* a = p.a + i;
    std::uint8_t* y = p.y + i;
    for (std::int64_t r = 0; r < p.rows; ++r, a += p.a_row_stride, y += p.n) {
      for (int k = 0; k < 4; ++k)
        S::store_bytes(y + k * S::kLanes,
                       Op::template apply<S>(p.epilogue, operand_at<S, kA, 1>(a, k * S::kLanes, p.a_is_signed), b[k]));
    }
  }
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const std::uint8_t* a = p.a + r * p.a_row_stride;
    std::uint8_t* y = p.y + r * p.n;
    for_lanes<S>(
        i, p.n, [&]<class T>(std::int64_t c) __attribute__((always_inline)) {
          T::store_bytes(y + c, Op::template apply<T>(p.epilogue, operand_at<T, kA, 1>(a, c, p.a_is_signed),
                                                      operand_at<T, kB, 1>(p.b, c, p.b_is_signed)));
        });
  }
}

template <class S, class Op, Sign kA, Sign kB>
void pair_blocks(const PairRows& p) {
  if (p.a_step == 0) pair_block<S, Op, kA, kB, 0, 1>(p);
  else if (p.b_step == 0) pair_block<S, Op, kA, kB, 1, 0>(p);
  else pair_block<S, Op, kA, kB, 1, 1>(p);
}

template <class S, class Op, Sign kA, Sign kB>
void pair_rows(const PairRows& p) {
  const bool has_columns = p.a_step != 0 && p.b_step != 0 && p.b_row_stride == 0 && p.rows > 1;
  (has_columns ? &pair_columns<S, Op, kA, kB> : &pair_blocks<S, Op, kA, kB>)(p);
}

// Nearly all are u8, which lowering makes of s8: others share one loop.
template <class S, class Op>
void pairs_by_sign(const PairRows& p) {
  using enum Sign;
  (p.a_is_signed || p.b_is_signed ? &pair_rows<S, Op, asked, asked> : &pair_rows<S, Op, u8, u8>)(p);
}

// Vectors are of u8: what lowering makes.
template <class S, Formula kFormula>
void fixed_pairs(const PairRows& p) {
  using enum FixedRounding;
  constexpr Sign kSign = S::kLanes == 1 ? Sign::asked : Sign::u8;
  if (p.epilogue.fixed_rounding == once) pair_blocks<S, FixedPair<kFormula, once>, kSign, kSign>(p);
  else pair_blocks<S, FixedPair<kFormula, twice>, kSign, kSign>(p);
}

// kIntegerSums: u8 where additions in integers are to have loops of their own for such operands.
template <class S, Sign kIntegerSums = Sign::u8>
void pairs(const PairRows& p) {
  switch (p.epilogue.formula) {
    case Formula::add_real: pairs_by_sign<S, RealSum>(p); break;
    case Formula::multiply: pairs_by_sign<S, RealProduct>(p); break;
    case Formula::add_integer:
      if constexpr (kIntegerSums == Sign::u8) pairs_by_sign<S, IntegerSum>(p);
      else pair_rows<S, IntegerSum, Sign::asked, Sign::asked>(p);
      break;
    case Formula::fixed_add: fixed_pairs<S, Formula::fixed_add>(p); break;
    case Formula::fixed_sub: fixed_pairs<S, Formula::fixed_sub>(p); break;
    case Formula::fixed_mul: fixed_pairs<S, Formula::fixed_mul>(p); break;
    case Formula::fixed_prelu: fixed_pairs<S, Formula::fixed_prelu>(p); break;
    case Formula::fixed_div: pair_blocks<Scalar, FixedQuotient, Sign::asked, Sign::asked>(p); break;
    default: fixed_pairs<S, Formula::fixed_squared_difference>(p);
  }
  if (p.epilogue.table != nullptr) S::lookup(p.epilogue.table, p.y, p.y, p.rows * p.n);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_ELTWISE_PAIRS_H_
