// quantized_conv: shape rule and reference. Part of ops/.
#include "ops/quantized_conv/quantized_conv.h"

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/image.h"
#include "ops/integers.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

ConvShapes quantized_conv_shapes_of(const QuantizedConvAttrs& conv) {
  return {.window = conv.window, .groups = conv.groups, .layout = Layout::channels_last};
}

Result<std::vector<Fact>> infer_quantized_conv(const Attrs& attrs, InputFacts inputs) {
  const auto& conv = attrs.as<QuantizedConvAttrs>();
  const Fact& x = *inputs[kConvX];
  const Fact& w = *inputs[kConvW];
  const Fact& bias = *inputs[kConvBias];
  if (auto wrong = first_of(
          {check_dtype("x", x, {DType::u8, DType::s8}), check_rank("x", x, 4, 4), check_dtype("w", w, {DType::s8})}))
    return *wrong;
  const IntegerRange range = range_of(x.dtype);
  if (auto wrong = check_range("x_zero_point", conv.x_zero_point, range.lowest, range.highest)) return *wrong;
  auto dims = conv_dims(quantized_conv_shapes_of(conv), x.shape, w.shape);
  if (!dims) return std::move(dims).errors();
  if (!checked_elements(*dims)) return one_output(conv.epilogue.to, *std::move(dims));
  if (auto wrong = first_of({check_dtype("bias", bias, {DType::s32}), check_shape("bias", bias, {w.shape[0]})}))
    return *wrong;
  if (const Fact* offset = fact_at(inputs, kConvOffset)) {
    if (auto wrong =
            first_of({check_dtype("w_offset", *offset, {DType::s32}), check_shape("w_offset", *offset, {w.shape[0]})}))
      return *wrong;
  }
  const auto type =
      infer_epilogue(conv.epilogue, EpilogueInput::sum, operands_from(inputs, kConvOperands), OpenShape(*dims));
  if (!type) return type.errors();
  return one_output(*type, *std::move(dims));
}

// Wraps where it leaves 32 bits.
template <class X>
std::uint32_t quantized_conv_dot(const X* x, const std::int8_t* w, std::uint32_t w_offset, std::int64_t count) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += static_cast<std::uint32_t>(x[i]) * (static_cast<std::uint32_t>(w[i]) + w_offset);
  return sum;
}

template <class X>
void convolve(const QuantizedConvAttrs& conv, InputViews inputs, const TensorView& y) {
  const EpilogueReference epilogue(conv.epilogue, operands_from(inputs, kConvOperands), y);
  const Image image = Image::of(inputs[kConvX].shape, Layout::channels_last);
  const Image result = Image::of(y.shape, Layout::channels_last);
  const std::int64_t depth = inputs[kConvW].shape[3];  // channels per group
  const std::int64_t kernel_size = conv.window.kernel[0] * conv.window.kernel[1] * depth;
  const std::int64_t group_size = result.channels / conv.groups;
  const std::vector<X> padding(static_cast<std::size_t>(image.channels), static_cast<X>(conv.x_zero_point));
  TapLister lister(conv.window, image, result.sizes, TapLister::Outside::list);
  std::vector<const X*> rows;  // where each tap reads x
  for (std::int64_t n = 0; n < result.batch; ++n) {
    const X* x = inputs[kConvX].as<X>() + n * image.batch_stride;
    for (std::int64_t position = 0; position < result.positions(); ++position) {
      rows.clear();
      for (const Tap& tap : lister.at(position)) rows.push_back(tap.is_inside ? x + tap.image : padding.data());
      for (std::int64_t oc = 0; oc < result.channels; ++oc) {
        const std::int64_t first_channel = oc / group_size * depth;
        const std::int8_t* w = inputs[kConvW].as<std::int8_t>() + oc * kernel_size;
        const auto w_offset =
            has_view(inputs, kConvOffset) ? static_cast<std::uint32_t>(inputs[kConvOffset].as<std::int32_t>()[oc]) : 0u;
        auto acc = static_cast<std::uint32_t>(inputs[kConvBias].as<std::int32_t>()[oc]);
        for (const X* row : rows) {
          acc += quantized_conv_dot(row + first_channel, w, w_offset, depth);
          w += depth;
        }
        epilogue.store((n * result.positions() + position) * result.channels + oc, static_cast<std::int32_t>(acc));
      }
    }
  }
}

void reference_quantized_conv(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& conv = attrs.as<QuantizedConvAttrs>();
  if (inputs[kConvX].dtype == DType::u8) convolve<std::uint8_t>(conv, inputs, outputs[0]);
  else convolve<std::int8_t>(conv, inputs, outputs[0]);
}

}  // namespace

const OpSpec kQuantizedConv = {
    .name = "quantized_conv",
    .summary = "y = epilogue(bias + sum of x * (w + w_offset) in s32)",
    .inputs = {"x", "w", "bias", "w_offset?", "epilogue*"},
    .infer = infer_quantized_conv,
    .reference = reference_quantized_conv,
    .decode_attrs = decode_attrs_as<QuantizedConvAttrs>,
    .for_one_image = same_for_one_image,
    .is_integer = true,
    .epilogue = &kEndsInEpilogue<QuantizedConvAttrs, kConvOperands>,
    .relabelled = relabelled_x<QuantizedConvAttrs>,
    .depth = depth_of_weights,
};

template Attrs::Attrs(QuantizedConvAttrs);

}  // namespace octavo
