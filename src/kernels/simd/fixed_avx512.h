// The fixed-point steps for AVX-512. See fixed.h. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_FIXED_AVX512_H_
#define OCTAVO_KERNELS_SIMD_FIXED_AVX512_H_

#include "kernels/simd/avx512.h"
#include "kernels/simd/fixed_avx2.h"

namespace octavo {
namespace {

template <>
struct FixedLanes<Avx512> {
  using S32 = __m512i;
  static constexpr __mmask16 kOdd = 0b1010101010101010;

  static S32 shift_left(S32 x, S32 bits) { return _mm512_sllv_epi32(x, bits); }

  static S32 high_product(S32 x, S32 m) {
    const __m512i half = _mm512_set1_epi64(std::int64_t{1} << 30),
                  lowest = _mm512_set1_epi32(std::numeric_limits<std::int32_t>::min());
    const __m512i even = _mm512_srli_epi64(_mm512_add_epi64(_mm512_mul_epi32(x, m), half), 31);
    const __m512i odd = _mm512_slli_epi64(_mm512_add_epi64(_mm512_mul_epi32(upper(x), upper(m)), half), 1);
    const __m512i y = _mm512_mask_mov_epi32(even, kOdd, odd);
    return _mm512_mask_set1_epi32(y, _mm512_cmpeq_epi32_mask(y, lowest), std::numeric_limits<std::int32_t>::max());
  }

  static S32 divide(S32 x, S32 exponent) {
    const __m512i one = _mm512_set1_epi32(1);
    const __m512i mask = _mm512_sub_epi32(_mm512_sllv_epi32(one, exponent), one);
    const __m512i threshold = _mm512_sub_epi32(_mm512_srli_epi32(mask, 1), _mm512_srai_epi32(x, 31));
    const __m512i floor = _mm512_srav_epi32(x, exponent);
    return _mm512_mask_add_epi32(floor, _mm512_cmpgt_epi32_mask(_mm512_and_si512(x, mask), threshold), floor, one);
  }

  static S32 divide_up(S32 x, S32 exponent) {
    const __m512i half = _mm512_srli_epi32(_mm512_sllv_epi32(_mm512_set1_epi32(1), exponent), 1);
    return _mm512_srav_epi32(_mm512_add_epi32(x, half), exponent);
  }

  static S32 product_shifted(S32 x, S32 m, S32 bits) {
    const __m512i even = shifted(_mm512_mul_epi32(x, m), _mm512_maskz_mov_epi32(static_cast<__mmask16>(~kOdd), bits));
    const __m512i odd = shifted(_mm512_mul_epi32(upper(x), upper(m)), upper(bits));
    return _mm512_mask_mov_epi32(even, kOdd, _mm512_slli_epi64(odd, 32));
  }

 private:
  static __m512i upper(__m512i x) { return _mm512_srli_epi64(x, 32); }
  static __m512i shifted(__m512i x, __m512i bits) {
    const __m512i one = _mm512_set1_epi64(1);
    return _mm512_srav_epi64(_mm512_add_epi64(x, _mm512_sllv_epi64(one, _mm512_sub_epi64(bits, one))), bits);
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_FIXED_AVX512_H_
