// RunForm: how a sum of values that were quantized in the run becomes a real number, on processors and devices. Part of
// base/.
#ifndef OCTAVO_BASE_RUN_FORM_H_
#define OCTAVO_BASE_RUN_FORM_H_

#include <cstdint>
#include <string_view>

namespace octavo {

// Numbers are part of the artifact format.
enum class RunForm : std::uint8_t {
  onnx = 0,          // f32(acc) * (w_scale * x_scale) + bias
  xnnpack = 1,       // fma(f32(acc) * x_scale, w_scale, bias)
  tflite = 2,        // f32(acc) * w_scale * x_scale + bias
  onnx_integer = 3,  // f32(acc + integer_bias) * (w_scale * x_scale): ONNX Runtime's quantizer before 1.7
};
constexpr int count_of(RunForm) { return 4; }
constexpr std::string_view name_of(RunForm form) {
  constexpr std::string_view names[] = {"onnx", "xnnpack", "tflite", "onnx_integer"};
  return names[static_cast<int>(form)];
}

// Bounds of an integer bias: nothing that is converted, or added to a sum that a file means, overflows.
inline constexpr float kMostRunBias = 0x1p30f;
// floor(bias / scale) within the bounds; the lowest where that is no number.
constexpr std::int32_t integer_run_bias(float bias, float scale) {
  const float whole = __builtin_floorf(bias / scale);
  const float bounded = whole < kMostRunBias ? whole : kMostRunBias;
  return static_cast<std::int32_t>(whole > -kMostRunBias ? bounded : -kMostRunBias);
}

constexpr float scaled_in_run(RunForm form, std::int32_t acc, float x_scale, float w_scale, float bias) {
  const auto sum = static_cast<float>(acc);
  switch (form) {
    case RunForm::onnx: return sum * (w_scale * x_scale) + bias;
    case RunForm::xnnpack: return __builtin_fmaf(sum * x_scale, w_scale, bias);
    case RunForm::tflite: return sum * w_scale * x_scale + bias;
    case RunForm::onnx_integer: break;
  }
  const float scale = w_scale * x_scale;
  const std::uint32_t biased =
      static_cast<std::uint32_t>(acc) + static_cast<std::uint32_t>(integer_run_bias(bias, scale));
  return static_cast<float>(static_cast<std::int32_t>(biased)) * scale;
}

}  // namespace octavo

#endif  // OCTAVO_BASE_RUN_FORM_H_
