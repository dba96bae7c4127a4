// dynamic_quantize: scale and zero point from the data, then quantize (ONNX DynamicQuantizeLinear). Part of ops/.
#ifndef OCTAVO_OPS_DYNAMIC_QUANTIZE_DYNAMIC_QUANTIZE_H_
#define OCTAVO_OPS_DYNAMIC_QUANTIZE_DYNAMIC_QUANTIZE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

// outputs: y (u8), scale (f32 scalar), zero_point (u8 scalar). The range always contains 0. inputs: x (f32).
extern const OpSpec kDynamicQuantize;

}  // namespace octavo

#endif  // OCTAVO_OPS_DYNAMIC_QUANTIZE_DYNAMIC_QUANTIZE_H_
