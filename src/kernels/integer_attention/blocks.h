// Attention of a head by blocks of vector registers, over any Simd and over how numbers lie in its lanes: Pairs
// (pairs.h) or Quads (quads.h). Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_INTEGER_ATTENTION_BLOCKS_H_
#define OCTAVO_KERNELS_INTEGER_ATTENTION_BLOCKS_H_

#include "kernels/integer_attention/softmax.h"
#include "kernels/simd/products.h"

namespace octavo {
namespace {

// Gives the terms of all queries.
template <class Lanes>
void pack_queries(const HeadCall& call, std::int64_t depth, std::int32_t* terms) {
  for (std::int64_t row = 0; row < call.queries; ++row)
    terms[row] = Lanes::pack_query(call, call.q.first + row * call.q.stride, call.scratch.queries + row * depth, depth);
}

template <class S, class Lanes, int kRows>
void multiply_keys(const HeadCall& call, const std::int32_t* queries, std::int64_t depth, std::int64_t padded) {
  const std::int64_t group = depth * S::kLanes;
  for (std::int64_t key = 0; key < call.keys; key += 2 * S::kLanes) {
    const Products<S, Lanes, kRows> dots(queries, depth, call.scratch.keys + key / S::kLanes * group, group, depth);
    for (int r = 0; r < kRows; ++r) {
      for (int half = 0; half < 2; ++half)
        S::store_s32(call.scratch.scores + r * padded + key + half * S::kLanes, dots.sums[r][half]);
    }
  }
}

template <class S, class Lanes, int kRows>
void multiply_values(const HeadCall& call, std::int64_t padded, const std::int32_t* totals, std::int64_t row) {
  const std::int64_t depth = (call.keys + Lanes::kPerLane - 1) / Lanes::kPerLane;
  const std::int64_t stride = padded / Lanes::kPerLane, group = stride * S::kLanes;
  for (std::int64_t column = 0; column < call.value_size; column += 2 * S::kLanes) {
    const Products<S, Lanes, kRows> products(Lanes::weights(call.scratch), stride,
                                             call.scratch.values + column / S::kLanes * group, group, depth);
    for (int r = 0; r < kRows; ++r) {
      for (int half = 0; half < 2 && column + half * S::kLanes < call.value_size; ++half) {
        const std::int64_t at = column + half * S::kLanes;
        const typename S::S32 sums = S::add_s32(products.sums[r][half], Lanes::value_term(call, totals[r]));
        store_columns<S>(call, sums, inverse_of(totals[r]), row + r, at);
      }
    }
  }
}

template <class S, class Lanes, int kRows>
void run_rows(const HeadCall& call, const std::int32_t* terms, std::int64_t depth, std::int64_t padded,
              std::int64_t row) {
  std::int32_t totals[kRows];
  multiply_keys<S, Lanes, kRows>(call, call.scratch.queries + row * depth, depth, padded);
  for (int r = 0; r < kRows; ++r) {
    std::int32_t* sums = call.scratch.scores + r * padded;
    const float largest = find_scores<S, Lanes::kHasTerms>(call, row + r, terms[row + r], sums, padded);
    find_entries<S>(call, reinterpret_cast<const float*>(sums), largest, call.scratch.weights + r * padded, padded);
  }
  call.lookup->bytes(call.table, call.scratch.weights, call.scratch.weights, kRows * padded);
  for (int r = 0; r < kRows; ++r) totals[r] = Lanes::total(call.scratch, r * padded, padded);
  multiply_values<S, Lanes, kRows>(call, padded, totals, row);
}

template <class S, class Lanes, int kRows>
void run_head(const HeadCall& call) {
  const std::int64_t padded = (call.keys + 4 * S::kLanes - 1) / (4 * S::kLanes) * (4 * S::kLanes);
  const std::int64_t depth = (call.head_size + Lanes::kPerLane - 1) / Lanes::kPerLane;
  if (!call.is_packed) {
    Lanes::pack_keys(call, depth);
    Lanes::pack_values(call, padded);
  }
  std::int32_t terms[kMostQueries];
  pack_queries<Lanes>(call, depth, terms);
  std::int64_t row = 0;
  for (; row + kRows <= call.queries; row += kRows) run_rows<S, Lanes, kRows>(call, terms, depth, padded, row);
  for (; row < call.queries; ++row) run_rows<S, Lanes, 1>(call, terms, depth, padded, row);
}

template <class S, class Lanes, int kRows>
constexpr HeadFunctions head_functions() {
  return {.lanes = S::kLanes, .per_lane = Lanes::kPerLane, .rows = kRows, .run = &run_head<S, Lanes, kRows>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_ATTENTION_BLOCKS_H_
