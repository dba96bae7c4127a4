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
          first_of({check_dtype("x", x, {DType::f32}), check_dtype("w", w, {DType::f32}), check_rank("x", x, 4, 5)}))
    return *problem;
  if (!(conv.lowest <= conv.highest)) return shape_error("lowest", std::to_string(conv.lowest), "at most the highest");
  const Dim& channels = x.shape[x.shape.rank() - 1];
  if (w.shape.rank() != x.shape.rank() || w.shape[0] != channels)
    return shape_error("w", "shape " + w.shape.to_string(), "one kernel per channel of x");
  auto dims = conv_dims({.window = conv.window, .groups = channels, .layout = Layout::channels_last}, x.shape, w.shape);
  if (!dims) return std::move(dims).errors();
  if (const Fact* bias = fact_at(inputs, 2)) {
    if (auto problem = first_of({check_dtype("bias", *bias, {DType::f32}), check_shape("bias", *bias, {w.shape[0]})}))
      return *problem;
  }
  return one_output(DType::f32, *std::move(dims));
}

void reference_float_depthwise(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& conv = attrs.as<FloatDepthwiseAttrs>();
  const Image from = Image::of(inputs[0].shape, Layout::channels_last),
              to = Image::of(outputs[0].shape, Layout::channels_last);
  const std::vector<std::int64_t> order = depthwise_tap_order(conv.window);
  const float* bias = has_view(inputs, 2) ? inputs[2].as<float>() : nullptr;
  float* y = outputs[0].as<float>();
  TapLister lister(conv.window, from, to.sizes, TapLister::Outside::list);
  const std::int64_t positions = to.positions();
  for (std::int64_t at = 0; at < to.batch * positions; ++at) {
    const float* image = inputs[0].as<float>() + at / positions * from.batch_stride;
    const std::vector<Tap>& taps = lister.at(at % positions);
    for (std::int64_t c = 0; c < from.channels; ++c) {
      float sum = bias == nullptr ? 0.0f : bias[c];
      for (const std::int64_t k : order) {
        const Tap& tap = taps[static_cast<std::size_t>(k)];
        if (tap.is_inside) sum = std::fma(image[tap.image + c], inputs[1].as<float>()[c * std::ssize(taps) + k], sum);
      }
      *y++ = conv.clamped(sum);
    }
  }
}

}  // namespace

std::vector<std::int64_t> depthwise_tap_order(const Window& window) {
  constexpr std::int64_t kAtOnce = 25;
  const auto axis = static_cast<std::size_t>(window.rank() - 2);
  const std::int64_t height = window.kernel[axis], width = window.kernel[axis + 1], plane = height * width;
  const std::int64_t planes = axis == 0 ? 1 : window.kernel[0].fixed();
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < planes * plane; ++i) {
    const std::int64_t in_plane = i % plane, by_column = in_plane % height * width + in_plane / height;
    order.push_back(i - in_plane + (plane <= kAtOnce ? by_column : in_plane));
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
