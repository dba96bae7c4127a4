// quantized_matmul: product of two 8-bit activations; made by lower/. (A constant b becomes a 1x1 quantized_conv.) Part
// of ops/.
#ifndef OCTAVO_OPS_QUANTIZED_MATMUL_QUANTIZED_MATMUL_H_
#define OCTAVO_OPS_QUANTIZED_MATMUL_QUANTIZED_MATMUL_H_

#include <cstdint>
#include <tuple>

#include "graph/op.h"
#include "ops/epilogue.h"

namespace octavo {

struct QuantizedMatmulAttrs {
  std::int32_t a_zero_point = 0;
  std::int32_t b_zero_point = 0;
  Epilogue epilogue;

  bool operator==(const QuantizedMatmulAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"a_zero_point", &QuantizedMatmulAttrs::a_zero_point},
                      Field{"b_zero_point", &QuantizedMatmulAttrs::b_zero_point},
                      Field{"epilogue", &QuantizedMatmulAttrs::epilogue});
  }
};

// y = epilogue(sum over k of (a - a_zero_point) * (b - b_zero_point)), exact in s32 (lower/ checks that it cannot leave
// it). inputs: a, b in numpy matmul shapes, then the operands of the epilogue.
inline constexpr std::size_t kMatmulOperands = 2;
extern const OpSpec kQuantizedMatmul;

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_MATMUL_QUANTIZED_MATMUL_H_
