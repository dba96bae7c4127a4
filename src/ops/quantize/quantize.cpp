// quantize: shape rule and reference. Part of ops/.
#include "ops/quantize/quantize.h"

#include "base/requantize.h"
#include "graph/attrs_of.h"
#include "ops/one_image.h"
#include "ops/scales.h"
#include "ops/traits.h"

namespace octavo {
namespace {

ScaleLayout quantize_layout_of(const QuantizeAttrs& attrs) { return {.axis = attrs.axis, .block = attrs.block}; }

IntegerRange range_of(const QuantizeAttrs& attrs) {
  if (attrs.lowest == 0 && attrs.highest == 0) return range_of(attrs.to);
  return {attrs.lowest, attrs.highest};
}

Problem check_range_of_type(const QuantizeAttrs& quantize) {
  const bool is_known = is_8bit(quantize.to) || quantize.to == DType::u16 || quantize.to == DType::s16;
  if (!is_known) return shape_error("to", std::string(name_of(quantize.to)), "u8, s8, u16 or s16");
  const IntegerRange type = range_of(quantize.to);
  const IntegerRange own = range_of(quantize);
  return first_of({check_range("lowest", own.lowest, type.lowest, type.highest),
                   check_range("highest", own.highest, own.lowest, type.highest)});
}

Result<std::vector<Fact>> infer_quantize(const Attrs& attrs, InputFacts inputs) {
  const auto& quantize = attrs.as<QuantizeAttrs>();
  const Fact& x = *inputs[0];
  const Fact& scale = *inputs[1];
  const Fact* zero_point = fact_at(inputs, 2);
  if (auto problem = check_range_of_type(quantize)) return *problem;
  const auto problem = first_of({check_dtype("x", x, {DType::f32, DType::f16, DType::s32}),
                                 check_dtype("scale", scale, {DType::f32, DType::f16}),
                                 check_scales(quantize_layout_of(quantize), x.shape, scale, zero_point)});
  if (problem) return *problem;
  if (zero_point != nullptr) {
    if (auto wrong = check_same_dtype("zero_point", *zero_point, quantize.to)) return *wrong;
  }
  return one_output(quantize.to, x.shape.to_vector(), known_quant(quantize_layout_of(quantize), scale, zero_point));
}

// x / scale in the type of the scale; f32 holds the exact quotient of two f16 well enough to round once more.
float scaled(Profile profile, DType scale_type, float x, float scale) {
  if (scale_type == DType::f16) return f16_to_f32(f32_to_f16(f16_to_f32(f32_to_f16(x)) / scale));
  return multiplies_by_inverse(profile) ? x * (1.0f / scale) : x / scale;
}

void reference_quantize(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  quantize_elements(attrs.as<QuantizeAttrs>(), inputs, outputs[0], 0, outputs[0].shape.elements());
}

}  // namespace

void quantize_elements(const QuantizeAttrs& quantize, InputViews inputs, const TensorView& y, std::int64_t begin,
                       std::int64_t end) {
  const ScaleLayout layout = quantize_layout_of(quantize);
  const IntegerRange range = range_of(quantize);
  const auto lowest = static_cast<std::int32_t>(range.lowest), highest = static_cast<std::int32_t>(range.highest);
  const bool is_away = rounds_away(quantize.profile) && inputs[1].dtype == DType::f32;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t s = layout.index_of(inputs[0].shape, i);
    const auto x = static_cast<float>(element_as_double(inputs[0], i));
    const auto scale = static_cast<float>(element_as_double(inputs[1], s));
    const auto zero_point = has_view(inputs, 2) ? static_cast<std::int32_t>(element_as_double(inputs[2], s)) : 0;
    store_double(y, i,
                 is_away ? quantize_value_away(x, scale, zero_point, lowest, highest)
                         : round_then_zero_point(scaled(quantize.profile, inputs[1].dtype, x, scale), zero_point,
                                                 lowest, highest));
  }
}

const OpSpec kQuantize = {
    .name = "quantize",
    .summary =
        "y = saturate(rne(x / scale) + zero_point); profiles pt2e and tflite-xnnpack: rne(x * (1/scale)); "
        "tflite-double and "
        "tflite-single: halves away from 0; per tensor, per axis or per block",
    .inputs = {"x", "scale", "zero_point?"},
    .infer = infer_quantize,
    .reference = reference_quantize,
    .decode_attrs = decode_attrs_as<QuantizeAttrs>,
    .for_one_image = same_for_one_image_along_axis<QuantizeAttrs>,
    .elements = elements_are<Elements::converted>,
    .pointwise = pointwise_per_tensor,
    .folds_at_import = true,
    .reordered = reordered_scales<QuantizeAttrs>,
    .read_from = "ONNX QuantizeLinear; TFLite QUANTIZE; ATen quantize_per_tensor",
    .integer_form = "table between 8-bit values; into the operator before",
};

template Attrs::Attrs(QuantizeAttrs);

}  // namespace octavo
