// fused_conv: shape rule and reference. Part of ops/.
#include "ops/fused_conv/fused_conv.h"

#include <cmath>

#include "graph/attrs_of.h"
#include "ops/image.h"
#include "ops/one_image.h"
#include "ops/traits.h"
#include "ops/unary/apply.h"

namespace octavo {
namespace {

ConvShapes fused_conv_shapes_of(const FusedConvAttrs& conv) {
  return {.window = conv.window, .groups = conv.groups, .layout = Layout::channels_last};
}

Result<std::vector<Fact>> infer_fused_conv(const Attrs& attrs, InputFacts inputs) {
  const auto& conv = attrs.as<FusedConvAttrs>();
  const Fact& x = *inputs[0];
  const Fact& w = *inputs[1];
  const Fact* bias = fact_at(inputs, 2);
  const Fact* residual = fact_at(inputs, 3);
  if (auto problem =
          first_of({check_dtype("x", x, {DType::f32}), check_dtype("w", w, {DType::f32}), check_rank("x", x, 4, 4)}))
    return *problem;
  auto dims = conv_dims(fused_conv_shapes_of(conv), x.shape, w.shape);
  if (!dims) return std::move(dims).errors();
  if (bias != nullptr) {
    if (auto problem = first_of({check_dtype("bias", *bias, {DType::f32}), check_shape("bias", *bias, {w.shape[0]})}))
      return *problem;
  }
  if ((conv.residual != ResidualPlace::none) != (residual != nullptr))
    return shape_error("residual", std::string(name_of(conv.residual)), "whether there is a residual");
  if (residual != nullptr) {
    if (auto problem = first_of(
            {check_dtype("residual", *residual, {DType::f32}), check_shape("residual", *residual, OpenShape(*dims))}))
      return *problem;
  }
  return one_output(DType::f32, *std::move(dims));
}

// One chain per output element, with a link for every tap, also of the padding, and channel.
float chain_of(const std::vector<Tap>& taps, const float* x, const float* w, const Image& kernel) {
  float sum = 0.0f;
  for (const Tap& tap : taps) {
    const float* wt = w + kernel.offset(tap.kernel);
    for (std::int64_t ic = 0; ic < kernel.channels; ++ic)
      sum = std::fma(tap.is_inside ? x[tap.image + ic] : 0.0f, wt[ic], sum);
  }
  return sum;
}

void add(const TensorView& y, const ConstTensorView& other) {
  const float* from = other.as<float>();
  for (float& value : y.span<float>()) value += *from++;
}

void reference_fused_conv(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& conv = attrs.as<FusedConvAttrs>();
  const float* bias = has_view(inputs, 2) ? inputs[2].as<float>() : nullptr;
  const Image image = Image::of(inputs[0].shape, Layout::channels_last);
  const Image kernel = Image::of(inputs[1].shape, Layout::channels_last);
  const Image result = Image::of(outputs[0].shape, Layout::channels_last);
  const std::int64_t per_group = result.channels / conv.groups;
  float* y = outputs[0].as<float>();
  TapLister lister(conv.window, image, result.sizes, TapLister::Outside::list);
  for (std::int64_t n = 0; n < result.batch; ++n) {
    for (std::int64_t position = 0; position < result.positions(); ++position) {
      const std::vector<Tap>& taps = lister.at(position);
      for (std::int64_t oc = 0; oc < result.channels; ++oc, ++y) {
        const float* x = inputs[0].as<float>() + n * image.batch_stride + oc / per_group * kernel.channels;
        *y = chain_of(taps, x, inputs[1].as<float>() + oc * kernel.batch_stride, kernel) +
             (bias != nullptr ? bias[oc] : 0.0f);
      }
    }
  }
  if (conv.residual == ResidualPlace::before_activation) add(outputs[0], inputs[3]);
  apply_unary_f32(conv.activation, outputs[0].span<float>());
  if (conv.residual == ResidualPlace::after_activation) add(outputs[0], inputs[3]);
}

}  // namespace

const OpSpec kFusedConv = {
    .name = "fused_conv",
    .summary =
        "y = activation(conv(x, w) + bias + residual), or the residual after the activation; f32, channels last, each "
        "sum a chain of fused multiply-adds",
    .inputs = {"x", "w", "bias?", "residual?"},
    .infer = infer_fused_conv,
    .reference = reference_fused_conv,
    .decode_attrs = decode_attrs_as<FusedConvAttrs>,
    .for_one_image = same_for_one_image,
    .depth = depth_of_weights,
};

template Attrs::Attrs(FusedConvAttrs);

}  // namespace octavo
