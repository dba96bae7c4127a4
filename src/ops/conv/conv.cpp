// conv: shape rule and reference. Part of ops/.
#include "ops/conv/conv.h"

#include "graph/attrs_of.h"
#include "ops/float_conv.h"
#include "ops/one_image.h"
#include "ops/planar.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_conv(const Attrs& attrs, InputFacts inputs) {
  const auto& conv = attrs.as<ConvAttrs>();
  const Fact& x = *inputs[0];
  const Fact& w = *inputs[1];
  const Fact* bias = fact_at(inputs, 2);
  if (auto problem =
          first_of({check_dtype("x", x, {DType::f32, DType::f16, DType::f64}), check_same_dtype("w", w, x.dtype)}))
    return *problem;
  auto dims = conv_dims({.window = conv.window, .groups = conv.groups, .layout = conv.layout}, x.shape, w.shape);
  if (!dims) return std::move(dims).errors();
  if (bias != nullptr) {
    if (auto problem = first_of({check_same_dtype("bias", *bias, x.dtype), check_shape("bias", *bias, {w.shape[0]})}))
      return *problem;
  }
  return one_output(x.dtype, *std::move(dims));
}

void reference_conv(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& conv = attrs.as<ConvAttrs>();
  const ConvShapes shapes{.window = conv.window, .groups = conv.groups, .layout = conv.layout};
  const bool has_bias = has_view(inputs, 2);
  convolve({shapes, inputs[0], inputs[1], outputs[0].shape}, [&](std::int64_t element, std::int64_t oc, double sum) {
    store_double(outputs[0], element, sum + (has_bias ? element_as_double(inputs[2], oc) : 0.0));
  });
}

NodeRole role_of_conv(const Attrs& attrs, InputFacts inputs) {
  const auto& conv = attrs.as<ConvAttrs>();
  return role_of_planar_convolution(conv.window, conv.groups, inputs);
}

}  // namespace

const OpSpec kConv = {
    .name = "conv",
    .summary =
        "y[n,oc,o] = bias[oc] + sum over taps k and channels ic of x[n,ic,o*stride+k*dilation-pad] * w[oc,ic,k]; "
        "floats, summed in f64",
    .inputs = {"x", "w", "bias?"},
    .infer = infer_conv,
    .reference = reference_conv,
    .decode_attrs = decode_attrs_as<ConvAttrs>,
    .for_one_image = same_for_one_image,
    .depth = depth_of_weights,
    .channels_last = image_channels_last<ConvAttrs>,
    .images = 2,
    .role = role_of_conv,
    .weight_axis = 0,
    .read_from = "ONNX Conv; TFLite CONV_2D; ATen conv2d",
    .integer_form = "quantized_conv",
};

template Attrs::Attrs(ConvAttrs);

}  // namespace octavo
