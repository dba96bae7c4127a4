// Simd of four 32-bit lanes, a register of Advanced SIMD, and of eight, two of them: as many registers of the latter as
// AVX2 has, so that what is written for those fits. See scalar.h. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_NEON_H_
#define OCTAVO_KERNELS_SIMD_NEON_H_

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

struct Neon4 {
  using Half = Scalar;
  static constexpr int kLanes = 4;
  using F32 = float32x4_t;
  using S32 = int32x4_t;
  struct F64 {
    float64x2_t low, high;
  };
  using Mask = uint32x4_t;

  static F32 load(const float* p) { return vld1q_f32(p); }
  static void store(float* p, F32 x) { vst1q_f32(p, x); }
  static F32 load_first(const float* p, std::int64_t n, float fill) {
    float lanes[kLanes] = {fill, fill, fill, fill};
    std::memcpy(lanes, p, static_cast<std::size_t>(n) * sizeof *p);
    return vld1q_f32(lanes);
  }
  static void store_first(float* p, F32 x, std::int64_t n) {
    float lanes[kLanes];
    vst1q_f32(lanes, x);
    std::memcpy(p, lanes, static_cast<std::size_t>(n) * sizeof *p);
  }
  static F32 set(float x) { return vdupq_n_f32(x); }
  static S32 load_s32(const std::int32_t* p) { return vld1q_s32(p); }
  static void store_s32(std::int32_t* p, S32 x) { vst1q_s32(p, x); }
  static S32 set_s32(std::int32_t x) { return vdupq_n_s32(x); }

  static S32 widen_u8(const std::uint8_t* p) {
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(four_bytes(p))))));
  }
  static S32 widen_s8(const std::uint8_t* p) {
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u32(four_bytes(p)))));
  }
  static S32 widen_u16(const std::uint16_t* p) { return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p))); }
  static S32 widen_s16(const std::int16_t* p) { return vmovl_s16(vld1_s16(p)); }
  static void store_s16(std::int16_t* p, S32 x) { vst1_s16(p, vmovn_s32(x)); }
  static void store_bytes(std::uint8_t* p, S32 x) {
    const int16x4_t halves = vmovn_s32(x);
    store_low_four(p, vmovn_s16(vcombine_s16(halves, halves)));
  }
  static void store_four(std::uint8_t* p, S32 a, S32 b, S32 c, S32 d) {
    const int16x8_t first = vcombine_s16(vmovn_s32(a), vmovn_s32(b)), second = vcombine_s16(vmovn_s32(c), vmovn_s32(d));
    vst1q_u8(p, vreinterpretq_u8_s8(vcombine_s8(vmovn_s16(first), vmovn_s16(second))));
  }

  static F32 add(F32 a, F32 b) { return vaddq_f32(a, b); }
  static F32 sub(F32 a, F32 b) { return vsubq_f32(a, b); }
  static F32 mul(F32 a, F32 b) { return vmulq_f32(a, b); }
  static F32 div(F32 a, F32 b) { return vdivq_f32(a, b); }
  static F32 fma(F32 a, F32 b, F32 c) { return vfmaq_f32(c, a, b); }
  static F32 sqrt(F32 x) { return vsqrtq_f32(x); }
  // Not fmax and fmin, which give a NaN where one of both is.
  static F32 max(F32 a, F32 b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
  static F32 min(F32 a, F32 b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
  static float lowest(F32 x) { return vminvq_f32(x); }
  static float highest(F32 x) { return vmaxvq_f32(x); }
  static std::int32_t total(S32 x) { return vaddvq_s32(x); }
  static F32 to_f32(S32 x) { return vcvtq_f32_s32(x); }
  static S32 round(F32 x) { return vcvtnq_s32_f32(x); }
  static S32 add_s32(S32 a, S32 b) { return vaddq_s32(a, b); }
  static S32 sub_s32(S32 a, S32 b) { return vsubq_s32(a, b); }

  static S32 mul_s32(S32 a, S32 b) { return vmulq_s32(a, b); }
  static S32 add_pairs(S32 sum, S32 a, S32 b) {
    const int16x8_t x = vreinterpretq_s16_s32(a), y = vreinterpretq_s16_s32(b);
    return vaddq_s32(sum, vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y)));
  }
  static S32 and_s32(S32 a, S32 b) { return vandq_s32(a, b); }
  static S32 max_pairs(S32 a, S32 b) {
    return vreinterpretq_s32_s16(vmaxq_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
  }
  static S32 min_pairs(S32 a, S32 b) {
    return vreinterpretq_s32_s16(vminq_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
  }
  static S32 shift_right_s32(S32 a, std::int32_t bits) { return vshlq_s32(a, vdupq_n_s32(-bits)); }
  static S32 max_s32(S32 a, S32 b) { return vmaxq_s32(a, b); }
  static S32 min_s32(S32 a, S32 b) { return vminq_s32(a, b); }

  static F32 nearest(F32 x) { return vrndnq_f32(x); }
  static F32 floor(F32 x) { return vrndmq_f32(x); }
  static F32 ceil(F32 x) { return vrndpq_f32(x); }
  static Mask less(F32 a, F32 b) { return vcltq_f32(a, b); }
  static Mask equal(F32 a, F32 b) { return vceqq_f32(a, b); }
  static F32 select(Mask mask, F32 a, F32 b) { return vbslq_f32(mask, a, b); }
  static bool any_greater(F32 a, F32 b) { return vmaxvq_u32(vcgtq_f32(a, b)) != 0; }

  static S32 as_s32(F32 x) { return vreinterpretq_s32_f32(x); }
  static F32 as_f32(S32 x) { return vreinterpretq_f32_s32(x); }
  static S32 xor_s32(S32 a, S32 b) { return veorq_s32(a, b); }
  template <int bits>
  static S32 shift_left(S32 a) {
    return vshlq_n_s32(a, bits);
  }
  template <int bits>
  static S32 shift_right(S32 a) {
    return vshrq_n_s32(a, bits);
  }

  static F64 widen(F32 x) { return {vcvt_f64_f32(vget_low_f32(x)), vcvt_high_f64_f32(x)}; }
  static F32 narrow(F64 x) { return vcvt_high_f32_f64(vcvt_f32_f64(x.low), x.high); }
  static F64 load_f64(const double* p) { return {vld1q_f64(p), vld1q_f64(p + 2)}; }
  static void store_f64(double* p, F64 x) {
    vst1q_f64(p, x.low);
    vst1q_f64(p + 2, x.high);
  }
  static F64 set_f64(double x) { return {vdupq_n_f64(x), vdupq_n_f64(x)}; }
  static F64 add_f64(F64 a, F64 b) { return {vaddq_f64(a.low, b.low), vaddq_f64(a.high, b.high)}; }
  static F64 sub_f64(F64 a, F64 b) { return {vsubq_f64(a.low, b.low), vsubq_f64(a.high, b.high)}; }
  static F64 mul_f64(F64 a, F64 b) { return {vmulq_f64(a.low, b.low), vmulq_f64(a.high, b.high)}; }
  static F64 fma_f64(F64 a, F64 b, F64 c) {
    return {vfmaq_f64(c.low, a.low, b.low), vfmaq_f64(c.high, a.high, b.high)};
  }

  // Four instructions look up 64 entries each.
  static void lookup(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y, std::int64_t n) {
    const ByteTable bytes = ByteTable::at(table);
    std::int64_t i = 0;
    for (; i + 64 <= n; i += 64) {
      const uint8x16x4_t index = vld1q_u8_x4(x + i);
      for (int k = 0; k < 4; ++k) vst1q_u8(y + i + 16 * k, bytes.of(index.val[k]));
    }
    for (; i + 16 <= n; i += 16) vst1q_u8(y + i, bytes.of(vld1q_u8(x + i)));
    Scalar::lookup(table, x + i, y + i, n - i);
  }
  // In place: 16 bytes of each row, rows `stride` apart.
  static void lookup_rows(const std::uint8_t* table, std::uint8_t* y, std::int64_t rows, std::int64_t stride) {
    const ByteTable bytes = ByteTable::at(table);
    for (; rows > 0; --rows, y += stride) vst1q_u8(y, bytes.of(vld1q_u8(y)));
  }

 private:
  // In 16 registers. tbx keeps what an index outside of its part already has.
  struct ByteTable {
    uint8x16x4_t first, second, third, fourth;

    static ByteTable at(const std::uint8_t* table) {
      return {vld1q_u8_x4(table), vld1q_u8_x4(table + 64), vld1q_u8_x4(table + 128), vld1q_u8_x4(table + 192)};
    }
    uint8x16_t of(uint8x16_t index) const {
      uint8x16_t entries = vqtbl4q_u8(first, index);
      entries = vqtbx4q_u8(entries, second, vsubq_u8(index, vdupq_n_u8(64)));
      entries = vqtbx4q_u8(entries, third, vsubq_u8(index, vdupq_n_u8(128)));
      return vqtbx4q_u8(entries, fourth, vsubq_u8(index, vdupq_n_u8(192)));
    }
  };

  static uint32x2_t four_bytes(const std::uint8_t* p) {
    std::uint32_t bytes;
    std::memcpy(&bytes, p, sizeof bytes);
    return vdup_n_u32(bytes);
  }
  static void store_low_four(std::uint8_t* p, int8x8_t x) {
    const std::uint32_t bytes = vget_lane_u32(vreinterpret_u32_s8(x), 0);
    std::memcpy(p, &bytes, sizeof bytes);
  }
};

// Two of them side by side.
struct Neon {
  using One = Neon4;
  using Half = Neon4;
  static constexpr int kLanes = 8;
  struct F32 {
    One::F32 low, high;
  };
  struct S32 {
    One::S32 low, high;
  };
  struct F64 {
    One::F64 low, high;
  };
  struct Mask {
    One::Mask low, high;
  };

  static F32 load(const float* p) { return {One::load(p), One::load(p + 4)}; }
  static void store(float* p, F32 x) {
    One::store(p, x.low);
    One::store(p + 4, x.high);
  }
  static F32 load_first(const float* p, std::int64_t n, float fill) {
    if (n >= kLanes) return load(p);
    if (n > 4) return {One::load(p), One::load_first(p + 4, n - 4, fill)};
    return {One::load_first(p, n, fill), One::set(fill)};
  }
  static void store_first(float* p, F32 x, std::int64_t n) {
    if (n >= kLanes) return store(p, x);
    if (n <= 4) return One::store_first(p, x.low, n);
    One::store(p, x.low);
    One::store_first(p + 4, x.high, n - 4);
  }
  static F32 set(float x) { return {One::set(x), One::set(x)}; }
  static S32 load_s32(const std::int32_t* p) { return {One::load_s32(p), One::load_s32(p + 4)}; }
  static void store_s32(std::int32_t* p, S32 x) {
    One::store_s32(p, x.low);
    One::store_s32(p + 4, x.high);
  }
  static S32 set_s32(std::int32_t x) { return {One::set_s32(x), One::set_s32(x)}; }

  static S32 widen_u8(const std::uint8_t* p) {
    const uint16x8_t halves = vmovl_u8(vld1_u8(p));
    return {vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(halves))), vreinterpretq_s32_u32(vmovl_high_u16(halves))};
  }
  static S32 widen_s8(const std::uint8_t* p) {
    const int16x8_t halves = vmovl_s8(vreinterpret_s8_u8(vld1_u8(p)));
    return {vmovl_s16(vget_low_s16(halves)), vmovl_high_s16(halves)};
  }
  static S32 widen_u16(const std::uint16_t* p) { return {One::widen_u16(p), One::widen_u16(p + 4)}; }
  static S32 widen_s16(const std::int16_t* p) { return {One::widen_s16(p), One::widen_s16(p + 4)}; }
  static void store_s16(std::int16_t* p, S32 x) { vst1q_s16(p, vcombine_s16(vmovn_s32(x.low), vmovn_s32(x.high))); }
  static void store_bytes(std::uint8_t* p, S32 x) {
    vst1_u8(p, vreinterpret_u8_s8(vmovn_s16(vcombine_s16(vmovn_s32(x.low), vmovn_s32(x.high)))));
  }
  static void store_four(std::uint8_t* p, S32 a, S32 b, S32 c, S32 d) {
    One::store_four(p, a.low, a.high, b.low, b.high);
    One::store_four(p + 16, c.low, c.high, d.low, d.high);
  }

  static F32 add(F32 a, F32 b) { return {One::add(a.low, b.low), One::add(a.high, b.high)}; }
  static F32 sub(F32 a, F32 b) { return {One::sub(a.low, b.low), One::sub(a.high, b.high)}; }
  static F32 mul(F32 a, F32 b) { return {One::mul(a.low, b.low), One::mul(a.high, b.high)}; }
  static F32 div(F32 a, F32 b) { return {One::div(a.low, b.low), One::div(a.high, b.high)}; }
  static F32 fma(F32 a, F32 b, F32 c) { return {One::fma(a.low, b.low, c.low), One::fma(a.high, b.high, c.high)}; }
  static F32 sqrt(F32 x) { return {One::sqrt(x.low), One::sqrt(x.high)}; }
  static F32 max(F32 a, F32 b) { return {One::max(a.low, b.low), One::max(a.high, b.high)}; }
  static F32 min(F32 a, F32 b) { return {One::min(a.low, b.low), One::min(a.high, b.high)}; }
  // Multiplied by number `i` of four.
  using Four = float32x4_t;
  static Four load_four(const float* p) { return vld1q_f32(p); }
  static Four set_four(float x) { return vdupq_n_f32(x); }
  template <int i>
  static F32 fma_by(Four a, F32 b, F32 c) {
    return {vfmaq_laneq_f32(c.low, b.low, a, i), vfmaq_laneq_f32(c.high, b.high, a, i)};
  }
  static float lowest(F32 x) { return One::lowest(One::min(x.low, x.high)); }
  static float highest(F32 x) { return One::highest(One::max(x.low, x.high)); }
  static std::int32_t total(S32 x) { return One::total(One::add_s32(x.low, x.high)); }
  static F32 to_f32(S32 x) { return {One::to_f32(x.low), One::to_f32(x.high)}; }
  static S32 round(F32 x) { return {One::round(x.low), One::round(x.high)}; }
  static S32 add_s32(S32 a, S32 b) { return {One::add_s32(a.low, b.low), One::add_s32(a.high, b.high)}; }
  static S32 sub_s32(S32 a, S32 b) { return {One::sub_s32(a.low, b.low), One::sub_s32(a.high, b.high)}; }

  static S32 mul_s32(S32 a, S32 b) { return {One::mul_s32(a.low, b.low), One::mul_s32(a.high, b.high)}; }
  static S32 add_pairs(S32 sum, S32 a, S32 b) {
    return {One::add_pairs(sum.low, a.low, b.low), One::add_pairs(sum.high, a.high, b.high)};
  }
  static S32 and_s32(S32 a, S32 b) { return {One::and_s32(a.low, b.low), One::and_s32(a.high, b.high)}; }
  static S32 max_pairs(S32 a, S32 b) { return {One::max_pairs(a.low, b.low), One::max_pairs(a.high, b.high)}; }
  static S32 min_pairs(S32 a, S32 b) { return {One::min_pairs(a.low, b.low), One::min_pairs(a.high, b.high)}; }
  static S32 shift_right_s32(S32 a, std::int32_t bits) {
    return {One::shift_right_s32(a.low, bits), One::shift_right_s32(a.high, bits)};
  }
  static S32 max_s32(S32 a, S32 b) { return {One::max_s32(a.low, b.low), One::max_s32(a.high, b.high)}; }
  static S32 min_s32(S32 a, S32 b) { return {One::min_s32(a.low, b.low), One::min_s32(a.high, b.high)}; }

  static F32 nearest(F32 x) { return {One::nearest(x.low), One::nearest(x.high)}; }
  static F32 floor(F32 x) { return {One::floor(x.low), One::floor(x.high)}; }
  static F32 ceil(F32 x) { return {One::ceil(x.low), One::ceil(x.high)}; }
  static Mask less(F32 a, F32 b) { return {One::less(a.low, b.low), One::less(a.high, b.high)}; }
  static Mask equal(F32 a, F32 b) { return {One::equal(a.low, b.low), One::equal(a.high, b.high)}; }
  static F32 select(Mask mask, F32 a, F32 b) {
    return {One::select(mask.low, a.low, b.low), One::select(mask.high, a.high, b.high)};
  }
  static bool any_greater(F32 a, F32 b) { return One::any_greater(a.low, b.low) || One::any_greater(a.high, b.high); }

  static S32 as_s32(F32 x) { return {One::as_s32(x.low), One::as_s32(x.high)}; }
  static F32 as_f32(S32 x) { return {One::as_f32(x.low), One::as_f32(x.high)}; }
  static S32 xor_s32(S32 a, S32 b) { return {One::xor_s32(a.low, b.low), One::xor_s32(a.high, b.high)}; }
  template <int bits>
  static S32 shift_left(S32 a) {
    return {One::shift_left<bits>(a.low), One::shift_left<bits>(a.high)};
  }
  template <int bits>
  static S32 shift_right(S32 a) {
    return {One::shift_right<bits>(a.low), One::shift_right<bits>(a.high)};
  }

  static F64 widen(F32 x) { return {One::widen(x.low), One::widen(x.high)}; }
  static F32 narrow(F64 x) { return {One::narrow(x.low), One::narrow(x.high)}; }
  static F64 load_f64(const double* p) { return {One::load_f64(p), One::load_f64(p + 4)}; }
  static void store_f64(double* p, F64 x) {
    One::store_f64(p, x.low);
    One::store_f64(p + 4, x.high);
  }
  static F64 set_f64(double x) { return {One::set_f64(x), One::set_f64(x)}; }
  static F64 add_f64(F64 a, F64 b) { return {One::add_f64(a.low, b.low), One::add_f64(a.high, b.high)}; }
  static F64 sub_f64(F64 a, F64 b) { return {One::sub_f64(a.low, b.low), One::sub_f64(a.high, b.high)}; }
  static F64 mul_f64(F64 a, F64 b) { return {One::mul_f64(a.low, b.low), One::mul_f64(a.high, b.high)}; }
  static F64 fma_f64(F64 a, F64 b, F64 c) {
    return {One::fma_f64(a.low, b.low, c.low), One::fma_f64(a.high, b.high, c.high)};
  }

  static void lookup(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y, std::int64_t n) {
    One::lookup(table, x, y, n);
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_NEON_H_
