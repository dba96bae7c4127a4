// quantized_matmul: product of two 8-bit activations; made by lower/. (A constant b becomes a 1x1 quantized_conv.) Part
// of ops/.
#ifndef OCTAVO_OPS_QUANTIZED_MATMUL_QUANTIZED_MATMUL_H_
#define OCTAVO_OPS_QUANTIZED_MATMUL_QUANTIZED_MATMUL_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/requantize.h"
#include "graph/op.h"

namespace octavo {

struct QuantizedMatmulAttrs {
  std::int32_t a_zero_point = 0;
  std::int32_t b_zero_point = 0;
  float multiplier = 1.0f;  // a_scale * b_scale / y_scale
  DType to = DType::u8;     // u8, s8, or s32 for the accumulator
  Profile profile = Profile::onnx;
  std::int32_t zero_point = 0;
  std::int32_t lowest = 0;
  std::int32_t highest = 255;

  bool operator==(const QuantizedMatmulAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"a_zero_point", &QuantizedMatmulAttrs::a_zero_point},
                      Field{"b_zero_point", &QuantizedMatmulAttrs::b_zero_point},
                      Field{"multiplier", &QuantizedMatmulAttrs::multiplier}, Field{"to", &QuantizedMatmulAttrs::to},
                      Field{"profile", &QuantizedMatmulAttrs::profile},
                      Field{"zero_point", &QuantizedMatmulAttrs::zero_point},
                      Field{"lowest", &QuantizedMatmulAttrs::lowest}, Field{"highest", &QuantizedMatmulAttrs::highest});
  }
};

// acc = sum (a - a_zp) * (b - b_zp); y = requantize(acc, multiplier, ...). inputs: a, b; numpy matmul shapes.
extern const OpSpec kQuantizedMatmul;

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_MATMUL_QUANTIZED_MATMUL_H_
