// dequantize: integer to real. Part of ops/.
#ifndef OCTAVO_OPS_DEQUANTIZE_DEQUANTIZE_H_
#define OCTAVO_OPS_DEQUANTIZE_DEQUANTIZE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct DequantizeAttrs {
  DType to = DType::f32;   // f32 or f16
  std::int64_t axis = -1;  // of per-axis scales; -1: per tensor
  std::int64_t block = 0;  // block size along axis; 0: none

  bool operator==(const DequantizeAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"to", &DequantizeAttrs::to}, Field{"axis", &DequantizeAttrs::axis},
                      Field{"block", &DequantizeAttrs::block});
  }
};

// y = (x - zero_point) * scale. inputs: x (u8 s8 u16 s16 s32 s64), scale (scalar or per axis), zero_point? (type of x).
extern const OpSpec kDequantize;

// Elements [begin, end) of y; inputs as the operator's.
void dequantize_elements(const DequantizeAttrs& dequantize, InputViews inputs, const TensorView& y, std::int64_t begin,
                         std::int64_t end);

}  // namespace octavo

#endif  // OCTAVO_OPS_DEQUANTIZE_DEQUANTIZE_H_
