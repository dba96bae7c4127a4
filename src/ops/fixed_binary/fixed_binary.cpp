// fixed_binary: shape rule and reference. Part of ops/.
#include "ops/fixed_binary/fixed_binary.h"

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/integers.h"
#include "ops/movement.h"
#include "ops/one_image.h"

namespace octavo {
namespace {

Problem check_form(const FixedBinaryForm& form) {
  if (form.is_valid()) return std::nullopt;
  return shape_error("form", print(form), "multipliers from 0 on and shifts from -31 to 30");
}

Problem check_zero_points(const FixedBinaryAttrs& op, const Fact& a, const Fact& b) {
  const IntegerRange a_range = range_of(a.dtype);
  const IntegerRange b_range = range_of(b.dtype);
  return first_of({check_range("a_zero_point", op.a_zero_point, a_range.lowest, a_range.highest),
                   check_range("b_zero_point", op.b_zero_point, b_range.lowest, b_range.highest)});
}

Result<std::vector<Fact>> infer_fixed_binary(const Attrs& attrs, InputFacts inputs) {
  const auto& op = attrs.as<FixedBinaryAttrs>();
  const Fact& a = *inputs[0];
  const Fact& b = *inputs[1];
  if (auto problem =
          first_of({check_dtype("a", a, {DType::u8, DType::s8}), check_dtype("b", b, {DType::u8, DType::s8})}))
    return *problem;
  if (auto problem = first_of(
          {check_fixed_profile(op.profile), check_form(op.form), check_zero_points(op, a, b),
           check_clamp({.to = op.to, .zero_point = op.zero_point, .lowest = op.lowest, .highest = op.highest})})) {
    return *problem;
  }
  const auto shape = broadcast(a.shape, b.shape);
  if (!shape)
    return shape_error("b", "shape " + b.shape.to_string(), "one that broadcasts with " + a.shape.to_string());
  return one_output(op.to, shape->to_vector());
}

void reference_fixed_binary(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& op = attrs.as<FixedBinaryAttrs>();
  const Shape& y = outputs[0].shape;
  std::vector<std::int64_t> offsets;
  for_each_offset(y, broadcast_strides(inputs[0].shape, y), 0, [&](std::int64_t offset) { offsets.push_back(offset); });
  std::size_t i = 0;
  for_each_offset(y, broadcast_strides(inputs[1].shape, y), 0, [&](std::int64_t offset) {
    const std::int32_t a = load_8bit(inputs[0].data, inputs[0].dtype, offsets[i]);
    store_8bit(outputs[0].data, static_cast<std::int64_t>(i++),
               op.apply(a, load_8bit(inputs[1].data, inputs[1].dtype, offset)));
  });
}

}  // namespace

const OpSpec kFixedBinary = {
    .name = "fixed_binary",
    .summary =
        "y = a + b, a - b, a * b or prelu(a, b) on quantized values in fixed point (FixedBinaryForm::apply), numpy "
        "broadcasting",
    .inputs = {"a", "b"},
    .infer = infer_fixed_binary,
    .reference = reference_fixed_binary,
    .decode_attrs = decode_attrs_as<FixedBinaryAttrs>,
    .for_one_image = same_for_one_image,
    .is_integer = true,
};

template Attrs::Attrs(FixedBinaryAttrs);

}  // namespace octavo
