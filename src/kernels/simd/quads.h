// Lanes of four bytes as dot product instructions take them, u8 in the first operand, s8 or u8 in the second: packing,
// and blocks of products. Over a Simd with add_quads(sum, first, second), which may mix signs, and Bytes, 16 of them.
// Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_SIMD_QUADS_H_
#define OCTAVO_KERNELS_SIMD_QUADS_H_

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

// The second operand.
template <class S>
StoredAs second_of_quads(bool is_signed, std::int32_t zero_point) {
  return S::kMixesSigns ? StoredAs::s8(is_signed, zero_point) : StoredAs::u8(is_signed, zero_point);
}

// `columns` bytes of a row, flipped, then 0 up to `depth` lanes. Gives the sum of the bytes.
template <class Bytes>
std::int32_t pack_quads(const std::uint8_t* row, std::int64_t columns, std::uint8_t flip, std::int32_t* quads,
                        std::int64_t depth) {
  const typename Bytes::V flips = Bytes::set(flip);
  auto* bytes = reinterpret_cast<std::uint8_t*>(quads);
  typename Bytes::Totals sums = Bytes::no_totals();
  std::int64_t c = 0;
  for (; c + kQuadBytes <= columns; c += kQuadBytes) {
    const typename Bytes::V some = Bytes::bit_xor(Bytes::load(row + c), flips);
    Bytes::store(bytes + c, some);
    sums = Bytes::add(sums, some);
  }
  std::int32_t sum = Bytes::total(sums);
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
  template <class Bytes>
  typename Bytes::V bytes(std::int64_t row, std::int64_t column) const {
    if (row >= rows) return Bytes::set(0);
    const std::uint8_t* from = first + row * stride + column;
    if (columns - column >= kQuadBytes) return Bytes::bit_xor(Bytes::load(from), Bytes::set(flip));
    alignas(kQuadBytes) std::uint8_t some[kQuadBytes] = {};
    for (std::int64_t c = 0; c < columns - column; ++c) some[c] = from[c] ^ flip;
    return Bytes::load(some);
  }
};

// A lane is a column of four rows: [columns / lanes][depth][lanes]. Rows beyond the last, up to 4 * depth, and columns
// beyond the last, up to a multiple of 16, are 0.
template <class S>
void pack_columns(const ByteMatrix& matrix, std::int64_t depth, std::int32_t* to) {
  using Bytes = typename S::Bytes;
  const std::int64_t group = depth * S::kLanes;
  for (std::int64_t column = 0; column < matrix.columns; column += kQuadBytes) {
    for (std::int64_t d = 0; d < depth; ++d) {
      typename Bytes::V rows[kQuad], lanes[kQuad];
      for (int i = 0; i < kQuad; ++i) rows[i] = matrix.bytes<Bytes>(d * kQuad + i, column);
      Bytes::transpose(rows, lanes);
      // A vector may have but eight of the 16 lanes.
      for (int i = 0; i < kQuad; ++i) {
        const std::int64_t lane = column + i * 4;
        Bytes::store(to + lane / S::kLanes * group + d * S::kLanes + lane % S::kLanes, lanes[i]);
      }
    }
  }
}

// Of the lanes of one vector: the sums of its bytes, of the second operand.
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
