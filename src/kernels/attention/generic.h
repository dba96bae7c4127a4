// The loops of attention/, written once over the vectors of simd/. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_ATTENTION_GENERIC_H_
#define OCTAVO_KERNELS_ATTENTION_GENERIC_H_

#include "base/elementary.h"
#include "kernels/attention/attention.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

constexpr std::int64_t kPanel = kAttentionPanel;
constexpr int kAttentionPartialSums = 16;

// packed[panel][column of k][key of the panel]; keys that are not there are 0.
void pack_keys(const AttentionSource& k, float* packed) {
  for (std::int64_t first = 0; first < k.rows; first += kPanel) {
    const std::int64_t there = k.rows - first < kPanel ? k.rows - first : kPanel;
    for (std::int64_t key = 0; key < kPanel; ++key) {
      const float* row = k.x + (first + key) * k.stride;
      for (std::int64_t d = 0; d < k.columns; ++d) packed[d * kPanel + key] = key < there ? row[d] : 0.0f;
    }
    packed += k.columns * kPanel;
  }
}

// packed[panel][key][column of the panel]; columns that are not there are 0.
void pack_values(const AttentionSource& v, float* packed) {
  for (std::int64_t first = 0; first < v.columns; first += kPanel) {
    const std::int64_t there = v.columns - first < kPanel ? v.columns - first : kPanel;
    for (std::int64_t key = 0; key < v.rows; ++key, packed += kPanel) {
      const float* row = v.x + key * v.stride + first;
      for (std::int64_t c = 0; c < kPanel; ++c) packed[c] = c < there ? row[c] : 0.0f;
    }
  }
}

// c[row][column] = fma over k ascending of a[row][k] * b[k][column], from 0.
struct PanelProduct {
  const float* a = nullptr;
  std::int64_t a_stride = 0, depth = 0;
  const float* b = nullptr;
  float* c = nullptr;
  std::int64_t c_stride = 0;
};

// kRows x kVectors registers of sums.
template <class S, int kRows, int kVectors>
void multiply_vectors(const PanelProduct& p, std::int64_t column) {
  typename S::F32 acc[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j) acc[r][j] = S::set(0.0f);
  }
  const float* b = p.b + column;
  for (std::int64_t k = 0; k < p.depth; ++k, b += kPanel) {
    typename S::F32 line[kVectors];
    for (int j = 0; j < kVectors; ++j) line[j] = S::load(b + j * S::kLanes);
    for (int r = 0; r < kRows; ++r) {
      const auto a = S::set(p.a[r * p.a_stride + k]);
      for (int j = 0; j < kVectors; ++j) acc[r][j] = S::fma(a, line[j], acc[r][j]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j) S::store(p.c + r * p.c_stride + column + j * S::kLanes, acc[r][j]);
  }
}

template <class S, int kRows>
void multiply_panel(const PanelProduct& p) {
  constexpr int kVectors = 2;
  for (std::int64_t column = 0; column < kPanel; column += kVectors * S::kLanes)
    multiply_vectors<S, kRows, kVectors>(p, column);
}

template <class S>
void multiply(const PanelProduct& p, std::int64_t rows) {
  if (rows == kAttentionRows) return multiply_panel<S, kAttentionRows>(p);
  PanelProduct one = p;
  for (std::int64_t r = 0; r < rows; ++r, one.a += p.a_stride, one.c += p.c_stride) multiply_panel<S, 1>(one);
}

// Scores become weights; gives their sum. `count` is a multiple of kPanel.
template <class S>
float exponentiate(float* scores, const float* mask, std::int64_t count, float scale) {
  constexpr float kInfinity = __builtin_inff();
  constexpr int kSums = S::kLanes < kAttentionPartialSums ? kAttentionPartialSums / S::kLanes : 1;
  auto largest = S::set(-kInfinity);
  for (std::int64_t j = 0; j < count; j += S::kLanes) {
    const auto score = S::add(S::mul(S::load(scores + j), S::set(scale)), S::load(mask + j));
    S::store(scores + j, score);
    largest = S::max(score, largest);
  }
  const float highest = S::highest(largest);
  const auto shift = S::set(highest == -kInfinity ? 0.0f : highest);
  typename S::F32 sums[kSums];
  for (auto& sum : sums) sum = S::set(0.0f);
  for (std::int64_t j = 0; j < count; j += kSums * S::kLanes) {
    for (int i = 0; i < kSums; ++i) {
      const auto weight = exp_weight_f32<S>(S::sub(S::load(scores + j + i * S::kLanes), shift));
      S::store(scores + j + i * S::kLanes, weight);
      sums[i] = S::add(sums[i], weight);
    }
  }
  float parts[kAttentionPartialSums];
  for (int i = 0; i < kSums; ++i) S::store(parts + i * S::kLanes, sums[i]);
  for (int half = kAttentionPartialSums / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) parts[i] += parts[i + half];
  }
  return parts[0];
}

template <class S>
void attend(const AttentionRows& a) {
  const std::int64_t padded = in_panels(a.keys);
  for (std::int64_t first = 0; first < padded; first += kPanel) {
    multiply<S>({.a = a.q,
                 .a_stride = a.q_stride,
                 .depth = a.head_size,
                 .b = a.packed_keys + first * a.head_size,
                 .c = a.scores + first,
                 .c_stride = padded},
                a.rows);
  }
  float totals[kAttentionRows];
  for (std::int64_t r = 0; r < a.rows; ++r)
    totals[r] = exponentiate<S>(a.scores + r * padded, a.mask + r * a.mask_stride, padded, a.scale);
  float sums[kAttentionRows * kPanel];
  for (std::int64_t first = 0; first < a.value_size; first += kPanel) {
    multiply<S>({.a = a.scores,
                 .a_stride = padded,
                 .depth = a.keys,
                 .b = a.packed_values + first * a.keys,
                 .c = sums,
                 .c_stride = kPanel},
                a.rows);
    const std::int64_t columns = a.value_size - first < kPanel ? a.value_size - first : kPanel;
    for (std::int64_t r = 0; r < a.rows; ++r) {
      float* y = a.y + r * a.y_stride + first;
      const float* sum = sums + r * kPanel;
      if (totals[r] == 0.0f) {
        for (std::int64_t c = 0; c < columns; ++c) y[c] = 0.0f;
        continue;
      }
      for_lanes<S>(0, columns, [&]<class V>(std::int64_t c) {
        V::store(y + c, V::div(V::add(V::load(sum + c), V::set(0.0f)), V::set(totals[r])));
      });
    }
  }
}

template <class S>
constexpr AttentionFunctions attention_functions() {
  return {.pack_keys = &pack_keys, .pack_values = &pack_values, .rows = &attend<S>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_ATTENTION_GENERIC_H_
