// Lanes of four bytes, u8 in one operand and s8 in the other, as dot product instructions take them: packing, and
// blocks of products. Over a Simd with add_quads(sum, u8, s8). Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_QUADS_H_
#define OCTAVO_KERNELS_SIMD_QUADS_H_

#include <immintrin.h>

#include <cstdint>

#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

constexpr int kQuad = 4;
constexpr int kQuadBytes = 16;  // that are packed at once
constexpr std::int32_t kQuadOfOnes = 0x01010101;

// Stored numbers as u8 or s8: the same byte or one with its highest bit changed, and the zero point with it.
struct StoredAs {
  std::uint8_t flip = 0;
  std::int32_t zero_point = 0;

  static StoredAs u8(bool is_signed, std::int32_t zero_point) {
    return is_signed ? StoredAs{0x80, zero_point + 128} : StoredAs{0, zero_point};
  }
  static StoredAs s8(bool is_signed, std::int32_t zero_point) {
    return is_signed ? StoredAs{0, zero_point} : StoredAs{0x80, zero_point - 128};
  }
};

// `columns` bytes of a row, flipped, then 0 up to `depth` lanes. Gives the sum of the bytes.
std::int32_t pack_quads(const std::uint8_t* row, std::int64_t columns, std::uint8_t flip, std::int32_t* quads,
                        std::int64_t depth) {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  auto* bytes = reinterpret_cast<std::uint8_t*>(quads);
  __m128i sums = _mm_setzero_si128();
  std::int64_t c = 0;
  for (; c + kQuadBytes <= columns; c += kQuadBytes) {
    const __m128i some = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + c)), flips);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + c), some);
    sums = _mm_add_epi32(sums, _mm_sad_epu8(some, _mm_setzero_si128()));
  }
  std::int32_t sum = _mm_cvtsi128_si32(sums) + _mm_extract_epi32(sums, 2);
  for (; c < columns; ++c) sum += bytes[c] = row[c] ^ flip;
  for (; c < depth * kQuad; ++c) bytes[c] = 0;
  return sum;
}

// A matrix whose rows are `stride` bytes apart.
struct ByteMatrix {
  const std::uint8_t* first = nullptr;
  std::int64_t stride = 0, rows = 0, columns = 0;
  std::uint8_t flip = 0;

  // 16 bytes of a row from a column on; 0 where there are none.
  __m128i bytes(std::int64_t row, std::int64_t column) const {
    if (row >= rows) return _mm_setzero_si128();
    const std::uint8_t* from = first + row * stride + column;
    if (columns - column >= kQuadBytes) {
      const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
      return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), flips);
    }
    alignas(kQuadBytes) std::uint8_t some[kQuadBytes] = {};
    for (std::int64_t c = 0; c < columns - column; ++c) some[c] = from[c] ^ flip;
    return _mm_load_si128(reinterpret_cast<const __m128i*>(some));
  }
};

// Four rows of 16 columns as 16 lanes, of which a vector may have but eight; `group` lanes from a vector to the next.
template <class S>
void store_quads(const __m128i (&rows)[kQuad], std::int32_t* to, std::int64_t group) {
  const __m128i low_01 = _mm_unpacklo_epi8(rows[0], rows[1]), high_01 = _mm_unpackhi_epi8(rows[0], rows[1]);
  const __m128i low_23 = _mm_unpacklo_epi8(rows[2], rows[3]), high_23 = _mm_unpackhi_epi8(rows[2], rows[3]);
  const __m128i lanes[] = {_mm_unpacklo_epi16(low_01, low_23), _mm_unpackhi_epi16(low_01, low_23),
                           _mm_unpacklo_epi16(high_01, high_23), _mm_unpackhi_epi16(high_01, high_23)};
  for (int i = 0; i < 4; ++i) {
    std::int32_t* vector = to + i * 4 / S::kLanes * group + i * 4 % S::kLanes;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(vector), lanes[i]);
  }
}

// A lane is a column of four rows: [columns / lanes][depth][lanes]. Rows beyond the last, up to 4 * depth, and columns
// beyond the last, up to a multiple of 16, are 0.
template <class S>
void pack_columns(const ByteMatrix& matrix, std::int64_t depth, std::int32_t* to) {
  const std::int64_t group = depth * S::kLanes;
  for (std::int64_t column = 0; column < matrix.columns; column += kQuadBytes) {
    for (std::int64_t d = 0; d < depth; ++d) {
      __m128i rows[kQuad];
      for (int i = 0; i < kQuad; ++i) rows[i] = matrix.bytes(d * kQuad + i, column);
      store_quads<S>(rows, to + column / S::kLanes * group + d * S::kLanes, group);
    }
  }
}

// Of the lanes of one vector: the sums of its bytes, s8.
template <class S>
typename S::S32 sums_of_quads(const std::int32_t* vectors, std::int64_t depth) {
  typename S::S32 sum = S::set_s32(0);
  for (std::int64_t d = 0; d < depth; ++d)
    sum = S::add_quads(sum, S::set_s32(kQuadOfOnes), S::load_s32(vectors + d * S::kLanes));
  return sum;
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SIMD_QUADS_H_
