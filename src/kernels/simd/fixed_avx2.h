// The fixed-point steps for AVX2. See fixed.h. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_FIXED_AVX2_H_
#define OCTAVO_KERNELS_SIMD_FIXED_AVX2_H_

#include "kernels/simd/avx2.h"
#include "kernels/simd/fixed.h"

namespace octavo {
namespace {

template <>
struct FixedLanes<Avx2> {
  using S32 = __m256i;

  static S32 shift_left(S32 x, S32 bits) { return _mm256_sllv_epi32(x, bits); }

  // Products of even lanes end in the lower halves of 64 bits, those of odd ones in the upper halves.
  static S32 high_product(S32 x, S32 m) {
    const __m256i half = _mm256_set1_epi64x(std::int64_t{1} << 30);
    const __m256i even = _mm256_srli_epi64(_mm256_add_epi64(_mm256_mul_epi32(x, m), half), 31);
    const __m256i odd = _mm256_slli_epi64(_mm256_add_epi64(_mm256_mul_epi32(upper(x), upper(m)), half), 1);
    const __m256i y = _mm256_blend_epi32(even, odd, 0b10101010);
    // Only -2^31 * -2^31 gives the lowest value, and its complement is the highest.
    return _mm256_xor_si256(y, _mm256_cmpeq_epi32(y, _mm256_set1_epi32(std::numeric_limits<std::int32_t>::min())));
  }

  static S32 divide(S32 x, S32 exponent) {
    const __m256i mask = _mm256_sub_epi32(_mm256_sllv_epi32(_mm256_set1_epi32(1), exponent), _mm256_set1_epi32(1));
    const __m256i threshold = _mm256_sub_epi32(_mm256_srli_epi32(mask, 1), _mm256_srai_epi32(x, 31));
    return _mm256_sub_epi32(_mm256_srav_epi32(x, exponent), _mm256_cmpgt_epi32(_mm256_and_si256(x, mask), threshold));
  }

  static S32 divide_up(S32 x, S32 exponent) {
    const __m256i half = _mm256_srli_epi32(_mm256_sllv_epi32(_mm256_set1_epi32(1), exponent), 1);
    return _mm256_srav_epi32(_mm256_add_epi32(x, half), exponent);
  }

  static S32 product_shifted(S32 x, S32 m, S32 bits) {
    const __m256i even = shifted(_mm256_mul_epi32(x, m), _mm256_blend_epi32(bits, _mm256_setzero_si256(), 0b10101010));
    const __m256i odd = shifted(_mm256_mul_epi32(upper(x), upper(m)), upper(bits));
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0b10101010);
  }

 private:
  static __m256i upper(__m256i x) { return _mm256_srli_epi64(x, 32); }
  // The arithmetic shift that AVX2 lacks for 64 bits: of x + 2^63, which is not negative, less what became of 2^63.
  static __m256i shifted(__m256i x, __m256i bits) {
    const __m256i one = _mm256_set1_epi64x(1), sign = _mm256_set1_epi64x(std::numeric_limits<std::int64_t>::min());
    const __m256i rounded = _mm256_add_epi64(x, _mm256_sllv_epi64(one, _mm256_sub_epi64(bits, one)));
    return _mm256_sub_epi64(_mm256_srlv_epi64(_mm256_xor_si256(rounded, sign), bits), _mm256_srlv_epi64(sign, bits));
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_FIXED_AVX2_H_
