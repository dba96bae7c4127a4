// row_quantize: shape rule and reference. Part of ops/.
#include "ops/row_quantize/row_quantize.h"

#include <cmath>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_row_quantize(const Attrs& attrs, InputFacts inputs) {
  const auto& [form, axis, least_scale] = attrs.as<RowQuantizeAttrs>();
  const Fact& x = *inputs[0];
  if (!std::isfinite(least_scale) || least_scale < 0.0f)
    return shape_error("least_scale", std::to_string(least_scale), "a finite number that is not negative");
  if (auto problem = first_of({check_dtype("x", x, {DType::f32}), check_range("axis", axis, 0, x.shape.rank())}))
    return *problem;
  std::vector<Dim> rows = x.shape.to_vector();
  rows.resize(static_cast<std::size_t>(axis));
  return std::vector<Fact>{{.dtype = DType::u8, .shape = x.shape},
                           {.dtype = DType::f32, .shape = OpenShape(rows)},
                           {.dtype = DType::u8, .shape = OpenShape(rows)}};
}

void reference_row_quantize(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& given = attrs.as<RowQuantizeAttrs>();
  const std::int64_t rows = outputs[1].shape.elements();
  const std::int64_t elements = inputs[0].shape.elements(static_cast<int>(given.axis), inputs[0].shape.rank());
  const float* x = inputs[0].as<float>();
  auto* y = outputs[0].as<std::uint8_t>();
  for (std::int64_t row = 0; row < rows; ++row, x += elements) {
    float lowest = 0.0f;
    float highest = 0.0f;
    for (std::int64_t i = 0; i < elements; ++i) {
      lowest = x[i] < lowest ? x[i] : lowest;
      highest = x[i] > highest ? x[i] : highest;
    }
    const RunScale scale = RunScale::of(given.form, lowest, highest, given.least_scale);
    for (std::int64_t i = 0; i < elements; ++i) *y++ = static_cast<std::uint8_t>(scale.quantize(x[i]));
    outputs[1].as<float>()[row] = scale.scale;
    outputs[2].as<std::uint8_t>()[row] = static_cast<std::uint8_t>(scale.zero_point);
  }
}

}  // namespace

const OpSpec kRowQuantize = {
    .name = "row_quantize",
    .summary =
        "scale and zero_point from the lowest and highest value and 0 of each row, all axes from `axis` on; y = "
        "quantize(x, scale, zero_point), u8",
    .inputs = {"x"},
    .outputs = 3,
    .infer = infer_row_quantize,
    .reference = reference_row_quantize,
    .decode_attrs = decode_attrs_as<RowQuantizeAttrs>,
    .elements = elements_are<Elements::converted>,
    .read_from = "TFLite CONV_2D; ATen choose_qparams",
    .integer_form = "itself, before hybrid_conv",
};

template Attrs::Attrs(RowQuantizeAttrs);

}  // namespace octavo
