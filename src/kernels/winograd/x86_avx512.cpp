// winograd/ for AVX-512. Part of kernels/.
#include <immintrin.h>

#include "kernels/winograd/generic.h"

namespace octavo {
namespace {

struct Words {
  using V = __m512i;
  static constexpr int kLanes = 32;
  static V zero() { return _mm512_setzero_si512(); }
  static V add(V a, V b) { return _mm512_add_epi16(a, b); }
  static V sub(V a, V b) { return _mm512_sub_epi16(a, b); }
  static V twice(V a) { return _mm512_add_epi16(a, a); }
  static V times4(V a) { return _mm512_slli_epi16(a, 2); }
  static V widen_u8(const std::uint8_t* p) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static V widen_s8(const std::int8_t* p) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static void store(std::int16_t* p, V a) { _mm512_storeu_si512(p, a); }
};

struct Dwords {
  using V = __m512i;
  static constexpr int kLanes = 16;
  static V add(V a, V b) { return _mm512_add_epi32(a, b); }
  static V sub(V a, V b) { return _mm512_sub_epi32(a, b); }
  static V twice(V a) { return _mm512_add_epi32(a, a); }
  static V times4(V a) { return _mm512_slli_epi32(a, 2); }
  static V load(const std::int32_t* p) { return _mm512_loadu_si512(p); }
  static void store(std::int32_t* p, V a) { _mm512_storeu_si512(p, a); }
  static V divide_by_576(V a) { return _mm512_srai_epi32(_mm512_mullo_epi32(a, _mm512_set1_epi32(kInverseOf9)), 6); }
};

}  // namespace

constexpr WinogradFunctions kWinogradAvx512{Dwords::kLanes, transform_input<Words>, transform_weights<Words>,
                                            transform_sums<Dwords>};

}  // namespace octavo
