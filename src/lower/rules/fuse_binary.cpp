// Additions and products of quantized values. Part of lower/.
#include "lower/rules/fuse_binary.h"

#include "lower/quantized_value.h"
#include "ops/binary/binary.h"
#include "ops/fixed_binary/fixed_binary.h"
#include "ops/quantized_binary/quantized_binary.h"

namespace octavo {
namespace {

// A dequantized operand; constants of a whole tensor are operands like others.
std::optional<Dequantized> operand(const Graph& graph, ValueId wire) {
  if (auto found = dequantized(graph, wire)) return found;
  const auto constant = quantized_constant(graph, wire);
  if (!constant || constant->scale.size() != 1 || !is_8bit(constant->q->dtype())) return std::nullopt;
  return Dequantized{graph.producer(wire)->inputs[0],
                     {constant->q->dtype(), constant->scale[0], constant->zero_point[0]}};
}

struct Operands {
  BinaryKind kind;
  QuantType a, b;
  Quantized end;
};

QuantizedBinaryAttrs clamped_attrs(const Quantized& end) {
  return {.to = end.type.dtype, .lowest = end.lowest, .highest = end.highest};
}

QuantizedBinaryAttrs onnx_attrs(const Operands& op) {
  QuantizedBinaryAttrs attrs = clamped_attrs(op.end);
  attrs.kind = op.kind == BinaryKind::add ? QuantizedBinaryKind::add : QuantizedBinaryKind::mul;
  if (op.kind == BinaryKind::add) {
    attrs.add = AddForm::of(op.a.scale, op.a.zero_point, op.b.scale, op.b.zero_point, op.end.type.scale,
                            op.end.type.zero_point);
  } else {
    attrs.a_zero_point = op.a.zero_point;
    attrs.b_zero_point = op.b.zero_point;
    attrs.ratio = (op.a.scale * op.b.scale) / op.end.type.scale;
    attrs.zero_point = op.end.type.zero_point;
  }
  return attrs;
}

// Additions and subtractions in integers; products add the zero point after the rounding.
std::variant<QuantizedBinaryAttrs, std::string> xnnpack_attrs(const Operands& op) {
  const QuantType& y = op.end.type;
  if (op.kind == BinaryKind::mul) {
    QuantizedBinaryAttrs attrs = onnx_attrs(op);
    attrs.shift = y.zero_point;
    attrs.zero_point = 0;
    attrs.lowest -= y.zero_point;
    attrs.highest -= y.zero_point;
    return attrs;
  }
  if (!IntegerAddForm::is_ratio(op.a.scale / y.scale) || !IntegerAddForm::is_ratio(op.b.scale / y.scale)) {
    return std::string("a scale of its operands is more than 256 times or less than 1/1024 of its result's");
  }
  QuantizedBinaryAttrs attrs = clamped_attrs(op.end);
  attrs.kind = QuantizedBinaryKind::integer_add;
  const int sign = op.kind == BinaryKind::sub ? -1 : 1;
  attrs.integer_add =
      IntegerAddForm::of(op.a.scale, op.a.zero_point, op.b.scale, op.b.zero_point, y.scale, y.zero_point, sign);
  return attrs;
}

std::optional<FixedBinaryKind> fixed_kind(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::add: return FixedBinaryKind::add;
    case BinaryKind::sub: return FixedBinaryKind::sub;
    case BinaryKind::mul: return FixedBinaryKind::mul;
    case BinaryKind::prelu: return FixedBinaryKind::prelu;
    default: return std::nullopt;
  }
}

// LiteRT's own PRELU is that of its reference kernels; XNNPACK does not take it.
bool is_fixed(const Operands& op) {
  return is_fixed_point(op.end.profile) || (op.end.profile == Profile::tflite_xnnpack && op.kind == BinaryKind::prelu);
}

std::optional<FixedBinaryAttrs> fixed_attrs(const Operands& op) {
  const auto kind = fixed_kind(op.kind);
  if (!kind) return std::nullopt;
  return FixedBinaryAttrs{
      .form = FixedBinaryForm::of(*kind, op.a.scale, op.b.scale, op.end.type.scale),
      .to = op.end.type.dtype,
      .profile = op.end.profile == Profile::tflite_single ? Profile::tflite_single : Profile::tflite_double,
      .a_zero_point = op.a.zero_point,
      .b_zero_point = op.b.zero_point,
      .zero_point = op.end.type.zero_point,
      .lowest = op.end.lowest,
      .highest = op.end.highest};
}

std::variant<QuantizedBinaryAttrs, std::string> attrs_of(const Operands& op) {
  const bool is_xnnpack = op.end.profile == Profile::tflite_xnnpack;
  if (op.kind != BinaryKind::add && op.kind != BinaryKind::mul && !(is_xnnpack && op.kind == BinaryKind::sub))
    return "there is no integer form of " + std::string(name_of(op.kind)) + " of two quantized values";
  if (is_xnnpack) return xnnpack_attrs(op);
  if (op.end.profile == Profile::onnx || op.end.profile == Profile::pt2e) return onnx_attrs(op);
  return "there is no integer form of " + std::string(name_of(op.kind)) + " for rounding profile " +
         std::string(name_of(op.end.profile));
}

}  // namespace

Match fuse_binary(const Graph& graph, const Node& node) {
  if (node.spec != &kBinary) return std::string();
  const BinaryKind kind = node.attrs.as<BinaryAttrs>().kind;
  const auto a = operand(graph, node.inputs[0]);
  const auto b = operand(graph, node.inputs[1]);
  if (!a || !b) return std::string("not both of its operands are quantized");
  const auto followed = follow_to_quantize(graph, node.outputs[0]);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  const Operands operands{kind, a->type, b->type, end};
  Patch patch(graph);
  if (is_fixed(operands)) {
    const auto fixed = fixed_attrs(operands);
    if (!fixed) return "there is no integer form of " + std::string(name_of(kind)) + " of two quantized values";
    const ValueId y = patch.add(kFixedBinary, *fixed, {a->q, b->q}, node.name, node.origin);
    patch.set_quant(y, end.type.params());
    patch.replace(end.y, y);
    return patch;
  }
  auto attrs = attrs_of(operands);
  if (auto* reason = std::get_if<std::string>(&attrs)) return std::move(*reason);
  const ValueId y =
      patch.add(kQuantizedBinary, std::get<QuantizedBinaryAttrs>(attrs), {a->q, b->q}, node.name, node.origin);
  patch.set_quant(y, end.type.params());
  patch.replace(end.y, y);
  return patch;
}

}  // namespace octavo
