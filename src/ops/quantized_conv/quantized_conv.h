// quantized_conv: integer convolution with everything that follows it; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_QUANTIZED_CONV_QUANTIZED_CONV_H_
#define OCTAVO_OPS_QUANTIZED_CONV_QUANTIZED_CONV_H_

#include <cstdint>
#include <tuple>

#include "graph/op.h"
#include "ops/epilogue.h"
#include "ops/window.h"

namespace octavo {

struct QuantizedConvAttrs {
  Window window;  // two spatial axes
  std::int64_t groups = 1;
  std::int32_t x_zero_point = 0;  // the value of x in the padding
  Epilogue epilogue;

  bool operator==(const QuantizedConvAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"window", &QuantizedConvAttrs::window}, Field{"groups", &QuantizedConvAttrs::groups},
                      Field{"x_zero_point", &QuantizedConvAttrs::x_zero_point},
                      Field{"epilogue", &QuantizedConvAttrs::epilogue});
  }
};

// channels_last only. x u8|s8 [N,H,W,C], w s8 [OC,KH,KW,C/groups], bias s32 [OC] (zero-point corrections are already in
// it: bias - x_zp * sum w), w_offset s32 [OC]: what every weight of the channel lacks (a weight's zero point; 0 where
// left out), then the operands of the epilogue.
//   y = epilogue(bias[oc] + sum over all taps of x * (w + w_offset[oc])), x = x_zero_point outside the image; the sum
//   is exact in s32 (lower/ checks that it cannot leave it).
enum ConvInput : int { kConvX = 0, kConvW = 1, kConvBias = 2, kConvOffset = 3, kConvOperands = 4 };
extern const OpSpec kQuantizedConv;

// The requantization of a convolution: scale, then round to [lowest, highest].
inline Epilogue requantized(DType to, std::int32_t zero_point, std::int32_t lowest, std::int32_t highest) {
  return {{Scale{}, Round{.after = zero_point, .lowest = lowest, .highest = highest}}, to};
}

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_CONV_QUANTIZED_CONV_H_
