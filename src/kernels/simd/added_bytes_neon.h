// Additions of base/requantize.h's IntegerAddForm for Advanced SIMD. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_ADDED_BYTES_NEON_H_
#define OCTAVO_KERNELS_SIMD_ADDED_BYTES_NEON_H_

#include <arm_neon.h>

#include <cstdint>

namespace octavo {
namespace {

// ((a * a_multiplier + b * b_multiplier + bias) >> right_shift) + zero_point of numbers of 16 bits that fit 9. A
// multiplier is high * 2^16 + low: the low parts are summed in 32 bits, of which the upper half alone is kept; the high
// parts, which have at most 6 bits, come to it in 16. Wraps as sums of 32 bits would.
struct AddedBytes {
  static constexpr std::int32_t kLeastShift = 16;

  int16x4_t parts;  // of a low and high, of b low and high
  int32x4_t bias;
  int16x8_t shift, zero_point;

  static AddedBytes of(std::int32_t a_multiplier, std::int32_t b_multiplier, std::int32_t bias,
                       std::int32_t right_shift, std::int32_t zero_point) {
    const std::int16_t parts[] = {low(a_multiplier), high(a_multiplier), low(b_multiplier), high(b_multiplier)};
    return {vld1_s16(parts), vdupq_n_s32(bias), vdupq_n_s16(static_cast<std::int16_t>(kLeastShift - right_shift)),
            vdupq_n_s16(static_cast<std::int16_t>(zero_point))};
  }

  inline __attribute__((always_inline)) int16x8_t sum(int16x8_t a, int16x8_t b) const {
    const int32x4_t first = vmlal_lane_s16(bias, vget_low_s16(a), parts, 0),
                    second = vmlal_high_lane_s16(bias, a, parts, 0);
    const int32x4_t low = vmlal_lane_s16(first, vget_low_s16(b), parts, 2),
                    high = vmlal_high_lane_s16(second, b, parts, 2);
    const int16x8_t upper = vuzp2q_s16(vreinterpretq_s16_s32(low), vreinterpretq_s16_s32(high));
    const int16x8_t words = vmlaq_lane_s16(vmlaq_lane_s16(upper, a, parts, 1), b, parts, 3);
    return vqaddq_s16(vshlq_s16(words, shift), zero_point);
  }
  // Saturated to u8, of which b is, too; a the first eight and the second ones, or bytes.
  inline __attribute__((always_inline)) uint8x16_t sum(int16x8_t a_first, int16x8_t a_second, uint8x16_t b) const {
    return vqmovun_high_s16(vqmovun_s16(sum(a_first, first_words(b))), sum(a_second, second_words(b)));
  }
  inline __attribute__((always_inline)) uint8x16_t sum(uint8x16_t a, uint8x16_t b) const {
    return sum(first_words(a), second_words(a), b);
  }

 private:
  static int16x8_t first_words(uint8x16_t x) { return vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(x))); }
  static int16x8_t second_words(uint8x16_t x) { return vreinterpretq_s16_u16(vmovl_high_u8(x)); }
  static std::int16_t low(std::int32_t multiplier) { return static_cast<std::int16_t>(multiplier); }
  static std::int16_t high(std::int32_t multiplier) {
    return static_cast<std::int16_t>((std::int64_t{multiplier} - low(multiplier)) >> 16);
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_ADDED_BYTES_NEON_H_
