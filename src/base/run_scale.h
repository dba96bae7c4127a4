// RunScale: scale and zero point that values get from their own range, in a run, on processors and devices. Part of
// base/.
#ifndef OCTAVO_BASE_RUN_SCALE_H_
#define OCTAVO_BASE_RUN_SCALE_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/requantize.h"

namespace octavo {

// How the range of the values themselves becomes scale and zero point of u8. Numbers are part of the artifact format.
enum class DynamicForm : std::uint8_t {
  onnx = 0,              // DynamicQuantizeLinear
  xnnpack = 1,           // what LiteRT computes before convolutions and products that XNNPACK takes
  tflite = 2,            // before its own kernels, those of depthwise convolutions among them
  pt2e = 3,              // choose_qparams and quantize_per_tensor of PyTorch's quantized_decomposed
  pt2e_symmetric = 4,    // choose_qparams_symmetric
  pt2e_token = 5,        // choose_qparams_per_token_asymmetric and quantize_per_token
  tflite_symmetric = 6,  // before LiteRT's own kernels that take no zero point
};
constexpr int count_of(DynamicForm) { return 7; }
constexpr std::string_view name_of(DynamicForm form) {
  constexpr std::string_view names[] = {"onnx",           "xnnpack",    "tflite",          "pt2e",
                                        "pt2e_symmetric", "pt2e_token", "tflite_symmetric"};
  return names[static_cast<int>(form)];
}

// The range contains 0; a range of nothing has scale 1, of PyTorch's forms the least one. All forms but the first are
// those of s8, with 128 added to values and zero point.
struct RunScale {
  DynamicForm form = DynamicForm::onnx;
  float scale = 1.0f;
  std::int32_t zero_point = 0;  // of u8
  float inverse = 1.0f;         // what values are multiplied by; onnx divides by the scale

  // No scale of PyTorch's forms is below `least`.
  static constexpr RunScale of(DynamicForm form, float lowest, float highest, float least = 0.0f) {
    switch (form) {
      case DynamicForm::onnx: return of_onnx(lowest, highest);
      case DynamicForm::xnnpack: return of_xnnpack(lowest, highest);
      case DynamicForm::tflite: return of_tflite(lowest, highest);
      case DynamicForm::pt2e: return of_pt2e(lowest, highest, least);
      case DynamicForm::pt2e_symmetric: return with_scale(form, std::max(-lowest, highest) / 127.5f, least, 128);
      case DynamicForm::pt2e_token: return of_pt2e_token(lowest, highest, least);
      case DynamicForm::tflite_symmetric: return of_tflite_symmetric(std::max(-lowest, highest));
    }
    return {};
  }

  static constexpr bool rounds_away(DynamicForm form) {
    return form == DynamicForm::tflite || form == DynamicForm::tflite_symmetric;
  }
  constexpr std::int32_t quantize(float x) const {
    if (form == DynamicForm::onnx) return round_then_zero_point(x / scale, zero_point, 0, 255);
    if (!rounds_away(form)) return round_then_zero_point(x * inverse, zero_point, 0, 255);
    const float shifted = static_cast<float>(zero_point - 128) + x * inverse;
    return static_cast<std::int32_t>(round_away(clamp_f32(shifted, -128.0f, 127.0f))) + 128;
  }

 private:
  static constexpr RunScale of_onnx(float lowest, float highest) {
    const DynamicScale given = DynamicScale::of(lowest, highest);
    return {DynamicForm::onnx, given.scale, given.zero_point};
  }
  // The end of the range whose error is smaller decides the zero point.
  static constexpr RunScale of_xnnpack(float lowest, float highest) {
    const float inverse = lowest == highest ? 1.0f : 255.0f / (highest - lowest);
    return {DynamicForm::xnnpack, 1.0f / inverse, nearer_end(lowest * inverse, highest * inverse), inverse};
  }
  static constexpr std::int32_t nearer_end(float low, float high) {
    const float zero_point = (-128.0f + low) + (127.0f + high) > 0.0f ? -128.0f - low : 127.0f - high;
    return static_cast<std::int32_t>(round_even(clamp_f32(zero_point, -128.0f, 127.0f))) + 128;
  }
  static constexpr RunScale of_tflite(float lowest, float highest) {
    if (lowest == highest) return {DynamicForm::tflite, 1.0f, 128, 1.0f};
    const float scale = (highest - lowest) / 255.0f;
    const double low = static_cast<double>(lowest) / scale, high = static_cast<double>(highest) / scale;
    const double zero_point = 128.0 + __builtin_fabs(low) < 127.0 + __builtin_fabs(high) ? -128.0 - low : 127.0 - high;
    const double inside = zero_point > -128.0 ? (zero_point < 127.0 ? zero_point : 127.0) : -128.0;
    return {DynamicForm::tflite, scale, static_cast<std::int32_t>(__builtin_round(inside)) + 128, 1.0f / scale};
  }
  static constexpr RunScale of_tflite_symmetric(float size) {
    if (!(size > 0.0f)) return {DynamicForm::tflite_symmetric, 1.0f, 128, 1.0f};
    return {DynamicForm::tflite_symmetric, size / 127.0f, 128, 127.0f / size};
  }
  static constexpr RunScale with_scale(DynamicForm form, float scale, float least, std::int32_t zero_point) {
    // Neither of them: a row of zeros.
    const float usable = std::max(std::max(scale, least), std::numeric_limits<float>::min());
    return {form, usable, zero_point, static_cast<float>(1.0 / static_cast<double>(usable))};
  }
  static constexpr RunScale of_pt2e(float lowest, float highest, float least) {
    RunScale made = with_scale(DynamicForm::pt2e, (highest - lowest) / 255.0f, least, 0);
    made.zero_point = static_cast<std::int32_t>(clamp_f32(-round_even(lowest / made.scale), 0.0f, 255.0f));
    return made;
  }
  static constexpr RunScale of_pt2e_token(float lowest, float highest, float least) {
    RunScale made = with_scale(DynamicForm::pt2e_token, (highest - lowest) / 255.0f, least, 0);
    made.zero_point = nearer_end(lowest / made.scale, highest / made.scale);
    return made;
  }
};

}  // namespace octavo

#endif  // OCTAVO_BASE_RUN_SCALE_H_
