// quantized_binary: shape rule and reference. Part of ops/.
#include "ops/quantized_binary/quantized_binary.h"

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/integers.h"
#include "ops/one_image.h"

namespace octavo {
namespace {

Problem check_formula(const QuantizedBinaryAttrs& op, const Fact& a, const Fact& b) {
  if (op.kind == QuantizedBinaryKind::add) {
    return first_of({check_finite("add.a_ratio", op.add.a_ratio), check_finite("add.b_ratio", op.add.b_ratio),
                     check_finite("add.fixed", op.add.fixed)});
  }
  if (op.kind == QuantizedBinaryKind::integer_add) return check_integer_add(op.integer_add);
  const IntegerRange a_range = range_of(a.dtype);
  const IntegerRange b_range = range_of(b.dtype);
  return first_of({check_range("a_zero_point", op.a_zero_point, a_range.lowest, a_range.highest),
                   check_range("b_zero_point", op.b_zero_point, b_range.lowest, b_range.highest),
                   check_finite("ratio", op.ratio)});
}

Problem check_result(const QuantizedBinaryAttrs& op) {
  const bool is_mul = op.kind == QuantizedBinaryKind::mul;
  return check_clamp({.to = op.to,
                      .zero_point = is_mul ? op.zero_point : op.lowest,
                      .lowest = op.lowest,
                      .highest = op.highest,
                      .shift = is_mul ? op.shift : (op.kind == QuantizedBinaryKind::add ? op.add.shift : 0)});
}

Result<std::vector<Fact>> infer_quantized_binary(const Attrs& attrs, InputFacts inputs) {
  const auto& op = attrs.as<QuantizedBinaryAttrs>();
  const Fact& a = *inputs[0];
  const Fact& b = *inputs[1];
  const Fact* table = fact_at(inputs, 2);
  if (auto problem =
          first_of({check_dtype("a", a, {DType::u8, DType::s8}), check_dtype("b", b, {DType::u8, DType::s8})}))
    return *problem;
  if (auto problem = check_result(op)) return *problem;
  if (auto problem = check_formula(op, a, b)) return *problem;
  if (table != nullptr) {
    if (auto problem = check_table(*table, {DType::u8, DType::s8})) return *problem;
  }
  const auto shape = broadcast(a.shape, b.shape);
  if (!shape)
    return shape_error("b", "shape " + b.shape.to_string(), "one that broadcasts with " + a.shape.to_string());
  return one_output(table != nullptr ? table->dtype : op.to, shape->to_vector());
}

std::int32_t combine(const QuantizedBinaryAttrs& op, std::int32_t a, std::int32_t b) {
  if (op.kind == QuantizedBinaryKind::add) return op.add.apply(a, b, op.lowest, op.highest);
  if (op.kind == QuantizedBinaryKind::integer_add) return op.integer_add.apply(a, b, op.lowest, op.highest);
  return multiply_value(a - op.a_zero_point, b - op.b_zero_point, op.ratio, op.zero_point, op.lowest, op.highest) +
         op.shift;
}

// For each axis of the result how far one step moves in the operand: 0 where it broadcasts.
std::vector<std::int64_t> broadcast_strides(const Shape& operand, const Shape& result) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(result.rank()), 0);
  std::int64_t stride = 1;
  for (int back = 1; back <= operand.rank(); ++back) {
    const std::int64_t size = operand[operand.rank() - back];
    if (size != 1) strides[static_cast<std::size_t>(result.rank() - back)] = stride;
    stride *= size;
  }
  return strides;
}

void reference_quantized_binary(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& op = attrs.as<QuantizedBinaryAttrs>();
  const Shape& shape = outputs[0].shape;
  const auto a_strides = broadcast_strides(inputs[0].shape, shape);
  const auto b_strides = broadcast_strides(inputs[1].shape, shape);
  const std::byte* table = has_view(inputs, 2) ? inputs[2].data : nullptr;
  const std::int64_t count = shape.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, a_at = 0, b_at = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const std::int64_t index = rest % shape[axis];
      rest /= shape[axis];
      a_at += index * a_strides[static_cast<std::size_t>(axis)];
      b_at += index * b_strides[static_cast<std::size_t>(axis)];
    }
    const std::int32_t q =
        combine(op, load_8bit(inputs[0].data, inputs[0].dtype, a_at), load_8bit(inputs[1].data, inputs[1].dtype, b_at));
    store_8bit(outputs[0].data, i, q);
    if (table != nullptr) outputs[0].data[i] = table[q & 0xff];
  }
}

}  // namespace

const OpSpec kQuantizedBinary = {
    .name = "quantized_binary",
    .summary =
        "y = table[a + b] or table[a * b] on quantized values with one rounding (AddForm::apply, "
        "IntegerAddForm::apply, multiply_value), numpy "
        "broadcasting",
    .inputs = {"a", "b", "table?"},
    .infer = infer_quantized_binary,
    .reference = reference_quantized_binary,
    .decode_attrs = decode_attrs_as<QuantizedBinaryAttrs>,
    .for_one_image = same_for_one_image,
    .is_integer = true,
};

template Attrs::Attrs(QuantizedBinaryAttrs);

}  // namespace octavo
