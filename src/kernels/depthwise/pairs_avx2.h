// Pairs of taps by vpmaddwd, 32 and 16 channels at a time: exact for any weights. Internal linkage only. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_DEPTHWISE_PAIRS_AVX2_H_
#define OCTAVO_KERNELS_DEPTHWISE_PAIRS_AVX2_H_

#include <immintrin.h>

#include "kernels/depthwise/rows.h"

namespace octavo {
namespace {

template <bool kSigned>
__m256i widen_bytes(__m128i x) {
  return kSigned ? _mm256_cvtepi8_epi16(x) : _mm256_cvtepu8_epi16(x);
}

// acc[2 * i], acc[2 * i + 1]: channels 16 * i ... 16 * i + 15 from `first` on.
template <bool kSigned, int kSixteens>
void accumulate_sixteens(const DepthwisePosition& p, std::int64_t first) {
  __m256i acc[2 * kSixteens];
  for (int i = 0; i < 2 * kSixteens; ++i)
    acc[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p.bias + first + 8 * i));
  for (std::int64_t pair = 0; pair < p.pairs; ++pair) {
    const std::uint8_t* x0 = p.taps[2 * pair] + first;
    const std::uint8_t* x1 = p.taps[2 * pair + 1] + first;
    const std::int16_t* w = p.weights + (pair * p.channels + first) * 2;
    for (int i = 0; i < kSixteens; ++i) {
      const __m128i left = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x0 + 16 * i));
      const __m128i right = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x1 + 16 * i));
      const __m256i low = widen_bytes<kSigned>(_mm_unpacklo_epi8(left, right));
      const __m256i high = widen_bytes<kSigned>(_mm_unpackhi_epi8(left, right));
      const __m256i w_low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 32 * i));
      const __m256i w_high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 32 * i + 16));
      acc[2 * i] = _mm256_add_epi32(acc[2 * i], _mm256_madd_epi16(low, w_low));
      acc[2 * i + 1] = _mm256_add_epi32(acc[2 * i + 1], _mm256_madd_epi16(high, w_high));
    }
  }
  for (int i = 0; i < 2 * kSixteens; ++i)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p.acc + first + 8 * i), acc[i]);
}

template <bool kSigned>
std::int64_t accumulate_blocks(const DepthwisePosition& p) {
  std::int64_t c = 0;
  for (; c + 32 <= p.channels; c += 32) accumulate_sixteens<kSigned, 2>(p, c);
  for (; c + 16 <= p.channels; c += 16) accumulate_sixteens<kSigned, 1>(p, c);
  return c;
}

std::int64_t accumulate_pairs(const DepthwisePosition& p) {
  return p.x_is_signed ? accumulate_blocks<true>(p) : accumulate_blocks<false>(p);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_DEPTHWISE_PAIRS_AVX2_H_
