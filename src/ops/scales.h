// Scales and zero points as inputs: per tensor, per axis or per block; what quantize and dequantize share. Part of
// ops/.
#ifndef OCTAVO_OPS_SCALES_H_
#define OCTAVO_OPS_SCALES_H_

#include <cstdint>

#include "ops/check.h"

namespace octavo {

// Where the scale of an element is found.
struct ScaleLayout {
  std::int64_t axis = -1;  // -1: one scale for all
  std::int64_t block = 0;  // along axis; 0: none

  // Index into the scales for element `element` of x.
  std::int64_t index_of(const Shape& x, std::int64_t element) const;
};

// The scale's shape fits x: one element for axis -1, [dim of axis], or x's shape with ceil(dim / block) along the axis.
// zero_point (may be nullptr) has the same shape.
Problem check_scales(const ScaleLayout& layout, const OpenShape& x, const Fact& scale, const Fact* zero_point);

// What the wire of a quantized type carries, where scale and zero point are known constants without blocks.
std::optional<QuantParams> known_quant(const ScaleLayout& layout, const Fact& scale, const Fact* zero_point);

}  // namespace octavo

#endif  // OCTAVO_OPS_SCALES_H_
