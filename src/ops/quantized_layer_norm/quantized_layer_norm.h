// quantized_layer_norm: normalisation of stored values along the last axis, from exact sums; made by lower/. Part of
// ops/.
#ifndef OCTAVO_OPS_QUANTIZED_LAYER_NORM_QUANTIZED_LAYER_NORM_H_
#define OCTAVO_OPS_QUANTIZED_LAYER_NORM_QUANTIZED_LAYER_NORM_H_

#include <cmath>
#include <cstdint>
#include <tuple>

#include "graph/op.h"
#include "ops/epilogue.h"

namespace octavo {

struct QuantizedLayerNormAttrs {
  std::int32_t x_zero_point = 0;
  bool is_centred = true;  // false: RMS norm, whose mean is 0
  float epsilon = 0.0f;    // in units of the square of x's scale
  Epilogue epilogue;       // of a real

  bool operator==(const QuantizedLayerNormAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"x_zero_point", &QuantizedLayerNormAttrs::x_zero_point},
                      Field{"is_centred", &QuantizedLayerNormAttrs::is_centred},
                      Field{"epsilon", &QuantizedLayerNormAttrs::epsilon},
                      Field{"epilogue", &QuantizedLayerNormAttrs::epilogue});
  }
};

// Longer lines could leave 64 bits: n * squares stays below 2^62.
inline constexpr std::int64_t kLongestNormLine = 32768;

// What a line has in common, of its exact sums; d = x - x_zero_point, |d| < 2^16.
struct LineNorm {
  float mean = 0.0f;
  float inverse = 0.0f;  // 1 / sqrt(variance + epsilon)

  // sum and squares: those of d and d * d over `count` values.
  static LineNorm of(const QuantizedLayerNormAttrs& attrs, std::int64_t sum, std::int64_t squares, std::int64_t count) {
    const auto n = static_cast<double>(count);
    const std::int64_t spread = attrs.is_centred ? count * squares - sum * sum : count * squares;
    const double variance = static_cast<double>(spread) / (n * n) + static_cast<double>(attrs.epsilon);
    return {attrs.is_centred ? static_cast<float>(static_cast<double>(sum) / n) : 0.0f,
            static_cast<float>(1.0 / std::sqrt(variance))};
  }
};

// Along the last axis: y = epilogue((f32(d) - mean) * inverse), every operation rounded to f32. A constant line with an
// epsilon of 0 is NaN before its rounding. inputs: x u8, s8 or s16, [..., n] with n up to kLongestNormLine, then the
// operands of the epilogue.
inline constexpr std::size_t kLayerNormOperands = 1;
extern const OpSpec kQuantizedLayerNorm;

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_LAYER_NORM_QUANTIZED_LAYER_NORM_H_
