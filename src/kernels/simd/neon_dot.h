// Neon with dot products of bytes. See scalar.h and quads.h. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_NEON_DOT_H_
#define OCTAVO_KERNELS_SIMD_NEON_DOT_H_

#include "kernels/simd/neon.h"

namespace octavo {
namespace {

struct NeonBytes {
  using V = uint8x16_t;
  using Totals = uint32x4_t;

  static V load(const std::uint8_t* p) { return vld1q_u8(p); }
  static void store(void* p, V x) { vst1q_u8(static_cast<std::uint8_t*>(p), x); }
  static V set(std::uint8_t x) { return vdupq_n_u8(x); }
  static V bit_xor(V a, V b) { return veorq_u8(a, b); }

  static Totals no_totals() { return vdupq_n_u32(0); }
  static Totals add(Totals sums, V x) { return vdotq_u32(sums, x, vdupq_n_u8(1)); }
  static std::int32_t total(Totals sums) { return static_cast<std::int32_t>(vaddvq_u32(sums)); }

  static void transpose(const V (&rows)[4], V (&lanes)[4]) {
    const uint8x16x2_t first = vzipq_u8(rows[0], rows[1]), second = vzipq_u8(rows[2], rows[3]);
    for (int half = 0; half < 2; ++half) {
      const uint16x8x2_t words =
          vzipq_u16(vreinterpretq_u16_u8(first.val[half]), vreinterpretq_u16_u8(second.val[half]));
      lanes[2 * half] = vreinterpretq_u8_u16(words.val[0]);
      lanes[2 * half + 1] = vreinterpretq_u8_u16(words.val[1]);
    }
  }
};

struct NeonDot : Neon {
  using Bytes = NeonBytes;
  static constexpr bool kMixesSigns = false;

  static S32 add_quads(S32 sum, S32 a, S32 b) { return {dot(sum.low, a.low, b.low), dot(sum.high, a.high, b.high)}; }
  // By number `i` of four, in all lanes.
  using FourQuads = uint8x16_t;
  static FourQuads load_quads(const std::int32_t* p) { return vreinterpretq_u8_s32(vld1q_s32(p)); }
  template <int i>
  static S32 add_quads_by(S32 sum, FourQuads a, S32 b) {
    return {dot_by<i>(sum.low, a, b.low), dot_by<i>(sum.high, a, b.high)};
  }

 private:
  static One::S32 dot(One::S32 sum, One::S32 a, One::S32 b) {
    return vreinterpretq_s32_u32(
        vdotq_u32(vreinterpretq_u32_s32(sum), vreinterpretq_u8_s32(a), vreinterpretq_u8_s32(b)));
  }
  template <int i>
  static One::S32 dot_by(One::S32 sum, FourQuads a, One::S32 b) {
    return vreinterpretq_s32_u32(vdotq_laneq_u32(vreinterpretq_u32_s32(sum), vreinterpretq_u8_s32(b), a, i));
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_NEON_DOT_H_
