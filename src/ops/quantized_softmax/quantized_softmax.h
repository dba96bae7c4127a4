// quantized_softmax: softmax of quantized values along the last axis; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_QUANTIZED_SOFTMAX_QUANTIZED_SOFTMAX_H_
#define OCTAVO_OPS_QUANTIZED_SOFTMAX_QUANTIZED_SOFTMAX_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/requantize.h"
#include "graph/op.h"

namespace octavo {

struct QuantizedSoftmaxAttrs {
  DType to = DType::u8;
  Profile profile = Profile::onnx;
  float y_scale = 1.0f;
  std::int32_t zero_point = 0;
  float x_scale = 0.0f;  // where the exponentials are f32: the scale of x, times a factor of its own

  // Whether they are f32 and made of x_scale, else they are an input.
  bool makes_exponentials() const { return to != DType::s16 && !is_fixed_point(profile); }

  bool operator==(const QuantizedSoftmaxAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"to", &QuantizedSoftmaxAttrs::to}, Field{"profile", &QuantizedSoftmaxAttrs::profile},
                      Field{"y_scale", &QuantizedSoftmaxAttrs::y_scale},
                      Field{"zero_point", &QuantizedSoftmaxAttrs::zero_point},
                      Field{"x_scale", &QuantizedSoftmaxAttrs::x_scale});
  }
};

// Profile onnx: the formula of ONNX Runtime's QLinearSoftmax (measured): over a table of exponentials
// (softmax_exponential of base/requantize.h, for lines of this length), the f32 sum of the line's exponentials in
// order, and softmax_value. Profile tflite-xnnpack: the same with tflite_softmax_exponential and tflite_softmax_value.
// tflite-double and tflite-single: exponentials s32 [256] (fixed_softmax_exponential of base/fixed_point.h), their
// terms summed, FixedReciprocal::share from the lowest value of the type on; y_scale and zero_point are not used.
// s16, in all of TFLite's profiles: exponentials s16 [65536] (interpolated_exponentials of base/interpolated.h, by the
// distance below the largest), their sum, InterpolatedReciprocal::share.
// inputs: x (u8, s8 or s16, as the result is), exponentials s32 [256], s16 [65536], or none (makes_exponentials).
extern const OpSpec kQuantizedSoftmax;

// Of attributes that make them: f32 [256], entry i for an element 255 - i below the largest of its line of `length`.
Tensor softmax_exponentials(const QuantizedSoftmaxAttrs& attrs, std::int64_t length);

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_SOFTMAX_QUANTIZED_SOFTMAX_H_
