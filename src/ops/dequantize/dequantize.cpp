// dequantize: shape rule and reference. Part of ops/.
#include "ops/dequantize/dequantize.h"

#include "graph/attrs_of.h"
#include "ops/one_image.h"
#include "ops/scales.h"
#include "ops/traits.h"

namespace octavo {
namespace {

ScaleLayout dequantize_layout_of(const DequantizeAttrs& attrs) { return {.axis = attrs.axis, .block = attrs.block}; }

Result<std::vector<Fact>> infer_dequantize(const Attrs& attrs, InputFacts inputs) {
  const auto& dequantize = attrs.as<DequantizeAttrs>();
  const Fact& x = *inputs[0];
  const Fact& scale = *inputs[1];
  const Fact* zero_point = fact_at(inputs, 2);
  if (dequantize.to != DType::f32 && dequantize.to != DType::f16)
    return shape_error("to", std::string(name_of(dequantize.to)), "f32 or f16");
  const auto problem =
      first_of({check_dtype("x", x, {DType::u8, DType::s8, DType::u16, DType::s16, DType::s32, DType::s64}),
                check_dtype("scale", scale, {DType::f32, DType::f16}),
                check_scales(dequantize_layout_of(dequantize), x.shape, scale, zero_point)});
  if (problem) return *problem;
  if (zero_point != nullptr) {
    if (auto wrong = check_same_dtype("zero_point", *zero_point, x.dtype)) return *wrong;
  }
  return one_output(dequantize.to, x.shape.to_vector());
}

void reference_dequantize(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  dequantize_elements(attrs.as<DequantizeAttrs>(), inputs, outputs[0], 0, outputs[0].shape.elements());
}

}  // namespace

void dequantize_elements(const DequantizeAttrs& dequantize, InputViews inputs, const TensorView& y, std::int64_t begin,
                         std::int64_t end) {
  const ScaleLayout layout = dequantize_layout_of(dequantize);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t s = layout.index_of(inputs[0].shape, i);
    const double zero_point = has_view(inputs, 2) ? element_as_double(inputs[2], s) : 0.0;
    const auto difference = static_cast<std::int64_t>(element_as_double(inputs[0], i) - zero_point);
    // One f32 product, then one rounding more where the result is f16.
    store_double(y, i, static_cast<float>(difference) * static_cast<float>(element_as_double(inputs[1], s)));
  }
}

const OpSpec kDequantize = {
    .name = "dequantize",
    .summary = "y = (x - zero_point) * scale, in f32; per tensor, per axis or per block",
    .inputs = {"x", "scale", "zero_point?"},
    .infer = infer_dequantize,
    .reference = reference_dequantize,
    .decode_attrs = decode_attrs_as<DequantizeAttrs>,
    .for_one_image = same_for_one_image_along_axis<DequantizeAttrs>,
    .elements = elements_are<Elements::converted>,
    .pointwise = pointwise_per_tensor,
    .reordered = reordered_scales<DequantizeAttrs>,
    .read_from = "ONNX DequantizeLinear; TFLite DEQUANTIZE; ATen dequantize_per_tensor",
    .integer_form = "into the operator after",
};

template Attrs::Attrs(DequantizeAttrs);

}  // namespace octavo
