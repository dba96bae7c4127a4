// What attention computes of f32 and of bytes, and where its operands and masks lie. Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_ATTENTION_HEADS_H_
#define OCTAVO_CUDA_DEVICE_ATTENTION_HEADS_H_

#include "base/elementary.h"
#include "base/partial_sums.h"
#include "cuda/arguments.h"
#include "cuda/device/platform.h"
#include "kernels/integer_attention/softmax.h"

namespace octavo::cuda {

// Products, scores and results in f32.
struct RealHeads {
  using Weight = float;

  OCTAVO_DEVICE static float value(const HeadOperand& operand, std::int64_t at) {
    return reinterpret_cast<const float*>(operand.x)[at];
  }
  OCTAVO_DEVICE static float with_product(float sum, float a, float b) { return Lane::fma(a, b, sum); }
  OCTAVO_DEVICE static float scaled(const AttentionArgs& p, float sum) { return Lane::mul(sum, p.scale); }
  OCTAVO_DEVICE static float weight(const AttentionArgs&, float largest, float score) {
    return exp_weight_f32<Lane>(Lane::sub(score, largest == kHidden ? 0.0f : largest));
  }
  OCTAVO_DEVICE static float add(float sum, float weight) { return Lane::add(sum, weight); }
  OCTAVO_DEVICE static float result(const AttentionArgs&, float sum, float total) {
    return total == 0.0f ? 0.0f : Lane::div(Lane::add(sum, 0.0f), total);
  }
};

// Of bytes: sums are exact.
struct StoredHeads {
  using Weight = std::int32_t;

  OCTAVO_DEVICE static std::int32_t value(const HeadOperand& operand, std::int64_t at) {
    const auto* stored = reinterpret_cast<const std::uint8_t*>(operand.x) + at;
    return (operand.is_signed != 0 ? Scalar::widen_s8(stored) : Scalar::widen_u8(stored)) - operand.zero_point;
  }
  OCTAVO_DEVICE static std::int32_t with_product(std::int32_t sum, std::int32_t a, std::int32_t b) {
    return Scalar::add_s32(sum, Scalar::mul_s32(a, b));
  }
  OCTAVO_DEVICE static float scaled(const AttentionArgs& p, std::int32_t sum) {
    return Scalar::mul(Scalar::to_f32(sum), p.scale);
  }
  OCTAVO_DEVICE static std::int32_t weight(const AttentionArgs& p, float largest, float score) {
    return p.table[weight_entry<Scalar>(largest, score, p.steps)];
  }
  OCTAVO_DEVICE static std::int32_t add(std::int32_t sum, std::int32_t weight) { return sum + weight; }
  OCTAVO_DEVICE static float result(const AttentionArgs& p, std::int32_t sum, std::int32_t total) {
    return attention_result<Scalar>(sum, inverse_of(total), p.factor, p.offset);
  }
};

// One image and head of a grid: x of which are blocks of queries, y heads, z images.
template <class Block>
struct HeadPlace {
  const Block& block;
  const AttentionArgs& p;
  std::int64_t group = static_cast<std::uint32_t>(block.y()) / static_cast<std::uint32_t>(p.heads / p.kv_heads);

  OCTAVO_DEVICE std::int64_t first_query() const { return block.x() * p.rows; }
  // Queries of the block.
  OCTAVO_DEVICE std::int64_t rows() const {
    const std::int64_t left = p.queries - first_query();
    return left < p.rows ? left : p.rows;
  }
  // The element of q, k and v at a row of the image and a column of the head.
  OCTAVO_DEVICE std::int64_t q(std::int64_t row, std::int64_t column) const {
    return element(p.operand[0], block.z() * p.queries + row, block.y() * p.head_size + column);
  }
  OCTAVO_DEVICE std::int64_t k(std::int64_t row, std::int64_t column) const {
    return element(p.operand[1], block.z() * p.keys + row, group * p.head_size + column);
  }
  OCTAVO_DEVICE std::int64_t v(std::int64_t row, std::int64_t column) const {
    return element(p.operand[2], block.z() * p.keys + row, group * p.value_size + column);
  }
  OCTAVO_DEVICE std::int64_t y(std::int64_t row, std::int64_t column) const {
    return ((block.z() * p.queries + row) * p.heads + block.y()) * p.value_size + column;
  }

  // Where the mask of this image and head begins.
  OCTAVO_DEVICE std::int64_t mask() const {
    if (p.mask.added == nullptr && p.mask.shown == nullptr) return 0;
    std::int64_t offset = block.y() * p.mask.head_stride, image = block.z();
    unrolled<kMostAxes>([&](auto i) {
      constexpr int axis = kMostAxes - 1 - i;
      offset += image % p.mask.size[axis] * p.mask.stride[axis];
      image /= p.mask.size[axis];
    });
    return offset;
  }
  // What the mask makes of a score; that of the query begins at `row`.
  OCTAVO_DEVICE float masked(std::int64_t row, std::int64_t query, int key, float score) const {
    if (p.mask.added != nullptr) score = with_added(row, key, score);
    if (p.mask.shown != nullptr) score = if_shown(row, key, score);
    return p.is_causal != 0 ? if_past(query, key, score) : score;
  }
  OCTAVO_DEVICE float with_added(std::int64_t row, int key, float score) const {
    return Lane::add(score, p.mask.added[row + key * p.mask.key_stride]);
  }
  OCTAVO_DEVICE float if_shown(std::int64_t row, int key, float score) const {
    return p.mask.shown[row + key * p.mask.key_stride] == 0 ? Lane::add(score, kHidden) : score;
  }
  OCTAVO_DEVICE static float if_past(std::int64_t query, int key, float score) {
    return key > query ? Lane::add(score, kHidden) : score;
  }

 private:
  OCTAVO_DEVICE static std::int64_t element(const HeadOperand& operand, std::int64_t row, std::int64_t column) {
    return row * operand.columns + operand.first + column;
  }
};

// Scores of the block's queries, [p.rows][pitch] in shared memory, become weights; sixteen threads have a query, each
// one of its partial sums. largest, sums: [p.rows][16] in shared memory, the latter for total_of.
template <class Heads, class Block>
OCTAVO_DEVICE void find_weights(Block& block, const AttentionArgs& p, std::int64_t rows, int threads, float* scores,
                                std::int64_t pitch, float* largest, typename Heads::Weight* sums) {
  using Weight = typename Heads::Weight;
  static_assert(sizeof(Weight) == sizeof(float));
  const auto each_part = [&](const auto& f) {
    block.each([&](int t) {
      for (std::int64_t row = t / kPartialSums; row < rows; row += threads / kPartialSums)
        f(row * kPartialSums, t % kPartialSums, row * pitch, row * pitch + p.keys);
    });
    block.sync();
  };
  each_part([&](std::int64_t place, int part, std::int64_t begin, std::int64_t end) {
    float most = kHidden;
    for (std::int64_t i = begin + part; i < end; i += kPartialSums) most = Lane::max(scores[i], most);
    largest[place + part] = most;
  });
  auto* weights = reinterpret_cast<Weight*>(scores);
  each_part([&](std::int64_t place, int part, std::int64_t begin, std::int64_t end) {
    float most = kHidden;
    unrolled<kPartialSums>([&](auto i) { most = Lane::max(largest[place + i], most); });
    Weight sum{};
    for (std::int64_t i = begin + part; i < end; i += kPartialSums) {
      const Weight weight = Heads::weight(p, most, scores[i]);
      weights[i] = weight;
      sum = Heads::add(sum, weight);
    }
    sums[place + part] = sum;
  });
}

template <class Heads>
OCTAVO_DEVICE typename Heads::Weight total_of(const typename Heads::Weight* sums, std::int64_t row) {
  typename Heads::Weight parts[kPartialSums];
  unrolled<kPartialSums>([&](auto k) { parts[k] = sums[row * kPartialSums + k]; });
  return joined(parts, [](auto a, auto b) { return Heads::add(a, b); });
}

// Four neighbouring results from element `at` of y on, a multiple of four.
template <class Block>
OCTAVO_DEVICE void store_four_results(const Block& block, const AttentionArgs& p, std::int64_t at,
                                      const float (&results)[4]) {
  struct alignas(16) Reals {
    float at[4];
  } reals;
  std::uint32_t bytes = 0;
  unrolled<4>([&](auto j) { reals.at[j] = results[j]; });
  if (p.is_real != 0) {
    block.template copy<16>(p.y + at * 4, reinterpret_cast<const std::byte*>(&reals));
    return;
  }
  unrolled<4>([&](auto j) {
    bytes |= std::uint32_t{static_cast<std::uint8_t>(rounded<Scalar>(results[j], p.round))} << 8 * j;
  });
  block.template copy<4>(p.y + at, reinterpret_cast<const std::byte*>(&bytes));
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_ATTENTION_HEADS_H_
