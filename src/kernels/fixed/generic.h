// The loops of fixed/ over any Simd. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_FIXED_GENERIC_H_
#define OCTAVO_KERNELS_FIXED_GENERIC_H_

#include "kernels/fixed/lanes.h"
#include "kernels/fixed/rows.h"

namespace octavo {
namespace {

enum class Rounding { twice, once };

// FixedMultiplier::apply. What depends on the factor alone is computed when it is made, outside of the loops over
// values.
template <class S, Rounding kRounding>
struct LaneFactor {
  using Lanes = FixedLanes<S>;
  typename S::S32 multiplier;
  typename S::S32 left;   // twice: how far values are shifted before the product
  typename S::S32 right;  // twice: what is divided by after it; once: bits of the product that are rounded away

  static LaneFactor of(typename S::S32 multiplier, typename S::S32 unchecked_shift) {
    const typename S::S32 zero = S::set_s32(0);
    const typename S::S32 shift = S::min_s32(S::max_s32(unchecked_shift, S::set_s32(-31)), S::set_s32(30));
    if constexpr (kRounding == Rounding::once) return {multiplier, zero, S::sub_s32(S::set_s32(31), shift)};
    return {multiplier, S::max_s32(shift, zero), S::max_s32(S::sub_s32(zero, shift), zero)};
  }
  static LaneFactor of(const FixedRowFactor& factor) {
    return of(S::set_s32(factor.multiplier), S::set_s32(factor.shift));
  }

  typename S::S32 apply(typename S::S32 x) const {
    if constexpr (kRounding == Rounding::once) return Lanes::product_shifted(x, multiplier, right);
    return Lanes::divide(Lanes::high_product(Lanes::shift_left(x, left), multiplier), right);
  }
};

// Clamped before the zero point comes to it, which could leave 32 bits otherwise.
template <class S, class Row>
typename S::S32 clamped(const Row& row, typename S::S32 x) {
  const typename S::S32 lowest = S::set_s32(row.lowest - row.zero_point),
                        highest = S::set_s32(row.highest - row.zero_point);
  return S::add_s32(S::min_s32(S::max_s32(x, lowest), highest), S::set_s32(row.zero_point));
}

// Rows inside: a factor is prepared once for all of them.
template <class S, Rounding kRounding, int kStep>
void sums_by_channel(const FixedSums& args) {
  // By value: stores of bytes may alias anything reached through a pointer.
  const FixedSums p = args;
  for_lanes<S>(
      0, p.n, [=]<class T>(std::int64_t c) __attribute__((always_inline)) {
        using Factor = LaneFactor<T, kRounding>;
        const Factor factor = kStep == 0 ? Factor::of({*p.multiplier, *p.shift})
                                         : Factor::of(T::load_s32(p.multiplier + c), T::load_s32(p.shift + c));
        for (std::int64_t r = 0; r < p.rows; ++r) {
          T::store_bytes(p.y + r * p.n + c, clamped<T>(p, factor.apply(T::load_s32(p.x + r * p.n + c))));
        }
      });
}

template <class S, Rounding kRounding>
void sums(const FixedSums& args) {
  args.step == 0 ? sums_by_channel<S, kRounding, 0>(args) : sums_by_channel<S, kRounding, 1>(args);
  if (args.table != nullptr) S::lookup(args.table, args.y, args.y, args.rows * args.n);
}

enum class PairKind { add, sub, mul };

template <class S, Rounding kRounding>
struct PairFactors {
  LaneFactor<S, kRounding> a, b, y;
  static PairFactors of(const FixedPairs& p) {
    using Factor = LaneFactor<S, kRounding>;
    return {Factor::of(p.a_factor), Factor::of(p.b_factor), Factor::of(p.y_factor)};
  }

  template <PairKind kKind>
  typename S::S32 apply(typename S::S32 a_part, typename S::S32 b_part) const {
    if constexpr (kKind == PairKind::mul) return y.apply(S::mul_s32(a_part, b_part));
    const typename S::S32 headroom = S::set_s32(20);
    const typename S::S32 left = a.apply(FixedLanes<S>::shift_left(a_part, headroom)),
                          right = b.apply(FixedLanes<S>::shift_left(b_part, headroom));
    return y.apply(kKind == PairKind::sub ? S::sub_s32(left, right) : S::add_s32(left, right));
  }
};

template <class S, int kStep>
typename S::S32 pair_operand(const std::uint8_t* p, std::int64_t i, std::int32_t zero_point) {
  const typename S::S32 stored = kStep == 0 ? S::set_s32(*p) : S::widen_u8(p + i);
  return S::sub_s32(stored, S::set_s32(zero_point));
}

template <class S, PairKind kKind, Rounding kRounding, int kAStep, int kBStep>
void pair_rows(const FixedPairs& args) {
  const FixedPairs p = args;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const std::uint8_t* a = p.a + r * p.a_row_stride;
    const std::uint8_t* b = p.b + r * p.b_row_stride;
    std::uint8_t* y = p.y + r * p.n;
    for_lanes<S>(
        0, p.n, [=]<class T>(std::int64_t i) __attribute__((always_inline)) {
          const auto factors = PairFactors<T, kRounding>::of(p);
          const typename T::S32 a_part = pair_operand<T, kAStep>(a, i, p.a_zero_point);
          const typename T::S32 b_part = pair_operand<T, kBStep>(b, i, p.b_zero_point);
          T::store_bytes(y + i, clamped<T>(p, factors.template apply<kKind>(a_part, b_part)));
        });
  }
}

template <class S, PairKind kKind, Rounding kRounding>
void pairs(const FixedPairs& args) {
  if (args.a_step == 0) pair_rows<S, kKind, kRounding, 0, 1>(args);
  else if (args.b_step == 0) pair_rows<S, kKind, kRounding, 1, 0>(args);
  else pair_rows<S, kKind, kRounding, 1, 1>(args);
}

template <class S>
constexpr FixedFunctions fixed_functions() {
  return {.sums_twice = &sums<S, Rounding::twice>,
          .sums_once = &sums<S, Rounding::once>,
          .add_twice = &pairs<S, PairKind::add, Rounding::twice>,
          .add_once = &pairs<S, PairKind::add, Rounding::once>,
          .sub_twice = &pairs<S, PairKind::sub, Rounding::twice>,
          .sub_once = &pairs<S, PairKind::sub, Rounding::once>,
          .mul_twice = &pairs<S, PairKind::mul, Rounding::twice>,
          .mul_once = &pairs<S, PairKind::mul, Rounding::once>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_FIXED_GENERIC_H_
