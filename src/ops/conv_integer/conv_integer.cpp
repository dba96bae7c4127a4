// conv_integer: shape rule and reference. Part of ops/.
#include "ops/conv_integer/conv_integer.h"

#include "graph/attrs_of.h"
#include "ops/image.h"
#include "ops/integers.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

ConvShapes conv_integer_shapes_of(const ConvIntegerAttrs& conv) {
  return {.window = conv.window, .groups = conv.groups, .layout = conv.layout};
}

Result<std::vector<Fact>> infer_conv_integer(const Attrs& attrs, InputFacts inputs) {
  const auto& conv = attrs.as<ConvIntegerAttrs>();
  const Fact& x = *inputs[0];
  const Fact& w = *inputs[1];
  if (auto problem =
          first_of({check_dtype("x", x, {DType::u8, DType::s8}), check_dtype("w", w, {DType::u8, DType::s8})}))
    return *problem;
  auto dims = conv_dims(conv_integer_shapes_of(conv), x.shape, w.shape);
  if (!dims) return std::move(dims).errors();
  if (const Fact* zero = fact_at(inputs, 2)) {
    if (auto problem = first_of({check_same_dtype("x_zp", *zero, x.dtype), check_scalar("x_zp", *zero)}))
      return *problem;
  }
  if (const Fact* zero = fact_at(inputs, 3)) {
    if (auto problem = check_same_dtype("w_zp", *zero, w.dtype)) return *problem;
    if (zero->shape != Shape{w.shape[0]} && check_scalar("w_zp", *zero)) {
      return shape_error("w_zp", "shape " + zero->shape.to_string(), "one element, or one per output channel");
    }
  }
  return one_output(DType::s32, *std::move(dims));
}

void reference_conv_integer(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& conv = attrs.as<ConvIntegerAttrs>();
  const Image image = Image::of(inputs[0].shape, conv.layout);
  const Image kernel = Image::of(inputs[1].shape, conv.layout);
  const Image result = Image::of(outputs[0].shape, conv.layout);
  const std::vector<std::int32_t> x =
      minus_zero_point(inputs[0], has_view(inputs, 2) ? to_s32s(inputs[2]) : std::vector<std::int32_t>{0});
  const std::vector<std::int32_t> w =
      minus_zero_point(inputs[1], has_view(inputs, 3) ? to_s32s(inputs[3]) : std::vector<std::int32_t>{0});
  auto* y = outputs[0].as<std::int32_t>();
  const std::int64_t channels_per_group = result.channels / conv.groups;
  TapLister lister(conv.window, image, result.sizes, TapLister::Outside::leave_out);
  for (std::int64_t n = 0; n < result.batch; ++n) {
    for (std::int64_t position = 0; position < result.positions(); ++position) {
      const std::vector<Tap>& taps = lister.at(position);
      for (std::int64_t oc = 0; oc < result.channels; ++oc) {
        const std::int64_t x0 =
            n * image.batch_stride + oc / channels_per_group * kernel.channels * image.channel_stride;
        std::uint32_t acc = 0;
        for (const Tap& tap : taps) {
          const std::int64_t w0 = oc * kernel.batch_stride + kernel.offset(tap.kernel);
          acc +=
              wrapping_dot({x, x0 + tap.image, image.channel_stride}, {w, w0, kernel.channel_stride}, kernel.channels);
        }
        y[n * result.batch_stride + result.offset(position) + oc * result.channel_stride] =
            static_cast<std::int32_t>(acc);
      }
    }
  }
}

}  // namespace

const OpSpec kConvInteger = {
    .name = "conv_integer",
    .summary = "y = sum (x - x_zp) * (w - w_zp), exact in s32; outside the image x counts as x_zp",
    .inputs = {"x", "w", "x_zp?", "w_zp?"},
    .infer = infer_conv_integer,
    .reference = reference_conv_integer,
    .decode_attrs = decode_attrs_as<ConvIntegerAttrs>,
    .for_one_image = same_for_one_image,
    .is_integer = true,
    .depth = depth_of_weights,
    .channels_last = image_channels_last<ConvIntegerAttrs>,
    .images = 2,
    .read_from = "ONNX ConvInteger",
    .integer_form = "hybrid_conv",
};

template Attrs::Attrs(ConvIntegerAttrs);

}  // namespace octavo
