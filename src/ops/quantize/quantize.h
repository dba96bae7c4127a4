// quantize: real to integer. Part of ops/.
#ifndef OCTAVO_OPS_QUANTIZE_QUANTIZE_H_
#define OCTAVO_OPS_QUANTIZE_QUANTIZE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/requantize.h"
#include "graph/op.h"

namespace octavo {

struct QuantizeAttrs {
  DType to = DType::u8;             // u8, s8, u16 or s16
  std::int64_t axis = -1;           // of per-axis scales; -1: per tensor
  std::int64_t block = 0;           // block size along axis; 0: none
  Profile profile = Profile::onnx;  // of the group of operators that this node ends
  std::int32_t lowest = 0;          // narrower range than the type (pt2e); both 0: the whole type
  std::int32_t highest = 0;

  bool operator==(const QuantizeAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"to", &QuantizeAttrs::to}, Field{"axis", &QuantizeAttrs::axis},
                      Field{"block", &QuantizeAttrs::block}, Field{"profile", &QuantizeAttrs::profile},
                      Field{"lowest", &QuantizeAttrs::lowest}, Field{"highest", &QuantizeAttrs::highest});
  }
};

// y = saturate(rne(x / scale) + zero_point). pt2e and tflite-xnnpack: rne(x * (1/scale)); those of TFLite's own
// kernels: halves away from 0. inputs: x (float or s32), scale (scalar or per axis), zero_point? (type `to`).
// Scale and zero point may be computed at run time (dynamic quantization). f16: the division runs in the type of the
// scale.
extern const OpSpec kQuantize;

// Elements [begin, end) of y; inputs as the operator's.
void quantize_elements(const QuantizeAttrs& quantize, InputViews inputs, const TensorView& y, std::int64_t begin,
                       std::int64_t end);

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZE_QUANTIZE_H_
