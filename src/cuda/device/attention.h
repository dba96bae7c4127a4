// Attention, of f32 and of bytes: a block has some queries of a head. Part of cuda/device/.
//
// Shared memory: scores, which become weights, [queries of the block][keys], then [queries][16] of partial results.
// A thread has the score of a query and a key; sixteen have the softmax of a query, each a partial sum; then a thread
// has a column of the result of a query.
#ifndef OCTAVO_CUDA_DEVICE_ATTENTION_H_
#define OCTAVO_CUDA_DEVICE_ATTENTION_H_

#include "base/elementary.h"
#include "base/partial_sums.h"
#include "cuda/arguments.h"
#include "cuda/device/platform.h"
#include "kernels/integer_attention/softmax.h"

namespace octavo::cuda {

inline constexpr int kAttentionThreads = 128;

// Products, scores and results in f32.
struct RealHeads {
  using Weight = float;
  OCTAVO_DEVICE static float score(const AttentionArgs& p, std::int64_t q, std::int64_t k) {
    const auto* from = reinterpret_cast<const float*>(p.operand[0].x) + q;
    const auto* by = reinterpret_cast<const float*>(p.operand[1].x) + k;
    float sum = 0.0f;
    for (std::int64_t d = 0; d < p.head_size; ++d) sum = Lane::fma(from[d], by[d], sum);
    return Lane::mul(sum, p.scale);
  }
  OCTAVO_DEVICE static float weight(const AttentionArgs&, float largest, float score) {
    return exp_weight_f32<Lane>(Lane::sub(score, largest == kHidden ? 0.0f : largest));
  }
  OCTAVO_DEVICE static float add(float sum, float weight) { return Lane::add(sum, weight); }
  OCTAVO_DEVICE static void store(const AttentionArgs& p, const float* weights, std::int64_t v, float total,
                                  std::int64_t at) {
    const auto* values = reinterpret_cast<const float*>(p.operand[2].x) + v;
    float sum = 0.0f;
    for (std::int64_t j = 0; j < p.keys; ++j) sum = Lane::fma(weights[j], values[j * p.operand[2].columns], sum);
    reinterpret_cast<float*>(p.y)[at] = total == 0.0f ? 0.0f : Lane::div(Lane::add(sum, 0.0f), total);
  }
};

// Of bytes: sums are exact.
struct StoredHeads {
  using Weight = std::int32_t;
  OCTAVO_DEVICE static std::int32_t value(const HeadOperand& operand, std::int64_t at) {
    const auto* stored = reinterpret_cast<const std::uint8_t*>(operand.x) + at;
    return (operand.is_signed != 0 ? Scalar::widen_s8(stored) : Scalar::widen_u8(stored)) - operand.zero_point;
  }
  OCTAVO_DEVICE static float score(const AttentionArgs& p, std::int64_t q, std::int64_t k) {
    std::int32_t sum = 0;
    for (std::int64_t d = 0; d < p.head_size; ++d)
      sum = Scalar::add_s32(sum, value(p.operand[0], q + d) * value(p.operand[1], k + d));
    return Scalar::mul(Scalar::to_f32(sum), p.scale);
  }
  OCTAVO_DEVICE static std::int32_t weight(const AttentionArgs& p, float largest, float score) {
    return p.table[weight_entry<Scalar>(largest, score, p.steps)];
  }
  OCTAVO_DEVICE static std::int32_t add(std::int32_t sum, std::int32_t weight) { return sum + weight; }
  OCTAVO_DEVICE static void store(const AttentionArgs& p, const std::int32_t* weights, std::int64_t v,
                                  std::int32_t total, std::int64_t at) {
    std::int32_t sum = 0;
    for (std::int64_t j = 0; j < p.keys; ++j)
      sum = Scalar::add_s32(sum, weights[j] * value(p.operand[2], v + j * p.operand[2].columns));
    const float result = attention_result<Scalar>(sum, inverse_of(total), p.factor, p.offset);
    if (p.is_real != 0) reinterpret_cast<float*>(p.y)[at] = result;
    else p.y[at] = std::byte{static_cast<std::uint8_t>(rounded<Scalar>(result, p.round))};
  }
};

// What the mask makes of a score; `row` of [image][head][query].
OCTAVO_DEVICE float masked(const AttentionArgs& p, std::int64_t mask_row, std::int64_t query, std::int64_t key,
                           float score) {
  const std::int64_t at = mask_row + key * p.mask.key_stride;
  if (p.mask.added != nullptr) score = Lane::add(score, p.mask.added[at]);
  if (p.mask.shown != nullptr && p.mask.shown[at] == 0) score = Lane::add(score, kHidden);
  return p.is_causal != 0 && key > query ? Lane::add(score, kHidden) : score;
}

OCTAVO_DEVICE std::int64_t mask_row_of(const AttentionArgs& p, std::int64_t image, std::int64_t head,
                                       std::int64_t query) {
  std::int64_t offset = head * p.mask.head_stride + query * p.mask.query_stride;
  unrolled<kMostAxes>([&](auto i) {
    constexpr int axis = kMostAxes - 1 - i;
    offset += image % p.mask.size[axis] * p.mask.stride[axis];
    image /= p.mask.size[axis];
  });
  return offset;
}

template <class Heads, class Block>
struct AttentionKernel {
  using Weight = typename Heads::Weight;
  static_assert(sizeof(Weight) == sizeof(float));

  Block& block;
  const AttentionArgs& p;

  OCTAVO_DEVICE std::int64_t first_query() const { return block.x() * p.rows; }
  OCTAVO_DEVICE std::int64_t rows() const {
    const std::int64_t left = p.queries - first_query();
    return left < p.rows ? left : p.rows;
  }
  OCTAVO_DEVICE std::int64_t group() const { return block.y() / (p.heads / p.kv_heads); }
  // Element of an operand at a row of this image and the first column of a head.
  OCTAVO_DEVICE std::int64_t element(int operand, std::int64_t row, std::int64_t rows_of_image,
                                     std::int64_t column) const {
    const HeadOperand& o = p.operand[operand];
    return (block.z() * rows_of_image + row) * o.columns + o.first + column;
  }
  OCTAVO_DEVICE float* scores() const { return reinterpret_cast<float*>(block.shared()); }
  OCTAVO_DEVICE Weight* weights() const { return reinterpret_cast<Weight*>(block.shared()); }
  OCTAVO_DEVICE float* largest() const { return scores() + p.rows * p.keys; }
  OCTAVO_DEVICE Weight* sums() const { return weights() + p.rows * p.keys + p.rows * kPartialSums; }

  OCTAVO_DEVICE void find_scores() {
    block.each([&](int t) {
      for (std::int64_t i = t; i < rows() * p.keys; i += kAttentionThreads) {
        const std::int64_t query = first_query() + i / p.keys, key = i % p.keys;
        const float score = Heads::score(p, element(0, query, p.queries, block.y() * p.head_size),
                                         element(1, key, p.keys, group() * p.head_size));
        scores()[i] = masked(p, mask_row_of(p, block.z(), block.y(), query), query, key, score);
      }
    });
    block.sync();
  }

  // f(the place of a partial result, the first key of the part, the end of the row's keys), places in scores().
  template <class F>
  OCTAVO_DEVICE void each_part(const F& f) {
    block.each([&](int t) {
      const std::int64_t row = t / kPartialSums;
      if (row < rows()) f(t, row * p.keys + t % kPartialSums, (row + 1) * p.keys);
    });
    block.sync();
  }

  OCTAVO_DEVICE void find_weights() {
    each_part([&](int t, std::int64_t begin, std::int64_t end) {
      float most = kHidden;
      for (std::int64_t i = begin; i < end; i += kPartialSums) most = Lane::max(scores()[i], most);
      largest()[t] = most;
    });
    each_part([&](int t, std::int64_t begin, std::int64_t end) {
      float most = kHidden;
      unrolled<kPartialSums>([&](auto i) { most = Lane::max(largest()[t / kPartialSums * kPartialSums + i], most); });
      Weight sum{};
      for (std::int64_t i = begin; i < end; i += kPartialSums) {
        const Weight weight = Heads::weight(p, most, scores()[i]);
        weights()[i] = weight;
        sum = Heads::add(sum, weight);
      }
      sums()[t] = sum;
    });
  }

  OCTAVO_DEVICE void find_results() {
    block.each([&](int t) {
      for (std::int64_t i = t; i < rows() * p.value_size; i += kAttentionThreads) {
        const std::int64_t row = i / p.value_size, column = i % p.value_size;
        Weight parts[kPartialSums];
        unrolled<kPartialSums>([&](auto k) { parts[k] = sums()[row * kPartialSums + k]; });
        const Weight total = joined(parts, [](Weight a, Weight b) { return Heads::add(a, b); });
        const std::int64_t at =
            ((block.z() * p.queries + first_query() + row) * p.heads + block.y()) * p.value_size + column;
        Heads::store(p, weights() + row * p.keys, element(2, 0, p.keys, group() * p.value_size + column), total, at);
      }
    });
  }
};

template <class Heads, class Block>
OCTAVO_DEVICE void attention(Block& block, const AttentionArgs& arguments) {
  AttentionKernel<Heads, Block> kernel{block, arguments};
  kernel.find_scores();
  kernel.find_weights();
  kernel.find_results();
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_ATTENTION_H_
