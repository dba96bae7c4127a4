// Simd of sixteen 32-bit lanes: AVX-512 F, BW, DQ, VL. See scalar.h. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_AVX512_H_
#define OCTAVO_KERNELS_SIMD_AVX512_H_

#include <immintrin.h>

#include <cstdint>

#include "kernels/simd/avx2.h"

namespace octavo {
namespace {

struct Avx512 {
  using Half = Avx2;
  static constexpr int kLanes = 16;
  using F32 = __m512;
  using S32 = __m512i;
  struct F64 {
    __m512d low, high;
  };
  using Mask = __mmask16;

  static F32 load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F32 x) { _mm512_storeu_ps(p, x); }
  static F32 load_first(const float* p, std::int64_t n, float fill) {
    return _mm512_mask_loadu_ps(set(fill), first(n), p);
  }
  static void store_first(float* p, F32 x, std::int64_t n) { _mm512_mask_storeu_ps(p, first(n), x); }
  static F32 set(float x) { return _mm512_set1_ps(x); }
  static S32 load_s32(const std::int32_t* p) { return _mm512_loadu_si512(p); }
  static void store_s32(std::int32_t* p, S32 x) { _mm512_storeu_si512(p, x); }
  static S32 set_s32(std::int32_t x) { return _mm512_set1_epi32(x); }

  static S32 widen_u8(const std::uint8_t* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static S32 widen_s8(const std::uint8_t* p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static S32 widen_u16(const std::uint16_t* p) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static S32 widen_s16(const std::int16_t* p) {
    return _mm512_cvtepi16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static void store_s16(std::int16_t* p, S32 x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(x));
  }
  static void store_bytes(std::uint8_t* p, S32 x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x));
  }
  static void store_four(std::uint8_t* p, S32 a, S32 b, S32 c, S32 d) {
    const __m512i bytes = _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    _mm512_storeu_si512(p, _mm512_permutexvar_epi32(order, bytes));
  }

  static F32 add(F32 a, F32 b) { return _mm512_add_ps(a, b); }
  static F32 sub(F32 a, F32 b) { return _mm512_sub_ps(a, b); }
  static F32 mul(F32 a, F32 b) { return _mm512_mul_ps(a, b); }
  static F32 div(F32 a, F32 b) { return _mm512_div_ps(a, b); }
  static F32 fma(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a, b, c); }
  static F32 sqrt(F32 x) { return _mm512_sqrt_ps(x); }
  // y * 2^n rounded once, n whole: `scaled` of base/elementary.h in one instruction.
  static F32 scale(F32 y, F32 n) { return _mm512_scalef_ps(y, n); }
  static F32 max(F32 a, F32 b) { return _mm512_max_ps(a, b); }
  static F32 min(F32 a, F32 b) { return _mm512_min_ps(a, b); }
  static float lowest(F32 x) {
    return Avx2::lowest(_mm256_min_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)));
  }
  static float highest(F32 x) {
    return Avx2::highest(_mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)));
  }
  static std::int32_t total(S32 x) {
    return Avx2::total(_mm256_add_epi32(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1)));
  }
  static F32 to_f32(S32 x) { return _mm512_cvtepi32_ps(x); }
  static S32 round(F32 x) { return _mm512_cvtps_epi32(x); }
  static S32 add_s32(S32 a, S32 b) { return _mm512_add_epi32(a, b); }
  static S32 sub_s32(S32 a, S32 b) { return _mm512_sub_epi32(a, b); }

  static S32 mul_s32(S32 a, S32 b) { return _mm512_mullo_epi32(a, b); }
  static S32 add_pairs(S32 sum, S32 a, S32 b) { return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b)); }
  static S32 and_s32(S32 a, S32 b) { return _mm512_and_si512(a, b); }
  static S32 max_pairs(S32 a, S32 b) { return _mm512_max_epi16(a, b); }
  static S32 min_pairs(S32 a, S32 b) { return _mm512_min_epi16(a, b); }
  static S32 shift_right_s32(S32 a, std::int32_t bits) { return _mm512_sra_epi32(a, _mm_cvtsi32_si128(bits)); }
  static S32 max_s32(S32 a, S32 b) { return _mm512_max_epi32(a, b); }
  static S32 min_s32(S32 a, S32 b) { return _mm512_min_epi32(a, b); }

  static F32 nearest(F32 x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F32 floor(F32 x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
  static F32 ceil(F32 x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
  static Mask less(F32 a, F32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  static Mask equal(F32 a, F32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
  static F32 select(Mask mask, F32 a, F32 b) { return _mm512_mask_blend_ps(mask, b, a); }
  static bool any_greater(F32 a, F32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0; }

  static S32 as_s32(F32 x) { return _mm512_castps_si512(x); }
  static F32 as_f32(S32 x) { return _mm512_castsi512_ps(x); }
  static S32 xor_s32(S32 a, S32 b) { return _mm512_xor_si512(a, b); }
  template <int bits>
  static S32 shift_left(S32 a) {
    return _mm512_slli_epi32(a, bits);
  }
  template <int bits>
  static S32 shift_right(S32 a) {
    return _mm512_srai_epi32(a, bits);
  }

  static F64 widen(F32 x) {
    return {_mm512_cvtps_pd(_mm512_castps512_ps256(x)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
  }
  static F32 narrow(F64 x) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(x.low)), _mm512_cvtpd_ps(x.high), 1);
  }
  static F64 load_f64(const double* p) { return {_mm512_loadu_pd(p), _mm512_loadu_pd(p + 8)}; }
  static void store_f64(double* p, F64 x) {
    _mm512_storeu_pd(p, x.low);
    _mm512_storeu_pd(p + 8, x.high);
  }
  static F64 set_f64(double x) { return {_mm512_set1_pd(x), _mm512_set1_pd(x)}; }
  static F64 add_f64(F64 a, F64 b) { return {_mm512_add_pd(a.low, b.low), _mm512_add_pd(a.high, b.high)}; }
  static F64 sub_f64(F64 a, F64 b) { return {_mm512_sub_pd(a.low, b.low), _mm512_sub_pd(a.high, b.high)}; }
  static F64 mul_f64(F64 a, F64 b) { return {_mm512_mul_pd(a.low, b.low), _mm512_mul_pd(a.high, b.high)}; }
  static F64 fma_f64(F64 a, F64 b, F64 c) {
    return {_mm512_fmadd_pd(a.low, b.low, c.low), _mm512_fmadd_pd(a.high, b.high, c.high)};
  }

  static void lookup(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y, std::int64_t n) {
#ifdef __AVX512VBMI__
    const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64);
    const __m512i t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
    std::int64_t i = 0;
    for (; i + 64 <= n; i += 64) {
      const __m512i index = _mm512_loadu_si512(x + i);
      const __m512i low = _mm512_permutex2var_epi8(t0, index, t1);
      const __m512i high = _mm512_permutex2var_epi8(t2, index, t3);
      _mm512_storeu_si512(y + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high));
    }
    Scalar::lookup(table, x + i, y + i, n - i);
#else
    const WordTable words(table);
    std::int64_t i = 0;
    for (; i + 64 <= n; i += 64) _mm512_storeu_si512(y + i, words.lookup(_mm512_loadu_si512(x + i)));
    Avx2::lookup(table, x + i, y + i, n - i);
#endif
  }

 private:
  static __mmask16 first(std::int64_t n) { return static_cast<__mmask16>((1u << n) - 1u); }
  // Without vpermi2b: the table is 128 words, of which an index without its lowest bit takes one.
  struct WordTable {
    explicit WordTable(const std::uint8_t* table) {
      for (int i = 0; i < 4; ++i) quarters[i] = _mm512_loadu_si512(table + 64 * i);
    }
    __m512i words(__m512i index) const {
      const __m512i half = _mm512_srli_epi16(index, 1);
      const __m512i low = _mm512_permutex2var_epi16(quarters[0], half, quarters[1]),
                    high = _mm512_permutex2var_epi16(quarters[2], half, quarters[3]);
      return _mm512_mask_blend_epi16(_mm512_test_epi16_mask(index, _mm512_set1_epi16(0x80)), low, high);
    }
    // Even and odd bytes apart: the one's entry is moved to the low byte of its word, the other's to the high one.
    __m512i lookup(__m512i x) const {
      const __m512i low_byte = _mm512_set1_epi16(0x00ff), one_byte = _mm512_set1_epi16(8);
      const __m512i even = _mm512_and_si512(x, low_byte), odd = _mm512_srli_epi16(x, 8);
      const __m512i low = _mm512_srlv_epi16(words(even), _mm512_and_si512(_mm512_slli_epi16(even, 3), one_byte));
      const __m512i high = _mm512_sllv_epi16(words(odd), _mm512_andnot_si512(_mm512_slli_epi16(odd, 3), one_byte));
      constexpr int kFirstWhereThird = 0xe4;
      return _mm512_ternarylogic_epi32(low, high, low_byte, kFirstWhereThird);
    }
    __m512i quarters[4];
  };
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_AVX512_H_
