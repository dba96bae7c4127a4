// float_depthwise: shape rule and reference. Part of ops/.
#include "ops/float_depthwise/float_depthwise.h"

#include <cmath>

#include "graph/attrs_of.h"
#include "ops/image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_float_depthwise(const Attrs& attrs, InputFacts inputs) {
  const auto& conv = attrs.as<FloatDepthwiseAttrs>();
  const Fact& x = *inputs[0];
  const Fact& w = *inputs[1];
  if (auto problem =
          first_of({check_dtype("x", x, {DType::f32}), check_dtype("w", w, {DType::f32}), check_rank("x", x, 4, 4)}))
    return *problem;
  if (!(conv.lowest <= conv.highest)) return shape_error("lowest", std::to_string(conv.lowest), "at most the highest");
  if (w.shape.rank() != 4 || w.shape[0] != x.shape[3])
    return shape_error("w", "shape " + w.shape.to_string(), "one kernel per channel of x");
  auto dims =
      conv_dims({.window = conv.window, .groups = x.shape[3], .layout = Layout::channels_last}, x.shape, w.shape);
  if (!dims) return std::move(dims).errors();
  if (const Fact* bias = fact_at(inputs, 2)) {
    if (auto problem = first_of({check_dtype("bias", *bias, {DType::f32}), check_shape("bias", *bias, {w.shape[0]})}))
      return *problem;
  }
  return one_output(DType::f32, *std::move(dims));
}

void reference_float_depthwise(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& conv = attrs.as<FloatDepthwiseAttrs>();
  const Window& window = conv.window;
  const Shape &from = inputs[0].shape, &to = outputs[0].shape;
  const std::int64_t channels = from[3], taps = window.kernel[0] * window.kernel[1];
  const std::vector<TapPosition> order = depthwise_tap_order(window);
  const float* bias = has_view(inputs, 2) ? inputs[2].as<float>() : nullptr;
  float* y = outputs[0].as<float>();
  for (std::int64_t line = 0; line < to[0] * to[1]; ++line) {
    const float* image = inputs[0].as<float>() + line / to[1] * from[1] * from[2] * channels;
    const std::int64_t top = line % to[1] * window.strides[0] - window.pad_begin[0];
    for (std::int64_t ow = 0; ow < to[2]; ++ow) {
      const std::int64_t left = ow * window.strides[1] - window.pad_begin[1];
      for (std::int64_t c = 0; c < channels; ++c) {
        float sum = bias == nullptr ? 0.0f : bias[c];
        for (const TapPosition& tap : order) {
          const std::int64_t row = top + tap.row * window.dilations[0],
                             column = left + tap.column * window.dilations[1];
          if (row < 0 || row >= from[1] || column < 0 || column >= from[2]) continue;
          const float w = inputs[1].as<float>()[c * taps + tap.row * window.kernel[1] + tap.column];
          sum = std::fma(image[(row * from[2] + column) * channels + c], w, sum);
        }
        *y++ = conv.clamped(sum);
      }
    }
  }
}

}  // namespace

std::vector<TapPosition> depthwise_tap_order(const Window& window) {
  constexpr std::int64_t kAtOnce = 25;
  const std::int64_t height = window.kernel[0], width = window.kernel[1];
  const bool is_by_column = height * width <= kAtOnce;
  std::vector<TapPosition> order;
  for (std::int64_t i = 0; i < height * width; ++i) {
    order.push_back(is_by_column ? TapPosition{i % height, i / height} : TapPosition{i / width, i % width});
  }
  return order;
}

const OpSpec kFloatDepthwise = {
    .name = "float_depthwise",
    .summary =
        "y[n,o,c] = clamp(bias[c] + sum over taps of x * w[c]), f32, a fused multiply-add per tap in a fixed order; "
        "channels last",
    .inputs = {"x", "w", "bias?"},
    .infer = infer_float_depthwise,
    .reference = reference_float_depthwise,
    .decode_attrs = decode_attrs_as<FloatDepthwiseAttrs>,
    .depth = depth_of_weights,
};

template Attrs::Attrs(FloatDepthwiseAttrs);

}  // namespace octavo
