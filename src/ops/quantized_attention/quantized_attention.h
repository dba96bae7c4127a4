// quantized_attention: attention of 8-bit queries, keys and values; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_QUANTIZED_ATTENTION_QUANTIZED_ATTENTION_H_
#define OCTAVO_OPS_QUANTIZED_ATTENTION_QUANTIZED_ATTENTION_H_

#include <cstdint>
#include <tuple>

#include "base/requantize.h"
#include "graph/op.h"
#include "ops/attention/attention.h"
#include "ops/epilogue.h"

namespace octavo {

struct QuantizedAttentionAttrs {
  AttentionAttrs heads;  // whose scale is in `multiplier`
  std::int32_t q_zero_point = 0, k_zero_point = 0, v_zero_point = 0;
  float multiplier = 1.0f;  // of a product: q's scale * k's scale * the scale of scores
  float steps = 1.0f;       // of the table, for a difference of scores of 1
  Epilogue epilogue;        // of a real

  bool operator==(const QuantizedAttentionAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(
        Field{"heads", &QuantizedAttentionAttrs::heads}, Field{"q_zero_point", &QuantizedAttentionAttrs::q_zero_point},
        Field{"k_zero_point", &QuantizedAttentionAttrs::k_zero_point},
        Field{"v_zero_point", &QuantizedAttentionAttrs::v_zero_point},
        Field{"multiplier", &QuantizedAttentionAttrs::multiplier}, Field{"steps", &QuantizedAttentionAttrs::steps},
        Field{"epilogue", &QuantizedAttentionAttrs::epilogue});
  }
};

// Sums of weights times values, at most 255 * 255 each, stay in 32 bits.
inline constexpr std::int64_t kMostKeys = 33025;

// Which entry of the table a score has; NaN, which is what -inf less -inf gives, has the last one.
inline std::int32_t weight_index(float largest, float score, float steps) {
  const float distance = (largest - score) * steps;
  return static_cast<std::int32_t>(round_even(distance < 255.0f ? distance : 255.0f));
}

// For every head and query, over keys j:
//   dot_j   = sum over d of (q - q_zero_point) * (k_j - k_zero_point), exact
//   score_j = f32(dot_j) * multiplier, then + mask_j; -inf where a mask of booleans is false or j is after a causal
//   query w_j     = table[weight_index(max, score_j, steps)], u8: 255 for the largest score, 0 in the table's last
//   entry y       = epilogue(f32(sum of w_j * (v_j - v_zero_point)) * (1 / f32(sum of w_j))), both sums exact;
//   epilogue(0)
//             where no key takes part
// Keys that the mask keeps out change nothing. inputs: q, k, v (u8 or s8, shapes as of attention), mask? (f32 or
// bool), table u8 [256] whose last entry is 0, then the operands of the epilogue.
inline constexpr std::size_t kAttentionTable = 4;
inline constexpr std::size_t kAttentionOperands = 5;
extern const OpSpec kQuantizedAttention;

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_ATTENTION_QUANTIZED_ATTENTION_H_
