// hybrid_conv: shape rule and reference. Part of ops/.
#include "ops/hybrid_conv/hybrid_conv.h"

#include <algorithm>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

ConvShapes hybrid_conv_shapes_of(const HybridConvAttrs& conv) {
  return {.window = conv.window, .groups = conv.groups, .layout = Layout::channels_last};
}

Problem check_hybrid_conv_zero_points(const HybridConvAttrs& conv, const Fact& x, const Fact& zero) {
  if (auto wrong = check_dtype("x_zero_point", zero, {DType::u8})) return wrong;
  const Dim rows = zero.shape.elements(), images = x.shape[0], pixels = images * x.shape[1] * x.shape[2];
  if (is_same(rows, images) || is_one(rows) || (conv.is_pointwise() && is_same(rows, pixels))) return std::nullopt;
  return shape_error("x_zero_point", "shape " + zero.shape.to_string(),
                     "one element, one per image, or one per pixel of a window of one pixel");
}

// The epilogue scales as the run says.
Problem check_scale_in_run(const HybridConvAttrs& conv, InputFacts inputs, const OpenShape& rows) {
  const bool is_first =
      !conv.epilogue.stages.empty() && std::holds_alternative<ScaleInRun>(conv.epilogue.stages.front());
  if (!is_first) return shape_error("epilogue", "another first stage", "scale_in_run");
  return check_shape("x_scale", *inputs[kHybridXScale], rows);
}

Result<std::vector<Fact>> infer_hybrid_conv(const Attrs& attrs, InputFacts inputs) {
  const auto& conv = attrs.as<HybridConvAttrs>();
  const Fact& x = *inputs[kHybridX];
  const Fact& w = *inputs[kHybridW];
  auto wrong = first_of({check_dtype("x", x, {DType::u8}), check_rank("x", x, 4, 4), check_dtype("w", w, {DType::s8})});
  if (wrong) return *wrong;
  auto dims = conv_dims(hybrid_conv_shapes_of(conv), x.shape, w.shape);
  if (!dims) return std::move(dims).errors();
  if (!checked_elements(*dims)) return one_output(DType::f32, *std::move(dims));
  const Fact& zero = *inputs[kHybridXZero];
  if ((wrong = check_hybrid_conv_zero_points(conv, x, zero))) return *wrong;
  if (const Fact* offset = fact_at(inputs, kHybridOffset)) {
    wrong = first_of({check_dtype("w_offset", *offset, {DType::s32}), check_shape("w_offset", *offset, {w.shape[0]})});
    if (wrong) return *wrong;
  }
  const auto type =
      infer_epilogue(conv.epilogue, EpilogueInput::sum, operands_from(inputs, kHybridXScale), OpenShape(*dims));
  if (!type) return type.errors();
  if ((wrong = check_scale_in_run(conv, inputs, zero.shape))) return *wrong;
  return one_output(*type, *std::move(dims));
}

// (x - x_zero) * (w + w_offset), wrapping.
std::uint32_t hybrid_conv_dot(const std::uint8_t* x, std::int32_t x_zero, const std::int8_t* w, std::uint32_t w_offset,
                              std::int64_t count) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += static_cast<std::uint32_t>(x[i] - x_zero) * (static_cast<std::uint32_t>(w[i]) + w_offset);
  return sum;
}

void reference_hybrid_conv(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& conv = attrs.as<HybridConvAttrs>();
  const Image image = Image::of(inputs[kHybridX].shape, Layout::channels_last);
  const Image result = Image::of(outputs[0].shape, Layout::channels_last);
  const std::int64_t depth = inputs[kHybridW].shape[3], taps = conv.window.kernel[0] * conv.window.kernel[1];
  const std::int64_t channels_per_group = result.channels / conv.groups, rows = inputs[kHybridXZero].shape.elements();
  const std::int64_t results = result.batch * result.positions();
  const auto* w = inputs[kHybridW].as<std::int8_t>();
  const std::int32_t* offset = has_view(inputs, kHybridOffset) ? inputs[kHybridOffset].as<std::int32_t>() : nullptr;
  const EpilogueReference epilogue(conv.epilogue, operands_from(inputs, kHybridXScale), outputs[0]);
  TapLister lister(conv.window, image, result.sizes, TapLister::Outside::leave_out);
  for (std::int64_t at = 0; at < results; ++at) {
    const std::int64_t n = at / result.positions(), row = rows == 1 ? 0 : at / (results / rows);
    const std::int32_t x_zero = inputs[kHybridXZero].as<std::uint8_t>()[row];
    const std::vector<Tap>& inside = lister.at(at % result.positions());
    for (std::int64_t oc = 0; oc < result.channels; ++oc) {
      const std::uint8_t* x =
          inputs[kHybridX].as<std::uint8_t>() + n * image.batch_stride + oc / channels_per_group * depth;
      std::uint32_t acc = 0;
      for (const Tap& tap : inside) {
        acc += hybrid_conv_dot(x + tap.image, x_zero, w + (oc * taps + tap.kernel) * depth,
                               offset == nullptr ? 0u : static_cast<std::uint32_t>(offset[oc]), depth);
      }
      epilogue.store(at * result.channels + oc, static_cast<std::int32_t>(acc));
    }
  }
}

}  // namespace

bool HybridConvAttrs::is_pointwise() const {
  const auto all = [](const auto& list, std::int64_t value) {
    return std::all_of(list.begin(), list.end(), [&](const auto& entry) { return entry == value; });
  };
  return all(window.kernel, 1) && all(window.strides, 1) && all(window.pad_begin, 0) && all(window.pad_end, 0);
}

const OpSpec kHybridConv = {
    .name = "hybrid_conv",
    .summary =
        "y = epilogue(sum (x - x_zero_point) * (w + w_offset)), scales and zero points of x known in the run; channels "
        "last",
    .inputs = {"x", "w", "x_zero_point", "w_offset?", "epilogue*"},
    .infer = infer_hybrid_conv,
    .reference = reference_hybrid_conv,
    .decode_attrs = decode_attrs_as<HybridConvAttrs>,
    .is_integer = true,
    .epilogue = &kEndsInEpilogue<HybridConvAttrs, kHybridXScale>,
    .depth = depth_of_weights,
    .read_from = "TFLite CONV_2D",
};

template Attrs::Attrs(HybridConvAttrs);

}  // namespace octavo
