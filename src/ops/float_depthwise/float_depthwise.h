// float_depthwise: a depthwise convolution in f32, summed by fused multiply-adds; made by lower/ for what stays in
// float. Part of ops/.
#ifndef OCTAVO_OPS_FLOAT_DEPTHWISE_FLOAT_DEPTHWISE_H_
#define OCTAVO_OPS_FLOAT_DEPTHWISE_FLOAT_DEPTHWISE_H_

#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"
#include "ops/window.h"

namespace octavo {

struct FloatDepthwiseAttrs {
  Window window;                                           // two spatial axes or three
  float lowest = -std::numeric_limits<float>::infinity();  // clamp of the result
  float highest = std::numeric_limits<float>::infinity();

  bool operator==(const FloatDepthwiseAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"window", &FloatDepthwiseAttrs::window}, Field{"lowest", &FloatDepthwiseAttrs::lowest},
                      Field{"highest", &FloatDepthwiseAttrs::highest});
  }

  // NaN stays what it is.
  float clamped(float value) const {
    const float raised = value < lowest ? lowest : value;
    return raised > highest ? highest : raised;
  }
};

// The row-major numbers of a kernel's taps in the order in which they are added up: plane by plane where there are
// three axes, and in a plane column by column, as XNNPACK does, or row by row where there are more than it takes at
// once.
std::vector<std::int64_t> depthwise_tap_order(const Window& window);

// channels_last. inputs: x f32 [N,H,W,C] or [N,T,H,W,C], w f32 [C,KH,KW,1] or [C,KT,KH,KW,1], bias? f32 [C].
//   sum = bias[c] (0 where left out); for each tap in depthwise_tap_order that lies within the image: sum = fma(x, w,
//   sum); y = clamped(sum)
extern const OpSpec kFloatDepthwise;

}  // namespace octavo

#endif  // OCTAVO_OPS_FLOAT_DEPTHWISE_FLOAT_DEPTHWISE_H_
