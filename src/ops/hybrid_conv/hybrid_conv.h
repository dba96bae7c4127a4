// hybrid_conv: convolution of activations that were quantized in the run by integer weights, with a real result. Part
// of ops/.
#ifndef OCTAVO_OPS_HYBRID_CONV_HYBRID_CONV_H_
#define OCTAVO_OPS_HYBRID_CONV_HYBRID_CONV_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"
#include "ops/window.h"

namespace octavo {

// How an exact sum becomes a real number. Numbers are part of the artifact format.
enum class HybridForm : std::uint8_t {
  onnx = 0,     // f32(acc) * (w_scale * x_scale) + bias
  xnnpack = 1,  // fma(f32(acc) * x_scale, w_scale, bias)
  tflite = 2,   // f32(acc) * w_scale * x_scale + bias
};
constexpr int count_of(HybridForm) { return 3; }
constexpr std::string_view name_of(HybridForm form) {
  constexpr std::string_view names[] = {"onnx", "xnnpack", "tflite"};
  return names[static_cast<int>(form)];
}
inline float hybrid_value(HybridForm form, float sum, float x_scale, float w_scale, float bias) {
  switch (form) {
    case HybridForm::onnx: return sum * (w_scale * x_scale) + bias;
    case HybridForm::xnnpack: return std::fma(sum * x_scale, w_scale, bias);
    case HybridForm::tflite: return sum * w_scale * x_scale + bias;
  }
  return 0.0f;
}

struct HybridConvAttrs {
  Window window;  // two spatial axes
  std::int64_t groups = 1;
  HybridForm form = HybridForm::onnx;
  float lowest = -std::numeric_limits<float>::infinity();  // clamp of the result
  float highest = std::numeric_limits<float>::infinity();

  bool operator==(const HybridConvAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"window", &HybridConvAttrs::window}, Field{"groups", &HybridConvAttrs::groups},
                      Field{"form", &HybridConvAttrs::form}, Field{"lowest", &HybridConvAttrs::lowest},
                      Field{"highest", &HybridConvAttrs::highest});
  }

  // Whether a pixel of the result depends on the same pixel of x alone.
  bool is_pointwise() const;
  // NaN stays what it is.
  float clamped(float value) const {
    const float raised = value < lowest ? lowest : value;
    return raised > highest ? highest : raised;
  }
};

// channels_last. y = clamped(hybrid_value(form, f32(acc), x_scale, w_scale[oc], bias[oc])), where
//   acc = sum over taps of (x - x_zero_point) * (w + w_offset[oc]), exact in s32; outside the image x counts as
//   x_zero_point.
// x u8 [N,H,W,C]; w s8 [OC,KH,KW,C/groups]; x_scale f32 and x_zero_point u8: one, or one per image, or, where the
// window is a single pixel, one per pixel, in any shape of so many elements; w_scale f32 [OC]; bias f32 [OC] (0 where
// left out); w_offset s32 [OC].
enum HybridInput : int {
  kHybridX = 0,
  kHybridW = 1,
  kHybridXScale = 2,
  kHybridXZero = 3,
  kHybridWScale = 4,
  kHybridBias = 5,
  kHybridOffset = 6
};
extern const OpSpec kHybridConv;

}  // namespace octavo

#endif  // OCTAVO_OPS_HYBRID_CONV_HYBRID_CONV_H_
