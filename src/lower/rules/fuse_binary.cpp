// Additions and products of quantized values. Part of lower/.
#include "lower/rules/fuse_binary.h"

#include <algorithm>
#include <iterator>

#include "lower/quantized_value.h"
#include "ops/binary/binary.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"

namespace octavo {
namespace {

struct BinaryOperands {
  BinaryKind kind;
  QuantType a, b;
  Quantized end;
  bool is_squared_difference = false;
};

// `zero_point` is that of y where it comes before the rounding.
std::vector<Stage> product(const BinaryOperands& op, std::int32_t zero_point, const Round& round) {
  return {Multiply{op.a.zero_point, op.b.zero_point},
          Affine{(op.a.scale * op.b.scale) / op.end.type.scale, static_cast<float>(zero_point)}, round};
}

std::vector<Stage> onnx_stages(const BinaryOperands& op) {
  const QuantType& y = op.end.type;
  const Round round{.lowest = op.end.lowest, .highest = op.end.highest};
  if (op.kind == BinaryKind::mul) return product(op, y.zero_point, round);
  const AddForm form = AddForm::of(op.a.scale, op.a.zero_point, op.b.scale, op.b.zero_point, y.scale, y.zero_point);
  return {AddReal{Side::first, form.a_ratio, form.b_ratio, form.fixed}, round};
}

// Additions and subtractions in integers; products add the zero point after the rounding.
std::variant<std::vector<Stage>, std::string> xnnpack_stages(const BinaryOperands& op) {
  const QuantType& y = op.end.type;
  if (op.kind == BinaryKind::mul) return product(op, 0, op.end.rounding());
  if (!IntegerAddForm::is_ratio(op.a.scale / y.scale) || !IntegerAddForm::is_ratio(op.b.scale / y.scale)) {
    return std::string("a scale of its operands is more than 256 times or less than 1/1024 of its result's");
  }
  const int sign = op.kind == BinaryKind::sub ? -1 : 1;
  return std::vector<Stage>{AddInteger{
      IntegerAddForm::of(op.a.scale, op.a.zero_point, op.b.scale, op.b.zero_point, y.scale, y.zero_point, sign),
      op.end.lowest, op.end.highest}};
}

std::optional<FixedBinaryKind> fixed_kind(const BinaryOperands& op) {
  if (op.is_squared_difference) return FixedBinaryKind::squared_difference;
  switch (op.kind) {
    case BinaryKind::add: return FixedBinaryKind::add;
    case BinaryKind::sub: return FixedBinaryKind::sub;
    case BinaryKind::mul: return FixedBinaryKind::mul;
    case BinaryKind::div: return FixedBinaryKind::div;
    case BinaryKind::prelu: return FixedBinaryKind::prelu;
    default: return std::nullopt;
  }
}

std::vector<Stage> fixed_stages(const BinaryOperands& op, FixedBinaryKind kind) {
  const int headroom = op.end.type.dtype == DType::s16 ? FixedBinaryForm::kHeadroomOfS16 : FixedBinaryForm::kHeadroom;
  return {FixedBinary{FixedBinaryForm::of(kind, op.a.scale, op.b.scale, op.end.type.scale, headroom), op.end.profile,
                      op.a.zero_point, op.b.zero_point},
          op.end.rounding()};
}

// Sums, differences and products of s16 values are in fixed point alone, and without zero points.
std::string s16_refusal(const BinaryOperands& op) {
  const QuantType* types[] = {&op.a, &op.b, &op.end.type};
  const auto is_s16 = [](const QuantType* type) { return type->dtype == DType::s16; };
  if (std::none_of(std::begin(types), std::end(types), is_s16)) return {};
  const auto is_symmetric = [](const QuantType* type) { return type->zero_point == 0; };
  if (!std::all_of(std::begin(types), std::end(types), is_s16) ||
      !std::all_of(std::begin(types), std::end(types), is_symmetric))
    return "not all of its operands and its result are s16 without zero points";
  const bool is_fixed = op.end.profile == Profile::tflite_double || op.end.profile == Profile::tflite_single;
  const bool is_known = op.kind == BinaryKind::add || op.kind == BinaryKind::sub || op.kind == BinaryKind::mul ||
                        op.kind == BinaryKind::div;
  return is_fixed && is_known && !op.is_squared_difference
             ? ""
             : "there is no integer form of " + std::string(name_of(op.kind)) + " of two s16 values";
}

std::variant<std::vector<Stage>, std::string> stages_of(const BinaryOperands& op) {
  const std::string name(name_of(op.kind));
  const auto fixed = fixed_kind(op);
  const bool is_fixed = op.end.profile == Profile::tflite_double || op.end.profile == Profile::tflite_single;
  if (is_fixed && fixed) return fixed_stages(op, *fixed);
  const bool is_xnnpack = op.end.profile == Profile::tflite_xnnpack;
  if (rounds_away(op.end.profile) || op.is_squared_difference ||
      (op.kind != BinaryKind::add && op.kind != BinaryKind::mul && !(is_xnnpack && op.kind == BinaryKind::sub)))
    return "there is no integer form of " + name + " of two quantized values";
  return is_xnnpack ? xnnpack_stages(op) : onnx_stages(op);
}

// What an operator computes of two values: one node, or the product of a difference with itself.
struct BinarySource {
  BinaryKind kind;
  ValueId a, b;
  bool is_squared_difference = false;
};
BinarySource binary_source(const Graph& graph, const Node& node) {
  const BinaryKind kind = node.attrs.as<BinaryAttrs>().kind;
  const Node* difference = kind == BinaryKind::mul && node.inputs[0] == node.inputs[1]
                               ? graph.producer_if(node.inputs[0], kBinary)
                               : nullptr;
  if (difference == nullptr || difference->attrs.as<BinaryAttrs>().kind != BinaryKind::sub)
    return {kind, node.inputs[0], node.inputs[1]};
  return {kind, difference->inputs[0], difference->inputs[1], true};
}

}  // namespace

Match fuse_binary(const Graph& graph, const Node& node) {
  if (node.spec != &kBinary) return std::string();
  const BinarySource source = binary_source(graph, node);
  const auto a = quantized_operand(graph, source.a, Stored::bytes_or_s16),
             b = quantized_operand(graph, source.b, Stored::bytes_or_s16);
  if (!a || !b) return std::string("not both of its operands are quantized");
  const auto followed = follow_to_quantize(graph, node.outputs[0], Stored::bytes_or_s16);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  const BinaryOperands operands{source.kind, a->type, b->type, end, source.is_squared_difference};
  if (std::string refusal = s16_refusal(operands); !refusal.empty()) return refusal;
  auto stages = stages_of(operands);
  if (auto* reason = std::get_if<std::string>(&stages)) return std::move(*reason);
  Patch patch(graph);
  const QuantizedElementwiseAttrs attrs{{std::get<std::vector<Stage>>(std::move(stages)), end.type.dtype}};
  const ValueId y = patch.add(kQuantizedElementwise, attrs, {a->q, b->q}, node.name, node.origin);
  patch.set_quant(y, end.type.params());
  patch.replace(end.y, y);
  return patch;
}

}  // namespace octavo
