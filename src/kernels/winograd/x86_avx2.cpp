// winograd/ for AVX2. Part of kernels/.
#include <immintrin.h>

#include "kernels/winograd/generic.h"

namespace octavo {
namespace {

struct Words {
  using V = __m256i;
  static constexpr int kLanes = 16;
  static V zero() { return _mm256_setzero_si256(); }
  static V add(V a, V b) { return _mm256_add_epi16(a, b); }
  static V sub(V a, V b) { return _mm256_sub_epi16(a, b); }
  static V twice(V a) { return _mm256_add_epi16(a, a); }
  static V times4(V a) { return _mm256_slli_epi16(a, 2); }
  static V widen_u8(const std::uint8_t* p) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static V widen_s8(const std::int8_t* p) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static void store(std::int16_t* p, V a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a); }
};

struct Dwords {
  using V = __m256i;
  static constexpr int kLanes = 8;
  static V add(V a, V b) { return _mm256_add_epi32(a, b); }
  static V sub(V a, V b) { return _mm256_sub_epi32(a, b); }
  static V twice(V a) { return _mm256_add_epi32(a, a); }
  static V times4(V a) { return _mm256_slli_epi32(a, 2); }
  static V load(const std::int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store(std::int32_t* p, V a) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a); }
  static V divide_by_576(V a) { return _mm256_srai_epi32(_mm256_mullo_epi32(a, _mm256_set1_epi32(kInverseOf9)), 6); }
};

}  // namespace

constexpr WinogradFunctions kWinogradAvx2{Dwords::kLanes, transform_input<Words>, transform_weights<Words>,
                                          transform_sums<Dwords>};

}  // namespace octavo
