// Neon with dot products of bytes. See scalar.h and quads.h. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_NEON_DOT_H_
#define OCTAVO_KERNELS_SIMD_NEON_DOT_H_

#include "kernels/simd/neon.h"
#include "kernels/simd/udot_ahead.h"

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
  // sums[r][h] += a's row r times b's vector h, of the first lanes, a multiple of four, which it gives: as in Products.
  template <int kRows>
  static inline __attribute__((always_inline)) std::int64_t add_fours(S32 (&sums)[kRows][2], const std::int32_t* a,
                                                                      std::int64_t a_stride, const std::int32_t* b,
                                                                      std::int64_t b_stride, std::int64_t depth) {
    const std::int64_t lanes = depth & ~std::int64_t{3};
    const std::uint8_t *rows[kRows], *vectors[kAheadVectors];
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) { rows[r] = bytes_of(a + r * a_stride + lanes); });
    unrolled<kAheadVectors>([&](auto i) __attribute__((always_inline)) {
      constexpr int kQuads = i / 4, kHalf = i % 4 / 2, kPart = i % 2;
      vectors[i] = bytes_of(b + kHalf * b_stride + (lanes + kQuads) * kLanes + kPart * 4);
    });
    int32x4_t acc[kRows][4] = {};
    add_ahead<8>(
        rows, vectors,
        4 * lanes, [&](auto r, auto v) __attribute__((always_inline))->int32x4_t & { return acc[r][v]; });
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      sums[r][0] = {acc[r][0], acc[r][1]};
      sums[r][1] = {acc[r][2], acc[r][3]};
    });
    return lanes;
  }

 private:
  static One::S32 dot(One::S32 sum, One::S32 a, One::S32 b) {
    return vreinterpretq_s32_u32(
        vdotq_u32(vreinterpretq_u32_s32(sum), vreinterpretq_u8_s32(a), vreinterpretq_u8_s32(b)));
  }
  static const std::uint8_t* bytes_of(const std::int32_t* quads) {
    return reinterpret_cast<const std::uint8_t*>(quads);
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_NEON_DOT_H_
