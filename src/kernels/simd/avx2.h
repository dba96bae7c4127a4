// Simd of eight 32-bit lanes: AVX2 and FMA. See scalar.h. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_AVX2_H_
#define OCTAVO_KERNELS_SIMD_AVX2_H_

#include <immintrin.h>

#include <cstdint>

#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

struct Avx2 {
  using Half = Scalar;
  static constexpr int kLanes = 8;
  using F32 = __m256;
  using S32 = __m256i;
  struct F64 {
    __m256d low, high;
  };
  using Mask = __m256;

  static F32 load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, F32 x) { _mm256_storeu_ps(p, x); }
  static F32 load_first(const float* p, std::int64_t n, float fill) {
    const __m256i mask = first(n);
    return _mm256_blendv_ps(set(fill), _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
  }
  static void store_first(float* p, F32 x, std::int64_t n) { _mm256_maskstore_ps(p, first(n), x); }
  static F32 set(float x) { return _mm256_set1_ps(x); }
  static S32 load_s32(const std::int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store_s32(std::int32_t* p, S32 x) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x); }
  static S32 set_s32(std::int32_t x) { return _mm256_set1_epi32(x); }

  static S32 widen_u8(const std::uint8_t* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static S32 widen_s8(const std::uint8_t* p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static S32 widen_u16(const std::uint16_t* p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static S32 widen_s16(const std::int16_t* p) {
    return _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static void store_s16(std::int16_t* p, S32 x) {
    const __m128i packed = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), packed);
  }
  static void store_bytes(std::uint8_t* p, S32 x) {
    const __m256i picked = _mm256_shuffle_epi8(x, _mm256_set1_epi32(0x0c080400));
    const __m128i joined = _mm_unpacklo_epi32(_mm256_castsi256_si128(picked), _mm256_extracti128_si256(picked, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), joined);
  }
  static void store_four(std::uint8_t* p, S32 a, S32 b, S32 c, S32 d) {
    const __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permutevar8x32_epi32(bytes, order));
  }

  static F32 add(F32 a, F32 b) { return _mm256_add_ps(a, b); }
  static F32 sub(F32 a, F32 b) { return _mm256_sub_ps(a, b); }
  static F32 mul(F32 a, F32 b) { return _mm256_mul_ps(a, b); }
  static F32 div(F32 a, F32 b) { return _mm256_div_ps(a, b); }
  static F32 fma(F32 a, F32 b, F32 c) { return _mm256_fmadd_ps(a, b, c); }
  static F32 sqrt(F32 x) { return _mm256_sqrt_ps(x); }
  static F32 max(F32 a, F32 b) { return _mm256_max_ps(a, b); }
  static F32 min(F32 a, F32 b) { return _mm256_min_ps(a, b); }
  static float lowest(F32 x) {
    const __m128 half = _mm_min_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_min_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_min_ss(two, _mm_movehdup_ps(two)));
  }
  static float highest(F32 x) {
    const __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    const __m128 two = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  static std::int32_t total(S32 x) {
    const __m128i half = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    const __m128i two = _mm_add_epi32(half, _mm_unpackhi_epi64(half, half));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 1)));
  }
  static F32 to_f32(S32 x) { return _mm256_cvtepi32_ps(x); }
  static S32 round(F32 x) { return _mm256_cvtps_epi32(x); }
  static S32 add_s32(S32 a, S32 b) { return _mm256_add_epi32(a, b); }
  static S32 sub_s32(S32 a, S32 b) { return _mm256_sub_epi32(a, b); }

  static S32 mul_s32(S32 a, S32 b) { return _mm256_mullo_epi32(a, b); }
  static S32 add_pairs(S32 sum, S32 a, S32 b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }
  static S32 and_s32(S32 a, S32 b) { return _mm256_and_si256(a, b); }
  static S32 max_pairs(S32 a, S32 b) { return _mm256_max_epi16(a, b); }
  static S32 min_pairs(S32 a, S32 b) { return _mm256_min_epi16(a, b); }
  static S32 shift_right_s32(S32 a, std::int32_t bits) { return _mm256_sra_epi32(a, _mm_cvtsi32_si128(bits)); }
  static S32 max_s32(S32 a, S32 b) { return _mm256_max_epi32(a, b); }
  static S32 min_s32(S32 a, S32 b) { return _mm256_min_epi32(a, b); }

  static F32 nearest(F32 x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F32 floor(F32 x) { return _mm256_floor_ps(x); }
  static F32 ceil(F32 x) { return _mm256_ceil_ps(x); }
  static Mask less(F32 a, F32 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
  static Mask equal(F32 a, F32 b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
  static F32 select(Mask mask, F32 a, F32 b) { return _mm256_blendv_ps(b, a, mask); }
  static bool any_greater(F32 a, F32 b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0; }

  static S32 as_s32(F32 x) { return _mm256_castps_si256(x); }
  static F32 as_f32(S32 x) { return _mm256_castsi256_ps(x); }
  static S32 xor_s32(S32 a, S32 b) { return _mm256_xor_si256(a, b); }
  template <int bits>
  static S32 shift_left(S32 a) {
    return _mm256_slli_epi32(a, bits);
  }
  template <int bits>
  static S32 shift_right(S32 a) {
    return _mm256_srai_epi32(a, bits);
  }

  static F64 widen(F32 x) {
    return {_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
  }
  static F32 narrow(F64 x) { return _mm256_set_m128(_mm256_cvtpd_ps(x.high), _mm256_cvtpd_ps(x.low)); }
  static F64 load_f64(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
  static void store_f64(double* p, F64 x) {
    _mm256_storeu_pd(p, x.low);
    _mm256_storeu_pd(p + 4, x.high);
  }
  static F64 set_f64(double x) { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
  static F64 add_f64(F64 a, F64 b) { return {_mm256_add_pd(a.low, b.low), _mm256_add_pd(a.high, b.high)}; }
  static F64 sub_f64(F64 a, F64 b) { return {_mm256_sub_pd(a.low, b.low), _mm256_sub_pd(a.high, b.high)}; }
  static F64 mul_f64(F64 a, F64 b) { return {_mm256_mul_pd(a.low, b.low), _mm256_mul_pd(a.high, b.high)}; }
  static F64 fma_f64(F64 a, F64 b, F64 c) {
    return {_mm256_fmadd_pd(a.low, b.low, c.low), _mm256_fmadd_pd(a.high, b.high, c.high)};
  }

  // vpshufb looks up 16 entries at a time and gives 0 where the index's top bit is set: 16 parts, joined by "or".
  static void lookup(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y, std::int64_t n) {
    std::int64_t i = 0;
    for (; i + 64 <= n; i += 64) lookup_64(table, x + i, y + i);
    Scalar::lookup(table, x + i, y + i, n - i);
  }

 private:
  static __m256i first(std::int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static __m256i part_of(const std::uint8_t* table, int part) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * part)));
  }
  static void lookup_64(const std::uint8_t* table, const std::uint8_t* x, std::uint8_t* y) {
    const __m256i x0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
    const __m256i x1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + 32));
    __m256i y0 = _mm256_setzero_si256(), y1 = y0;
    // Index for part p: x - 16p, made to have its top bit set unless it is in [0, 16): saturating addition of 0x70 sets
    // it for 16 and above, and wrapping subtraction makes indices below 0 large.
    const __m256i guard = _mm256_set1_epi8(0x70);
    for (int part = 0; part < 16; ++part) {
      const __m256i entries = part_of(table, part);
      const __m256i base = _mm256_set1_epi8(static_cast<char>(16 * part));
      y0 = _mm256_or_si256(y0, _mm256_shuffle_epi8(entries, _mm256_adds_epu8(_mm256_sub_epi8(x0, base), guard)));
      y1 = _mm256_or_si256(y1, _mm256_shuffle_epi8(entries, _mm256_adds_epu8(_mm256_sub_epi8(x1, base), guard)));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), y0);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + 32), y1);
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_AVX2_H_
