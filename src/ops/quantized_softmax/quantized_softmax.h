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

  bool operator==(const QuantizedSoftmaxAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"to", &QuantizedSoftmaxAttrs::to}, Field{"profile", &QuantizedSoftmaxAttrs::profile},
                      Field{"y_scale", &QuantizedSoftmaxAttrs::y_scale},
                      Field{"zero_point", &QuantizedSoftmaxAttrs::zero_point});
  }
};

// Profile onnx: the formula of ONNX Runtime's QLinearSoftmax (measured): over a table of exponentials
// (softmax_exponential of base/requantize.h, for lines of this length), the f32 sum of the line's exponentials in
// order, and softmax_value. Profile tflite-xnnpack: the same with tflite_softmax_exponential and tflite_softmax_value.
// tflite-double and tflite-single: exponentials s32 [256] (fixed_softmax_exponential of base/fixed_point.h), their
// terms summed, FixedReciprocal::share from the lowest value of the type on; y_scale and zero_point are not used.
// s16, in all of TFLite's profiles: exponentials s16 [65536] (interpolated_exponentials of base/interpolated.h, by the
// distance below the largest), their sum, InterpolatedReciprocal::share.
// inputs: x (u8, s8 or s16, as the result is), exponentials f32 or s32 [256], s16 [65536].
extern const OpSpec kQuantizedSoftmax;

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_SOFTMAX_QUANTIZED_SOFTMAX_H_
