// quantized_conv: integer convolution with everything that follows it; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_QUANTIZED_CONV_QUANTIZED_CONV_H_
#define OCTAVO_OPS_QUANTIZED_CONV_QUANTIZED_CONV_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/requantize.h"
#include "graph/op.h"
#include "ops/window.h"

namespace octavo {

// Whether and where a second tensor is added. Numbers are part of the artifact format.
enum class Residual : std::uint8_t {
  none = 0,
  before_rounding = 1,
  after_rounding_conv_first = 2,
  after_rounding_conv_second = 3,
  after_rounding_integer = 4
};
constexpr int count_of(Residual) { return 5; }
constexpr std::string_view name_of(Residual value) {
  constexpr std::string_view names[] = {"none", "before_rounding", "after_rounding_conv_first",
                                        "after_rounding_conv_second", "after_rounding_integer"};
  return names[static_cast<int>(value)];
}

struct QuantizedConvAttrs {
  Window window;  // two spatial axes
  std::int64_t groups = 1;
  std::int32_t x_zero_point = 0;  // the value of x in the padding
  DType to = DType::u8;           // u8 or s8 (requantized), s32 (the accumulator), f32 (accumulator * multiplier)
  Profile profile = Profile::onnx;
  std::int32_t zero_point = 0;  // of the convolution's own rounding
  std::int32_t lowest = 0;      // clamp of that rounding (ReLU and clip folded in)
  std::int32_t highest = 255;
  Residual residual = Residual::none;
  std::int32_t residual_zero_point = 0;  // before_rounding only
  float residual_ratio = 0.0f;           // before_rounding only: residual_scale / y_scale
  AddForm add;                           // after_rounding_* only; a is the first operand of the addition
  IntegerAddForm integer_add;   // after_rounding_integer only; a is the convolution, b the residual as it is stored
  std::int32_t add_lowest = 0;  // clamp of the addition, before add.shift
  std::int32_t add_highest = 255;

  bool operator==(const QuantizedConvAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(
        Field{"window", &QuantizedConvAttrs::window}, Field{"groups", &QuantizedConvAttrs::groups},
        Field{"x_zero_point", &QuantizedConvAttrs::x_zero_point}, Field{"to", &QuantizedConvAttrs::to},
        Field{"profile", &QuantizedConvAttrs::profile}, Field{"zero_point", &QuantizedConvAttrs::zero_point},
        Field{"lowest", &QuantizedConvAttrs::lowest}, Field{"highest", &QuantizedConvAttrs::highest},
        Field{"residual", &QuantizedConvAttrs::residual},
        Field{"residual_zero_point", &QuantizedConvAttrs::residual_zero_point},
        Field{"residual_ratio", &QuantizedConvAttrs::residual_ratio}, Field{"add", &QuantizedConvAttrs::add},
        Field{"integer_add", &QuantizedConvAttrs::integer_add}, Field{"add_lowest", &QuantizedConvAttrs::add_lowest},
        Field{"add_highest", &QuantizedConvAttrs::add_highest});
  }
};

// channels_last only. x u8|s8 [N,H,W,C], w s8 [OC,KH,KW,C/groups], bias s32 [OC] (zero-point corrections are already in
// it: bias - x_zp * sum w), multiplier f32 [OC] (x_scale * w_scale / y_scale; for f32 output x_scale * w_scale),
// residual u8|s8 of y's shape, table [256] of u8|s8, w_offset s32 [OC]: what every weight of the channel lacks (a
// weight's zero point; 0 where left out), bias_rest f32 [OC]: what the bias is more than `bias` says, at most half a
// unit either way (profile pt2e; 0 where left out).
//   acc = bias[oc] + sum over all taps of x * (w + w_offset[oc]), x = x_zero_point outside the image; exact in s32
//   (lower/ checks that it cannot leave it) sum = f32(acc) + bias_rest[oc], or f32(acc) s32: y = acc (no multiplier, no
//   bias_rest).  f32: y = sum * multiplier. 8-bit: q = requantize_real(sum, multiplier, zero_point, lowest, highest);
//   before_rounding: q = requantize_with_residual(...);
//          after_rounding_*: q = add.apply(q, residual) or add.apply(residual, q), clamped to [add_lowest,
//          add_highest]; after_rounding_integer: q = integer_add.apply(q, residual), clamped to [add_lowest,
//          add_highest]; then y = table[q as an unsigned byte] where there is a table. q has the type `to`; the table's
//          type is the type of y.
// inputs: x, w, bias, multiplier?, residual?, table?, w_offset?, bias_rest?, at these positions.
enum ConvInput : int {
  kConvX = 0,
  kConvW = 1,
  kConvBias = 2,
  kConvMultiplier = 3,
  kConvResidual = 4,
  kConvTable = 5,
  kConvOffset = 6,
  kConvBiasRest = 7
};
extern const OpSpec kQuantizedConv;

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_CONV_QUANTIZED_CONV_H_
