// fused_conv: shape rule and reference. Part of ops/.
#include "ops/fused_conv/fused_conv.h"

#include "graph/attrs_of.h"
#include "ops/float_conv.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

ConvShapes shapes_of(const FusedConvAttrs& conv) {
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
  auto dims = conv_dims(shapes_of(conv), x.shape, w.shape);
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

void reference_fused_conv(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& conv = attrs.as<FusedConvAttrs>();
  const float* bias = has_view(inputs, 2) ? inputs[2].as<float>() : nullptr;
  const bool has_residual = conv.residual != ResidualPlace::none;
  const float* residual = has_residual ? inputs[3].as<float>() : nullptr;
  const ConvShapes shapes = shapes_of(conv);
  convolve({shapes, inputs[0], inputs[1], outputs[0].shape}, [&](std::int64_t element, std::int64_t oc, double sum) {
    if (bias != nullptr) sum += bias[oc];
    if (conv.residual == ResidualPlace::before_activation) sum += residual[element];
    double y = evaluate_unary(conv.activation, sum);
    if (conv.residual == ResidualPlace::after_activation) y += residual[element];
    outputs[0].as<float>()[element] = static_cast<float>(y);
  });
}

}  // namespace

const OpSpec kFusedConv = {
    .name = "fused_conv",
    .summary =
        "y = activation(conv(x, w) + bias + residual), or the residual after the activation; f32, channels last, "
        "summed in "
        "f64 and rounded once",
    .inputs = {"x", "w", "bias?", "residual?"},
    .infer = infer_fused_conv,
    .reference = reference_fused_conv,
    .decode_attrs = decode_attrs_as<FusedConvAttrs>,
    .for_one_image = same_for_one_image,
    .depth = depth_of_weights,
};

template Attrs::Attrs(FusedConvAttrs);

}  // namespace octavo
