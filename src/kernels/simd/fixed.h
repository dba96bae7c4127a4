// The fixed-point steps of base/fixed_point.h for lanes of 32 bits; here those of one lane. Internal linkage only. Part
// of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_FIXED_H_
#define OCTAVO_KERNELS_SIMD_FIXED_H_

#include <cstdint>
#include <limits>

#include "kernels/simd/fixed_rounding.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

template <class S>
struct FixedLanes;

template <>
struct FixedLanes<Scalar> {
  using S32 = std::int32_t;

  // x * 2^bits, wrapping; bits from 0 to 30.
  static constexpr S32 shift_left(S32 x, S32 bits) { return static_cast<S32>(static_cast<std::uint32_t>(x) << bits); }

  // rounding_high_product: x * m / 2^31, halves up. The one product that leaves 32 bits becomes the highest value.
  static constexpr S32 high_product(S32 x, S32 m) {
    const auto y = static_cast<S32>((std::int64_t{x} * m + (std::int64_t{1} << 30)) >> 31);
    return y == std::numeric_limits<S32>::min() ? std::numeric_limits<S32>::max() : y;
  }

  // rounding_divide: x / 2^exponent, halves away from 0; exponents from 0 to 31.
  static constexpr S32 divide(S32 x, S32 exponent) {
    const auto mask = static_cast<S32>((std::uint32_t{1} << exponent) - 1);
    const S32 threshold = (mask >> 1) + (x < 0 ? 1 : 0);
    return (x >> exponent) + ((x & mask) > threshold ? 1 : 0);
  }

  // rounding_up_divide: the same, halves up.
  static constexpr S32 divide_up(S32 x, S32 exponent) {
    const std::uint32_t half = (std::uint32_t{1} << exponent) >> 1;
    return static_cast<S32>(static_cast<std::uint32_t>(x) + half) >> exponent;
  }

  // x * m / 2^bits, halves up, wrapping; bits from 1 to 62.
  static constexpr S32 product_shifted(S32 x, S32 m, S32 bits) {
    return static_cast<S32>((std::int64_t{x} * m + (std::int64_t{1} << (bits - 1))) >> bits);
  }
};

// FixedMultiplier::apply. What depends on the factor alone is computed when it is made, outside of the loops over
// values.
template <class S, FixedRounding kRounding>
struct LaneFactor {
  using Lanes = FixedLanes<S>;
  typename S::S32 multiplier;
  typename S::S32 left;   // twice: how far values are shifted before the product
  typename S::S32 right;  // twice: what is divided by after it; once: bits of the product that are rounded away

  // Shifts are clamped to what a FixedMultiplier has.
  static constexpr LaneFactor of(typename S::S32 multiplier, typename S::S32 unchecked_shift) {
    const typename S::S32 zero = S::set_s32(0);
    const typename S::S32 shift = S::min_s32(S::max_s32(unchecked_shift, S::set_s32(-31)), S::set_s32(30));
    if constexpr (kRounding == FixedRounding::once) return {multiplier, zero, S::sub_s32(S::set_s32(31), shift)};
    return {multiplier, S::max_s32(shift, zero), S::max_s32(S::sub_s32(zero, shift), zero)};
  }

  constexpr typename S::S32 apply(typename S::S32 x) const {
    if constexpr (kRounding == FixedRounding::once) return Lanes::product_shifted(x, multiplier, right);
    const typename S::S32 high = Lanes::high_product(Lanes::shift_left(x, left), multiplier);
    return kRounding == FixedRounding::twice_up ? Lanes::divide_up(high, right) : Lanes::divide(high, right);
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_FIXED_H_
