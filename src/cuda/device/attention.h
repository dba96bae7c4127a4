// Attention, of f32 and of bytes, by single scores: for few queries, or more keys than attention_tile.h has room for.
// Part of cuda/device/.
//
// Shared memory: scores, which become weights, [queries of the block][keys], then [queries][16] of partial results,
// twice. A thread has the score of a query and a key; then a column of the result of a query.
#ifndef OCTAVO_CUDA_DEVICE_ATTENTION_H_
#define OCTAVO_CUDA_DEVICE_ATTENTION_H_

#include "cuda/device/attention_heads.h"

namespace octavo::cuda {

inline constexpr int kAttentionThreads = 128;

template <class Heads, class Block>
OCTAVO_DEVICE void find_scores(Block& block, const AttentionArgs& p, float* scores) {
  const HeadPlace<Block> place{block, p};
  block.each([&](int t) {
    const std::int64_t mask = place.mask();
    for (std::int64_t row = 0; row < place.rows(); ++row) {
      const std::int64_t query = place.first_query() + row, own = mask + query * p.mask.query_stride;
      for (int key = t; key < p.keys; key += kAttentionThreads) {
        typename Heads::Weight sum{};
        for (std::int64_t d = 0; d < p.head_size; ++d)
          sum = Heads::with_product(sum, Heads::value(p.operand[0], place.q(query, d)),
                                    Heads::value(p.operand[1], place.k(key, d)));
        scores[row * p.keys + key] = place.masked(own, query, key, Heads::scaled(p, sum));
      }
    }
  });
  block.sync();
}

template <class Heads, class Block>
OCTAVO_DEVICE void find_results(Block& block, const AttentionArgs& p, const typename Heads::Weight* weights,
                                const typename Heads::Weight* sums) {
  const HeadPlace<Block> place{block, p};
  block.each([&](int t) {
    for (std::int64_t i = t; i < place.rows() * p.value_size; i += kAttentionThreads) {
      const std::int64_t row = i / p.value_size, column = i % p.value_size;
      typename Heads::Weight sum{};
      for (std::int64_t key = 0; key < p.keys; ++key)
        sum = Heads::with_product(sum, weights[row * p.keys + key], Heads::value(p.operand[2], place.v(key, column)));
      const float result = Heads::result(p, sum, total_of<Heads>(sums, row));
      const std::int64_t at = place.y(place.first_query() + row, column);
      if (p.is_real != 0) reinterpret_cast<float*>(p.y)[at] = result;
      else p.y[at] = std::byte{static_cast<std::uint8_t>(rounded<Scalar>(result, p.round))};
    }
  });
}

template <class Heads, class Block>
OCTAVO_DEVICE void attention(Block& block, const AttentionArgs& p) {
  using Weight = typename Heads::Weight;
  auto* scores = reinterpret_cast<float*>(block.shared());
  float* largest = scores + p.rows * p.keys;
  auto* sums = reinterpret_cast<Weight*>(largest + p.rows * kPartialSums);
  find_scores<Heads>(block, p, scores);
  find_weights<Heads>(block, p, HeadPlace<Block>{block, p}.rows(), kAttentionThreads, scores, p.keys, largest, sums);
  find_results<Heads>(block, p, reinterpret_cast<const Weight*>(scores), sums);
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_ATTENTION_H_
