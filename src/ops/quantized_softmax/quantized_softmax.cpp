// quantized_softmax: shape rule and reference. Part of ops/.
#include "ops/quantized_softmax/quantized_softmax.h"

#include <algorithm>

#include "base/requantize.h"
#include "ops/check.h"
#include "ops/integers.h"

namespace octavo {
namespace {

Problem check_profile(Profile profile) {
  if (profile == Profile::onnx || profile == Profile::tflite_xnnpack) return std::nullopt;
  return shape_error("profile", std::string(name_of(profile)), "onnx or tflite-xnnpack");
}

// What the exponentials of one line become.
struct LineValue {
  const QuantizedSoftmaxAttrs& softmax;
  float sum;

  std::int32_t of(float exponential) const {
    const IntegerRange range = range_of(softmax.to);
    const auto lowest = static_cast<std::int32_t>(range.lowest), highest = static_cast<std::int32_t>(range.highest);
    if (softmax.profile == Profile::onnx)
      return softmax_value(exponential, sum, softmax_inverse_scale(softmax.y_scale), softmax.zero_point, lowest, highest);
    return tflite_softmax_value(exponential, tflite_softmax_factor(sum, softmax.y_scale), softmax.zero_point, lowest, highest);
  }
};

Result<std::vector<Fact>> infer_quantized_softmax(const Attrs& attrs, InputFacts inputs) {
  const auto& softmax = attrs.as<QuantizedSoftmaxAttrs>();
  const Fact& x = *inputs[0];
  const Fact& exponentials = *inputs[1];
  const IntegerRange range = range_of(softmax.to);
  const auto problem = first_of({check_dtype("x", x, {DType::u8, DType::s8}), check_rank("x", x, 1, 64), check_table(exponentials, {DType::f32}),
                                 check_clamp({.to = softmax.to,
                                              .zero_point = softmax.zero_point,
                                              .lowest = static_cast<std::int32_t>(range.lowest),
                                              .highest = static_cast<std::int32_t>(range.highest)}),
                                 check_scale("y_scale", softmax.y_scale), check_profile(softmax.profile)});
  if (problem) return *problem;
  return one_output(softmax.to, x.shape.to_vector());
}

void reference_quantized_softmax(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& softmax = attrs.as<QuantizedSoftmaxAttrs>();
  const ConstTensorView& x = inputs[0];
  const float* exponentials = inputs[1].as<float>();
  const std::int64_t length = x.shape[x.shape.rank() - 1];
  const std::int64_t lines = length == 0 ? 0 : x.shape.elements() / length;
  for (std::int64_t line = 0; line < lines; ++line) {
    const std::int64_t first = line * length;
    std::int32_t largest = -128;
    for (std::int64_t i = 0; i < length; ++i) largest = std::max(largest, load_8bit(x.data, x.dtype, first + i));
    const auto exponential = [&](std::int64_t i) { return exponentials[255 - (largest - load_8bit(x.data, x.dtype, first + i))]; };
    float sum = 0.0f;
    for (std::int64_t i = 0; i < length; ++i) sum += exponential(i);
    const LineValue value{softmax, sum};
    for (std::int64_t i = 0; i < length; ++i) store_8bit(outputs[0].data, first + i, value.of(exponential(i)));
  }
}

}  // namespace

const OpSpec kQuantizedSoftmax = {
    .name = "quantized_softmax",
    .summary = "y = softmax_value or tflite_softmax_value(e[255 - (max - x)], sum of e in f32, in order), along the last axis",
    .inputs = {"x", "exponentials"},
    .infer = infer_quantized_softmax,
    .reference = reference_quantized_softmax,
    .decode_attrs = decode_attrs_as<QuantizedSoftmaxAttrs>,
};

}  // namespace octavo
