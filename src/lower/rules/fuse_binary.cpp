// Additions and products of quantized values. Part of lower/.
#include "lower/rules/fuse_binary.h"

#include "lower/quantized_value.h"
#include "ops/binary/binary.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"

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

struct BinaryOperands {
  BinaryKind kind;
  QuantType a, b;
  Quantized end;
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
bool is_fixed(const BinaryOperands& op) {
  return is_fixed_point(op.end.profile) || (op.end.profile == Profile::tflite_xnnpack && op.kind == BinaryKind::prelu);
}

std::vector<Stage> fixed_stages(const BinaryOperands& op, FixedBinaryKind kind) {
  const Profile profile = op.end.profile == Profile::tflite_single ? Profile::tflite_single : Profile::tflite_double;
  return {FixedBinary{FixedBinaryForm::of(kind, op.a.scale, op.b.scale, op.end.type.scale), profile, op.a.zero_point,
                      op.b.zero_point},
          op.end.rounding()};
}

std::variant<std::vector<Stage>, std::string> stages_of(const BinaryOperands& op) {
  const std::string name(name_of(op.kind));
  const auto fixed = fixed_kind(op.kind);
  if (is_fixed(op) && fixed) return fixed_stages(op, *fixed);
  const bool is_xnnpack = op.end.profile == Profile::tflite_xnnpack;
  if (is_fixed(op) ||
      (op.kind != BinaryKind::add && op.kind != BinaryKind::mul && !(is_xnnpack && op.kind == BinaryKind::sub)))
    return "there is no integer form of " + name + " of two quantized values";
  return is_xnnpack ? xnnpack_stages(op) : onnx_stages(op);
}

}  // namespace

Match fuse_binary(const Graph& graph, const Node& node) {
  if (node.spec != &kBinary) return std::string();
  const auto a = operand(graph, node.inputs[0]);
  const auto b = operand(graph, node.inputs[1]);
  if (!a || !b) return std::string("not both of its operands are quantized");
  const auto followed = follow_to_quantize(graph, node.outputs[0]);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  auto stages = stages_of({node.attrs.as<BinaryAttrs>().kind, a->type, b->type, end});
  if (auto* reason = std::get_if<std::string>(&stages)) return std::move(*reason);
  Patch patch(graph);
  const QuantizedElementwiseAttrs attrs{{std::get<std::vector<Stage>>(std::move(stages)), end.type.dtype}};
  const ValueId y = patch.add(kQuantizedElementwise, attrs, {a->q, b->q}, node.name, node.origin);
  patch.set_quant(y, end.type.params());
  patch.replace(end.y, y);
  return patch;
}

}  // namespace octavo
