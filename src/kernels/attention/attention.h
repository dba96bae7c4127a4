// Attention in f32, with the bits of its reference on every machine. Part of kernels/.
//
// Keys and values of a head are packed into panels of kPanel columns, [head_size] x kPanel keys and [keys] x kPanel
// value columns, so that scores and results are one loop over registers, columns side by side in the lanes, each of
// which sums in the reference's order. Scores, weights and sums of a few rows stay in the thread's scratch.
#ifndef OCTAVO_KERNELS_ATTENTION_ATTENTION_H_
#define OCTAVO_KERNELS_ATTENTION_ATTENTION_H_

#include <cstdint>
#include <span>

#include "kernels/choice.h"

namespace octavo {

std::span<const KernelCode> attention_codes();
std::span<const KernelChoice> attention_choices();

// Columns of a panel, and rows that are computed at a time.
inline constexpr std::int64_t kAttentionPanel = 32;
inline constexpr std::int64_t kAttentionRows = 6;

inline std::int64_t in_panels(std::int64_t columns) {
  return (columns + kAttentionPanel - 1) / kAttentionPanel * kAttentionPanel;
}

// Rows of a head's keys or values.
struct AttentionSource {
  const float* x = nullptr;
  std::int64_t stride = 0;  // elements between rows
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// Up to kAttentionRows queries of one head.
struct AttentionRows {
  const float* q = nullptr;
  std::int64_t q_stride = 0;
  std::int64_t rows = 0;
  std::int64_t keys = 0, head_size = 0, value_size = 0;
  float scale = 1.0f;
  const float* packed_keys = nullptr;    // in_panels(keys) * head_size
  const float* packed_values = nullptr;  // in_panels(value_size) * keys
  // Added to scores, in_panels(keys) of each row: -inf beyond the keys.
  const float* mask = nullptr;
  std::int64_t mask_stride = 0;  // 0: one for all rows
  float* scores = nullptr;       // kAttentionRows * in_panels(keys), for its own use
  float* y = nullptr;
  std::int64_t y_stride = 0;
};

// What an instruction set has of it.
struct AttentionFunctions {
  void (*pack_keys)(const AttentionSource& keys, float* packed);
  void (*pack_values)(const AttentionSource& values, float* packed);
  void (*rows)(const AttentionRows& rows);
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_ATTENTION_ATTENTION_H_
