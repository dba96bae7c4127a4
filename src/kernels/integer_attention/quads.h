// Lanes of four 8-bit numbers, u8 of queries and weights, s8 of keys and values, or u8, as dot product instructions
// take them. Zero points stay in; with u the stored queries, k the stored keys and their zero points,
//   sum of (u - u_z) (k - k_z) = sum of u k - u_z sum of k + n u_z k_z [a term of the key] - k_z sum of u [of the
//   query] sum of w (v - v_z) = sum of w v - v_z sum of w
// modulo 2^32. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_INTEGER_ATTENTION_QUADS_H_
#define OCTAVO_KERNELS_INTEGER_ATTENTION_QUADS_H_

#include "kernels/integer_attention/blocks.h"
#include "kernels/simd/quads.h"

namespace octavo {
namespace {

template <class S>
struct Quads {
  static constexpr int kPerLane = kQuad;
  static constexpr bool kHasTerms = true;

  static typename S::S32 add(typename S::S32 sum, typename S::S32 a, typename S::S32 b) {
    return S::add_quads(sum, a, b);
  }

  // Gives the query's term.
  static std::int32_t pack_query(const HeadCall& call, const std::uint8_t* row, std::int32_t* quads,
                                 std::int64_t depth) {
    const std::int32_t sum = pack_quads<typename S::Bytes>(row, call.head_size, u8(call.q).flip, quads, depth);
    return multiplied(-second(call.k).zero_point, sum);
  }

  // Lanes beyond a key's columns are 0.
  static void pack_keys(const HeadCall& call, std::int64_t depth) {
    const std::uint32_t flip = second(call.k).flip * std::uint32_t{kQuadOfOnes};
    const std::int64_t whole = call.head_size / kPerLane;
    for (std::int64_t key = 0; key < call.keys; ++key) {
      const std::uint8_t* row = call.k.first + key * call.k.stride;
      std::int32_t* to = call.scratch.keys + key / S::kLanes * depth * S::kLanes + key % S::kLanes;
      for (std::int64_t d = 0; d < whole; ++d) {
        std::uint32_t quad;
        __builtin_memcpy(&quad, row + d * kPerLane, sizeof quad);
        to[d * S::kLanes] = static_cast<std::int32_t>(quad ^ flip);
      }
      for (std::int64_t d = whole; d < depth; ++d) {
        std::uint32_t quad = 0;
        for (std::int64_t c = d * kPerLane; c < call.head_size && c < (d + 1) * kPerLane; ++c)
          quad |= ((row[c] ^ flip) & 0xff) << (c % kPerLane * 8);
        to[d * S::kLanes] = static_cast<std::int32_t>(quad);
      }
    }
    find_key_terms(call, depth);
  }

  static void pack_values(const HeadCall& call, std::int64_t padded) {
    pack_columns<S>({.first = call.v.first,
                     .stride = call.v.stride,
                     .rows = call.keys,
                     .columns = call.value_size,
                     .flip = second(call.v).flip},
                    padded / kPerLane, call.scratch.values);
  }

  // Of a row's weights.
  static std::int32_t total(const HeadScratch& scratch, std::int64_t first, std::int64_t count) {
    return total(scratch.weights + first, count);
  }
  static std::int32_t total(const std::uint8_t* weights, std::int64_t count) {
    const auto* quads = reinterpret_cast<const std::int32_t*>(weights);
    typename S::S32 sum = S::set_s32(0);
    for (std::int64_t j = 0; j < count / kPerLane; j += S::kLanes)
      sum = S::add_quads(sum, S::load_s32(quads + j), S::set_s32(kQuadOfOnes));
    return S::total(sum);
  }
  static const std::int32_t* weights(const HeadScratch& scratch) {
    return reinterpret_cast<const std::int32_t*>(scratch.weights);
  }
  static typename S::S32 value_term(const HeadCall& call, std::int32_t total) {
    return S::set_s32(multiplied(-second(call.v).zero_point, total));
  }

 private:
  static StoredAs u8(const HeadRows& rows) { return StoredAs::u8(rows.is_signed, rows.zero_point); }
  static StoredAs second(const HeadRows& rows) { return second_of_quads<S>(rows.is_signed, rows.zero_point); }
  static std::int32_t multiplied(std::int32_t a, std::int32_t b) { return Scalar::mul_s32(a, b); }

  static void find_key_terms(const HeadCall& call, std::int64_t depth) {
    const std::int32_t zero_point = u8(call.q).zero_point;
    const std::int32_t both =
        multiplied(multiplied(zero_point, second(call.k).zero_point), static_cast<std::int32_t>(call.head_size));
    for (std::int64_t key = 0; key < call.keys; key += S::kLanes) {
      const typename S::S32 sum = sums_of_quads<S>(call.scratch.keys + key * depth, depth);
      S::store_s32(call.scratch.key_terms + key,
                   S::add_s32(S::mul_s32(sum, S::set_s32(-zero_point)), S::set_s32(both)));
    }
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_ATTENTION_QUADS_H_
