// quantized_layer_norm: normalisation of stored values along the last axis, from exact sums; made by lower/. Part of
// ops/.
#ifndef OCTAVO_OPS_QUANTIZED_LAYER_NORM_QUANTIZED_LAYER_NORM_H_
#define OCTAVO_OPS_QUANTIZED_LAYER_NORM_QUANTIZED_LAYER_NORM_H_

#include <cstdint>
#include <tuple>

#include "graph/op.h"
#include "ops/epilogue.h"
#include "ops/quantized_layer_norm/line_norm.h"

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

// Along the last axis: y = epilogue((f32(d) - mean) * inverse), every operation rounded to f32. A constant line with an
// epsilon of 0 is NaN before its rounding. inputs: x u8, s8 or s16, [..., n] with n up to kLongestNormLine, then the
// operands of the epilogue.
inline constexpr std::size_t kLayerNormOperands = 1;
extern const OpSpec kQuantizedLayerNorm;

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_LAYER_NORM_QUANTIZED_LAYER_NORM_H_
