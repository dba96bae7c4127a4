// Lanes of four 8-bit numbers, u8 of queries and weights, s8 of keys and values, as dot product instructions take them.
// Zero points stay in; with u the stored queries, k the stored keys and their zero points,
//   sum of (u - u_z) (k - k_z) = sum of u k - u_z sum of k + n u_z k_z [a term of the key] - k_z sum of u [of the
//   query] sum of w (v - v_z) = sum of w v - v_z sum of w
// modulo 2^32. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_INTEGER_ATTENTION_QUADS_H_
#define OCTAVO_KERNELS_INTEGER_ATTENTION_QUADS_H_

#include <immintrin.h>

#include "kernels/integer_attention/blocks.h"

namespace octavo {
namespace {

template <class S>
struct Quads {
  static constexpr int kPerLane = 4;
  static constexpr bool kHasTerms = true;
  static constexpr std::int32_t kOnes = 0x01010101;

  static typename S::S32 add(typename S::S32 sum, typename S::S32 a, typename S::S32 b) {
    return S::add_quads(sum, a, b);
  }

  // Gives the query's term.
  static std::int32_t pack_query(const HeadCall& call, const std::uint8_t* row, std::int32_t* quads,
                                 std::int64_t depth) {
    const std::uint8_t flip = StoredAs::u8(call.q).flip;
    const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
    auto* bytes = reinterpret_cast<std::uint8_t*>(quads);
    __m128i sums = _mm_setzero_si128();
    std::int64_t c = 0;
    for (const std::int64_t columns = call.head_size; c + kBytes <= columns; c += kBytes) {
      const __m128i some = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + c)), flips);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + c), some);
      sums = _mm_add_epi32(sums, _mm_sad_epu8(some, _mm_setzero_si128()));
    }
    std::int32_t sum = _mm_cvtsi128_si32(sums) + _mm_extract_epi32(sums, 2);
    for (; c < call.head_size; ++c) sum += bytes[c] = row[c] ^ flip;
    for (; c < depth * kPerLane; ++c) bytes[c] = 0;
    return multiplied(-StoredAs::s8(call.k).zero_point, sum);
  }

  // Lanes beyond a key's columns are 0.
  static void pack_keys(const HeadCall& call, std::int64_t depth) {
    const auto flip = static_cast<std::int32_t>(StoredAs::s8(call.k).flip * std::uint32_t{kOnes});
    const std::int64_t whole = call.head_size / kPerLane;
    for (std::int64_t key = 0; key < call.keys; ++key) {
      const std::uint8_t* row = call.k.first + key * call.k.stride;
      std::int32_t* to = call.scratch.keys + key / S::kLanes * depth * S::kLanes + key % S::kLanes;
      for (std::int64_t d = 0; d < whole; ++d) {
        std::int32_t quad;
        __builtin_memcpy(&quad, row + d * kPerLane, sizeof quad);
        to[d * S::kLanes] = quad ^ flip;
      }
      for (std::int64_t d = whole; d < depth; ++d) {
        std::int32_t quad = 0;
        for (std::int64_t c = d * kPerLane; c < call.head_size && c < (d + 1) * kPerLane; ++c)
          quad |= static_cast<std::int32_t>((row[c] ^ flip) & 0xff) << (c % kPerLane * 8);
        to[d * S::kLanes] = quad;
      }
    }
    find_key_terms(call, depth);
  }

  // Keys beyond the last one, and columns that a vector has too many, are 0.
  static void pack_values(const HeadCall& call, std::int64_t padded) {
    const std::uint8_t flip = StoredAs::s8(call.v).flip;
    const std::int64_t group = padded / kPerLane * S::kLanes;
    for (std::int64_t column = 0; column < call.value_size; column += kBytes) {
      const std::int64_t columns = smaller(call.value_size - column, kBytes);
      for (std::int64_t key = 0; key < padded; key += kPerLane) {
        __m128i rows[kPerLane];
        for (int i = 0; i < kPerLane; ++i) rows[i] = value_bytes(call, key + i, column, columns, flip);
        std::int32_t* to = call.scratch.values + column / S::kLanes * group + key / kPerLane * S::kLanes;
        store_columns_of(rows, to, group);
      }
    }
  }

  // Of a row's weights.
  static std::int32_t total(const HeadScratch& scratch, std::int64_t first, std::int64_t count) {
    return total(scratch.weights + first, count);
  }
  static std::int32_t total(const std::uint8_t* weights, std::int64_t count) {
    const auto* quads = reinterpret_cast<const std::int32_t*>(weights);
    typename S::S32 sum = S::set_s32(0);
    for (std::int64_t j = 0; j < count / kPerLane; j += S::kLanes)
      sum = S::add_quads(sum, S::load_s32(quads + j), S::set_s32(kOnes));
    return S::total(sum);
  }
  static const std::int32_t* weights(const HeadScratch& scratch) {
    return reinterpret_cast<const std::int32_t*>(scratch.weights);
  }
  static typename S::S32 value_term(const HeadCall& call, std::int32_t total) {
    return S::set_s32(multiplied(-StoredAs::s8(call.v).zero_point, total));
  }

 private:
  static constexpr int kBytes = 16;  // columns of a query, or of values, that are packed at once

  static std::int32_t multiplied(std::int32_t a, std::int32_t b) { return Scalar::mul_s32(a, b); }

  static void find_key_terms(const HeadCall& call, std::int64_t depth) {
    const std::int32_t zero_point = StoredAs::u8(call.q).zero_point;
    const std::int32_t both =
        multiplied(multiplied(zero_point, StoredAs::s8(call.k).zero_point), static_cast<std::int32_t>(call.head_size));
    for (std::int64_t key = 0; key < call.keys; key += S::kLanes) {
      typename S::S32 sum = S::set_s32(0);
      for (std::int64_t d = 0; d < depth; ++d)
        sum = S::add_quads(sum, S::set_s32(kOnes), S::load_s32(call.scratch.keys + key * depth + d * S::kLanes));
      S::store_s32(call.scratch.key_terms + key,
                   S::add_s32(S::mul_s32(sum, S::set_s32(-zero_point)), S::set_s32(both)));
    }
  }

  static __m128i value_bytes(const HeadCall& call, std::int64_t key, std::int64_t column, std::int64_t columns,
                             std::uint8_t flip) {
    if (key >= call.keys) return _mm_setzero_si128();
    const std::uint8_t* row = call.v.first + key * call.v.stride + column;
    const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
    if (columns == kBytes) return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row)), flips);
    alignas(kBytes) std::uint8_t bytes[kBytes] = {};
    for (std::int64_t c = 0; c < columns; ++c) bytes[c] = row[c] ^ flip;
    return _mm_load_si128(reinterpret_cast<const __m128i*>(bytes));
  }

  // Four keys of 16 columns as 16 lanes, of which a vector may have but eight; `group` lanes from a vector to the next.
  static void store_columns_of(const __m128i (&rows)[kPerLane], std::int32_t* to, std::int64_t group) {
    const __m128i low_01 = _mm_unpacklo_epi8(rows[0], rows[1]), high_01 = _mm_unpackhi_epi8(rows[0], rows[1]);
    const __m128i low_23 = _mm_unpacklo_epi8(rows[2], rows[3]), high_23 = _mm_unpackhi_epi8(rows[2], rows[3]);
    const __m128i lanes[] = {_mm_unpacklo_epi16(low_01, low_23), _mm_unpackhi_epi16(low_01, low_23),
                             _mm_unpacklo_epi16(high_01, high_23), _mm_unpackhi_epi16(high_01, high_23)};
    for (int i = 0; i < 4; ++i) {
      std::int32_t* vector = to + i * 4 / S::kLanes * group + i * 4 % S::kLanes;
      _mm_storeu_si128(reinterpret_cast<__m128i*>(vector), lanes[i]);
    }
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_ATTENTION_QUADS_H_
