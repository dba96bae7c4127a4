// Simd::Bytes of x86: what quads.h packs with. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_SSE_BYTES_H_
#define OCTAVO_KERNELS_SIMD_SSE_BYTES_H_

#include <immintrin.h>

#include <cstdint>

namespace octavo {
namespace {

struct SseBytes {
  using V = __m128i;
  using Totals = __m128i;

  static V load(const std::uint8_t* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
  static void store(void* p, V x) { _mm_storeu_si128(static_cast<__m128i*>(p), x); }
  static V set(std::uint8_t x) { return _mm_set1_epi8(static_cast<char>(x)); }
  static V bit_xor(V a, V b) { return _mm_xor_si128(a, b); }

  static Totals no_totals() { return _mm_setzero_si128(); }
  static Totals add(Totals sums, V x) { return _mm_add_epi32(sums, _mm_sad_epu8(x, _mm_setzero_si128())); }
  static std::int32_t total(Totals sums) { return _mm_cvtsi128_si32(sums) + _mm_extract_epi32(sums, 2); }

  static void transpose(const V (&rows)[4], V (&lanes)[4]) {
    const V low_01 = _mm_unpacklo_epi8(rows[0], rows[1]), high_01 = _mm_unpackhi_epi8(rows[0], rows[1]);
    const V low_23 = _mm_unpacklo_epi8(rows[2], rows[3]), high_23 = _mm_unpackhi_epi8(rows[2], rows[3]);
    lanes[0] = _mm_unpacklo_epi16(low_01, low_23);
    lanes[1] = _mm_unpackhi_epi16(low_01, low_23);
    lanes[2] = _mm_unpacklo_epi16(high_01, high_23);
    lanes[3] = _mm_unpackhi_epi16(high_01, high_23);
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_SSE_BYTES_H_
