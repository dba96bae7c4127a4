// The loops of integer_attention/ over any Simd. Internal linkage only. Part of kernels/.
//
// Products are of pairs of 16-bit numbers without zero points, which every instruction set multiplies and adds exactly:
// a lane of keys is two columns of one key, a lane of values one column of two keys.
#ifndef OCTAVO_KERNELS_INTEGER_ATTENTION_GENERIC_H_
#define OCTAVO_KERNELS_INTEGER_ATTENTION_GENERIC_H_

#include <limits>

#include "kernels/epilogue/generic.h"
#include "kernels/integer_attention/head.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

std::int32_t value_at(const HeadRows& rows, const std::uint8_t* row, std::int64_t column) {
  const std::int32_t stored =
      rows.is_signed ? static_cast<std::int32_t>(static_cast<std::int8_t>(row[column])) : row[column];
  return stored - rows.zero_point;
}

// Two 16-bit numbers in one lane.
std::int32_t pair_of(std::int32_t low, std::int32_t high) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(low) & 0xffffu) |
                                   (static_cast<std::uint32_t>(high) << 16));
}

// A row's columns as pairs, `step` apart; the last one is filled up with 0.
void pack_row(const HeadRows& rows, const std::uint8_t* row, std::int64_t columns, std::int32_t* pairs,
              std::int64_t step) {
  std::int64_t c = 0;
  for (; c + 2 <= columns; c += 2, pairs += step) *pairs = pair_of(value_at(rows, row, c), value_at(rows, row, c + 1));
  if (c < columns) *pairs = pair_of(value_at(rows, row, c), 0);
}

template <class S>
void pack_keys(const HeadCall& call) {
  const std::int64_t pairs = (call.head_size + 1) / 2;
  for (std::int64_t key = 0; key < call.keys; ++key) {
    std::int32_t* first = call.scratch.keys + key / S::kLanes * pairs * S::kLanes + key % S::kLanes;
    pack_row(call.k, call.k.first + key * call.k.stride, call.head_size, first, S::kLanes);
  }
}

// Columns that a vector has too many are 0, and so is a key beyond the last.
template <class S>
void pack_values(const HeadCall& call) {
  const std::int64_t pairs = (call.keys + 1) / 2;
  const HeadRows rows = call.v;
  for (std::int64_t j = 0; j < pairs; ++j) {
    const std::uint8_t* row = rows.first + 2 * j * rows.stride;
    const bool has_second = 2 * j + 1 < call.keys;
    for (std::int64_t first = 0; first < call.value_size; first += S::kLanes) {
      std::int32_t* to = call.scratch.values + (first / S::kLanes * pairs + j) * S::kLanes;
      const std::int64_t count = first + S::kLanes <= call.value_size ? S::kLanes : call.value_size - first;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int32_t second = has_second ? value_at(rows, row + rows.stride, first + i) : 0;
        to[i] = pair_of(value_at(rows, row, first + i), second);
      }
      for (std::int64_t i = count; i < S::kLanes; ++i) to[i] = 0;
    }
  }
}

// Of 16-bit numbers that lie one after the other, or of one that pack_row made.
std::int32_t load_pair(const void* pairs, std::int64_t i) {
  std::int32_t pair;
  __builtin_memcpy(&pair, static_cast<const std::uint8_t*>(pairs) + i * 4, sizeof pair);
  return pair;
}

// Sums of `depth` products of pairs: kRows rows of a, `a_stride` apart, by two vectors of b, `b_stride` apart.
template <class S, int kRows>
struct Products {
  typename S::S32 sums[kRows][2];

  Products(const void* a, std::int64_t a_stride, const std::int32_t* b, std::int64_t b_stride, std::int64_t depth) {
    for (auto& row : sums) row[0] = row[1] = S::set_s32(0);
    for (std::int64_t d = 0; d < depth; ++d) {
      const typename S::S32 first = S::load_s32(b + d * S::kLanes), second = S::load_s32(b + b_stride + d * S::kLanes);
      for (int r = 0; r < kRows; ++r) {
        const typename S::S32 row = S::set_s32(load_pair(a, r * a_stride + d));
        sums[r][0] = S::add_pairs(sums[r][0], row, first);
        sums[r][1] = S::add_pairs(sums[r][1], row, second);
      }
    }
  }
};

template <class S, int kRows>
void find_scores(const HeadCall& call, std::int64_t padded) {
  const std::int64_t pairs = (call.head_size + 1) / 2, group = pairs * S::kLanes;
  const typename S::F32 multiplier = S::set(call.multiplier);
  for (std::int64_t key = 0; key < call.keys; key += 2 * S::kLanes) {
    const Products<S, kRows> dots(call.scratch.queries, pairs, call.scratch.keys + key / S::kLanes * group, group,
                                  pairs);
    for (int r = 0; r < kRows; ++r) {
      for (int half = 0; half < 2; ++half)
        S::store(call.scratch.scores + r * padded + key + half * S::kLanes,
                 S::mul(S::to_f32(dots.sums[r][half]), multiplier));
    }
  }
}

template <class S>
void add_mask(const HeadCall& call, std::int64_t row, float* scores) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const HeadMask& mask = call.mask;
  if (mask.added != nullptr) {
    const float* added = mask.added + row * mask.query_stride;
    const bool is_shared = mask.key_stride == 0;
    for_lanes<S>(0, call.keys, [=]<class T>(std::int64_t j) {
      T::store(scores + j, T::add(T::load(scores + j), is_shared ? T::set(*added) : T::load(added + j)));
    });
  } else if (mask.shown != nullptr) {
    const std::uint8_t* shown = mask.shown + row * mask.query_stride;
    for (std::int64_t j = 0; j < call.keys; ++j) {
      if (shown[j * mask.key_stride] == 0) scores[j] = kHidden;
    }
  }
  for (std::int64_t j = call.first_query + row + 1; call.is_causal && j < call.keys; ++j) scores[j] = kHidden;
}

// Scores become weights; gives their sum.
template <class S>
std::int32_t weigh(const HeadCall& call, const float* scores, std::int64_t padded, std::int16_t* weights) {
  typename S::F32 most = S::set(-std::numeric_limits<float>::infinity());
  for (std::int64_t j = 0; j < padded; j += S::kLanes) most = S::max(S::load(scores + j), most);
  const typename S::F32 largest = S::set(S::highest(most)), steps = S::set(call.steps), last = S::set(255.0f);
  std::uint8_t* indices = call.scratch.indices;
  for (std::int64_t j = 0; j < padded; j += S::kLanes) {
    const typename S::F32 distance = S::mul(S::sub(largest, S::load(scores + j)), steps);
    S::store_bytes(indices + j, S::round(S::min(distance, last)));
  }
  S::lookup(call.table, indices, indices, call.keys);
  for (std::int64_t j = call.keys; j < padded; ++j) indices[j] = 0;
  typename S::S32 sum = S::set_s32(0);
  for (std::int64_t j = 0; j < padded; j += S::kLanes) {
    const typename S::S32 wide = S::widen_u8(indices + j);
    S::store_s16(weights + j, wide);
    sum = S::add_s32(sum, wide);
  }
  std::int32_t lanes[S::kLanes], total = 0;
  S::store_s32(lanes, sum);
  for (const std::int32_t lane : lanes) total += lane;
  return total;
}

template <class S>
void store_columns(const HeadCall& call, typename S::S32 sums, float inverse, std::uint8_t* y, std::int64_t columns) {
  const typename S::F32 value = S::mul(S::to_f32(sums), S::set(inverse));
  const typename S::S32 q = rounded<S>(S::add(S::mul(value, S::set(call.factor)), S::set(call.offset)), call.round);
  if (columns >= S::kLanes) return S::store_bytes(y, q);
  std::uint8_t bytes[S::kLanes];
  S::store_bytes(bytes, q);
  for (std::int64_t i = 0; i < columns; ++i) y[i] = bytes[i];
}

// Of no key the sum is 0, and so is the value.
template <class S, int kRows>
void find_values(const HeadCall& call, std::int64_t padded, const std::int32_t* totals, std::int64_t row) {
  const std::int64_t pairs = (call.keys + 1) / 2, group = pairs * S::kLanes;
  for (std::int64_t column = 0; column < call.value_size; column += 2 * S::kLanes) {
    const std::int32_t* values = call.scratch.values + column / S::kLanes * group;
    // Of an odd number of vectors the second is the first once more, and not stored.
    const bool has_second = column + S::kLanes < call.value_size;
    const Products<S, kRows> sums(call.scratch.weights, padded / 2, values, has_second ? group : 0, pairs);
    for (int r = 0; r < kRows; ++r) {
      std::uint8_t* y = call.y + (row + r) * call.y_stride + column;
      const float inverse = totals[r] == 0 ? 0.0f : 1.0f / static_cast<float>(totals[r]);
      store_columns<S>(call, sums.sums[r][0], inverse, y, call.value_size - column);
      if (has_second)
        store_columns<S>(call, sums.sums[r][1], inverse, y + S::kLanes, call.value_size - column - S::kLanes);
    }
  }
}

template <class S, int kRows>
void run_rows(const HeadCall& call, std::int64_t padded, std::int64_t row) {
  const std::int64_t pairs = (call.head_size + 1) / 2;
  for (int r = 0; r < kRows; ++r)
    pack_row(call.q, call.q.first + (row + r) * call.q.stride, call.head_size, call.scratch.queries + r * pairs, 1);
  find_scores<S, kRows>(call, padded);
  std::int32_t totals[kRows];
  for (int r = 0; r < kRows; ++r) {
    float* scores = call.scratch.scores + r * padded;
    for (std::int64_t j = call.keys; j < padded; ++j) scores[j] = -std::numeric_limits<float>::infinity();
    add_mask<S>(call, row + r, scores);
    totals[r] = weigh<S>(call, scores, padded, call.scratch.weights + r * padded);
  }
  find_values<S, kRows>(call, padded, totals, row);
}

template <class S, int kRows>
void run_head(const HeadCall& call) {
  const std::int64_t padded = (call.keys + 2 * S::kLanes - 1) / (2 * S::kLanes) * (2 * S::kLanes);
  if (!call.is_packed) {
    pack_keys<S>(call);
    pack_values<S>(call);
  }
  std::int64_t row = 0;
  for (; row + kRows <= call.queries; row += kRows) run_rows<S, kRows>(call, padded, row);
  for (; row < call.queries; ++row) run_rows<S, 1>(call, padded, row);
}

template <class S, int kRows>
constexpr HeadFunctions head_functions() {
  return {.lanes = S::kLanes, .rows = kRows, .run = &run_head<S, kRows>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_ATTENTION_GENERIC_H_
