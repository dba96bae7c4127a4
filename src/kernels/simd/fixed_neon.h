// The fixed-point steps for Neon. See fixed.h. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_FIXED_NEON_H_
#define OCTAVO_KERNELS_SIMD_FIXED_NEON_H_

#include "kernels/simd/fixed.h"
#include "kernels/simd/neon.h"

namespace octavo {
namespace {

template <>
struct FixedLanes<Neon4> {
  using S32 = int32x4_t;

  static S32 shift_left(S32 x, S32 bits) { return vshlq_s32(x, bits); }

  // The instruction doubles the product and saturates the one that leaves 32 bits.
  static S32 high_product(S32 x, S32 m) { return vqrdmulhq_s32(x, m); }

  static S32 divide(S32 x, S32 exponent) {
    const S32 mask = vsubq_s32(vshlq_s32(vdupq_n_s32(1), exponent), vdupq_n_s32(1));
    const S32 half = vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(mask), 1));
    const S32 threshold = vsubq_s32(half, vshrq_n_s32(x, 31));
    const S32 is_above = vreinterpretq_s32_u32(vcgtq_s32(vandq_s32(x, mask), threshold));
    return vsubq_s32(vshlq_s32(x, vnegq_s32(exponent)), is_above);
  }

  static S32 divide_up(S32 x, S32 exponent) {
    const S32 one = vshlq_s32(vdupq_n_s32(1), exponent);
    const S32 half = vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(one), 1));
    return vshlq_s32(vaddq_s32(x, half), vnegq_s32(exponent));
  }

  static S32 product_shifted(S32 x, S32 m, S32 bits) {
    const int64x2_t low = vmull_s32(vget_low_s32(x), vget_low_s32(m)), high = vmull_high_s32(x, m);
    const S32 right = vnegq_s32(bits);
    return vcombine_s32(vmovn_s64(vrshlq_s64(low, vmovl_s32(vget_low_s32(right)))),
                        vmovn_s64(vrshlq_s64(high, vmovl_high_s32(right))));
  }
};

template <>
struct FixedLanes<Neon> {
  using S32 = Neon::S32;
  using One = FixedLanes<Neon4>;

  static S32 shift_left(S32 x, S32 bits) {
    return {One::shift_left(x.low, bits.low), One::shift_left(x.high, bits.high)};
  }
  static S32 high_product(S32 x, S32 m) { return {One::high_product(x.low, m.low), One::high_product(x.high, m.high)}; }
  static S32 divide(S32 x, S32 exponent) {
    return {One::divide(x.low, exponent.low), One::divide(x.high, exponent.high)};
  }
  static S32 divide_up(S32 x, S32 exponent) {
    return {One::divide_up(x.low, exponent.low), One::divide_up(x.high, exponent.high)};
  }
  static S32 product_shifted(S32 x, S32 m, S32 bits) {
    return {One::product_shifted(x.low, m.low, bits.low), One::product_shifted(x.high, m.high, bits.high)};
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_FIXED_NEON_H_
