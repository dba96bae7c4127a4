// row_requantize: shape rule and reference. Part of ops/.
#include "ops/row_requantize/row_requantize.h"

#include <algorithm>
#include <cmath>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_row_requantize(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  const auto& given = attrs.as<RowRequantizeAttrs>();
  if (auto problem = first_of(
          {check_dtype("x", x, {DType::s16}), check_rank("x", x, 1, 64), check_scale("x_scale", given.x_scale)}))
    return *problem;
  if (const Fact* factor = fact_at(inputs, kRowFactor)) {
    if (given.is_gelu()) return shape_error("factor", "factors of GELU", "none: they are of x itself");
    if (auto problem = first_of({check_dtype("factor", *factor, {DType::f32}),
                                 check_shape("factor", *factor, {x.shape[x.shape.rank() - 1]})}))
      return *problem;
  }
  std::vector<Dim> rows = x.shape.to_vector();
  rows.pop_back();
  return std::vector<Fact>{{.dtype = DType::u8, .shape = x.shape},
                           {.dtype = DType::f32, .shape = OpenShape(rows)},
                           {.dtype = DType::u8, .shape = OpenShape(rows)}};
}

RunScale scale_of_row(const RowValues& values, const std::int16_t* x, std::int64_t n) {
  std::int32_t lowest = 0, highest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    lowest = std::min<std::int32_t>(lowest, x[i]);
    highest = std::max<std::int32_t>(highest, x[i]);
  }
  return row_scale(values, static_cast<float>(lowest), static_cast<float>(highest));
}

RunScale scale_of_products(const std::int16_t* x, const float* factor, std::int64_t n) {
  float lowest = 0.0f, highest = 0.0f;
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = static_cast<float>(x[i]) * factor[i];
    lowest = value < lowest ? value : lowest;
    highest = value > highest ? value : highest;
  }
  return RunScale::of(DynamicForm::xnnpack, lowest, highest);
}

void reference_row_requantize(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& given = attrs.as<RowRequantizeAttrs>();
  const RowValues values = given.values();
  const std::int64_t rows = outputs[1].shape.elements(), n = inputs[0].shape[inputs[0].shape.rank() - 1];
  const auto* x = inputs[0].as<std::int16_t>();
  const float* factor = has_view(inputs, kRowFactor) ? inputs[kRowFactor].as<float>() : nullptr;
  auto* y = outputs[0].as<std::uint8_t>();
  for (std::int64_t row = 0; row < rows; ++row, x += n) {
    const RunScale scale = factor != nullptr ? scale_of_products(x, factor, n) : scale_of_row(values, x, n);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto stored = static_cast<float>(x[i]);
      const float value = given.is_gelu() ? near_gelu<Lane>(values.gelu, stored)
                                          : stored * (factor != nullptr ? factor[i] : given.x_scale);
      const float shifted = std::fma(value, scale.inverse, static_cast<float>(scale.zero_point));
      *y++ = static_cast<std::uint8_t>(round_even(clamp_f32(shifted, 0.0f, 255.0f)));
    }
    outputs[1].as<float>()[row] = scale.scale;
    outputs[2].as<std::uint8_t>()[row] = static_cast<std::uint8_t>(scale.zero_point);
  }
}

}  // namespace

const OpSpec kRowRequantize = {
    .name = "row_requantize",
    .summary =
        "scale and zero_point from the lowest and highest value and 0 of each row, the last axis; y = quantize(f(x * "
        "x_scale), scale, zero_point), or of x * factor, u8, of s16",
    .inputs = {"x", "factor?"},
    .outputs = 3,
    .infer = infer_row_requantize,
    .reference = reference_row_requantize,
    .decode_attrs = decode_attrs_as<RowRequantizeAttrs>,
    .is_integer = true,
};

template Attrs::Attrs(RowRequantizeAttrs);

}  // namespace octavo
