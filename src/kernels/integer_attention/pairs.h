// Lanes of two 16-bit numbers without zero points, which every instruction set multiplies and adds exactly. Internal
// linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_INTEGER_ATTENTION_PAIRS_H_
#define OCTAVO_KERNELS_INTEGER_ATTENTION_PAIRS_H_

#include "kernels/integer_attention/blocks.h"

namespace octavo {
namespace {

template <class S>
struct Pairs {
  static constexpr int kPerLane = 2;
  static constexpr bool kHasTerms = false;

  static typename S::S32 add(typename S::S32 sum, typename S::S32 a, typename S::S32 b) {
    return S::add_pairs(sum, a, b);
  }

  static std::int32_t pack_query(const HeadCall& call, const std::uint8_t* row, std::int32_t* pairs, std::int64_t) {
    pack_row(call.q, row, call.head_size, pairs, 1);
    return 0;
  }

  static void pack_keys(const HeadCall& call, std::int64_t depth) {
    for (std::int64_t key = 0; key < call.keys; ++key) {
      std::int32_t* first = call.scratch.keys + key / S::kLanes * depth * S::kLanes + key % S::kLanes;
      pack_row(call.k, call.k.first + key * call.k.stride, call.head_size, first, S::kLanes);
    }
  }

  // Columns that a vector has too many are 0, and so is a key beyond the last.
  static void pack_values(const HeadCall& call, std::int64_t padded) {
    const HeadRows rows = call.v;
    for (std::int64_t j = 0; j < (call.keys + 1) / 2; ++j) {
      const std::uint8_t* row = rows.first + 2 * j * rows.stride;
      const bool has_second = 2 * j + 1 < call.keys;
      for (std::int64_t first = 0; first < call.value_size; first += S::kLanes) {
        std::int32_t* to = call.scratch.values + (first / S::kLanes * padded / 2 + j) * S::kLanes;
        const std::int64_t count = first + S::kLanes <= call.value_size ? S::kLanes : call.value_size - first;
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int32_t second = has_second ? value_at(rows, row + rows.stride, first + i) : 0;
          to[i] = pair_of(value_at(rows, row, first + i), second);
        }
        for (std::int64_t i = count; i < S::kLanes; ++i) to[i] = 0;
      }
    }
  }

  // Of a row's weights, which become 16 bits wide.
  static std::int32_t total(const HeadScratch& scratch, std::int64_t first, std::int64_t count) {
    typename S::S32 sum = S::set_s32(0);
    for (std::int64_t j = first; j < first + count; j += S::kLanes) {
      const typename S::S32 wide = S::widen_u8(scratch.weights + j);
      S::store_s16(scratch.wide + j, wide);
      sum = S::add_s32(sum, wide);
    }
    return S::total(sum);
  }
  static const std::int32_t* weights(const HeadScratch& scratch) {
    return reinterpret_cast<const std::int32_t*>(scratch.wide);
  }
  static typename S::S32 value_term(const HeadCall&, std::int32_t) { return S::set_s32(0); }

 private:
  static std::int32_t value_at(const HeadRows& rows, const std::uint8_t* row, std::int64_t column) {
    const std::int32_t stored =
        rows.is_signed ? static_cast<std::int32_t>(static_cast<std::int8_t>(row[column])) : row[column];
    return stored - rows.zero_point;
  }
  static std::int32_t pair_of(std::int32_t low, std::int32_t high) {
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(low) & 0xffffu) |
                                     (static_cast<std::uint32_t>(high) << 16));
  }
  // A row's columns as pairs, `step` apart; the last one is filled up with 0.
  static void pack_row(const HeadRows& rows, const std::uint8_t* row, std::int64_t columns, std::int32_t* pairs,
                       std::int64_t step) {
    std::int64_t c = 0;
    for (; c + 2 <= columns; c += 2, pairs += step)
      *pairs = pair_of(value_at(rows, row, c), value_at(rows, row, c + 1));
    if (c < columns) *pairs = pair_of(value_at(rows, row, c), 0);
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_ATTENTION_PAIRS_H_
