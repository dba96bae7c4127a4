// Additions and products of quantized values. Part of lower/.
#include "lower/rules/fuse_binary.h"

#include "lower/quantized_value.h"
#include "ops/binary/binary.h"
#include "ops/quantized_binary/quantized_binary.h"

namespace octavo {
namespace {

// A dequantized operand; constants of a whole tensor are operands like others.
std::optional<Dequantized> operand(const Graph& graph, ValueId wire) {
  if (auto found = dequantized(graph, wire)) return found;
  const auto constant = quantized_constant(graph, wire);
  if (!constant || constant->scale.size() != 1 || !is_8bit(constant->q->dtype())) return std::nullopt;
  return Dequantized{graph.producer(wire)->inputs[0], {constant->q->dtype(), constant->scale[0], constant->zero_point[0]}};
}

bool is_onnx_like(Profile profile) { return profile == Profile::onnx || profile == Profile::tflite_xnnpack || profile == Profile::pt2e; }

}  // namespace

Match fuse_binary(const Graph& graph, const Node& node) {
  if (node.spec != &kBinary) return std::string();
  const BinaryKind kind = node.attrs.as<BinaryAttrs>().kind;
  const auto a = operand(graph, node.inputs[0]);
  const auto b = operand(graph, node.inputs[1]);
  if (!a || !b) return std::string("not both of its operands are quantized");
  if (kind != BinaryKind::add && kind != BinaryKind::mul)
    return "there is no integer form of " + std::string(name_of(kind)) + " of two quantized values";
  const auto followed = follow_to_quantize(graph, node.outputs[0]);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  const auto& end = std::get<Quantized>(followed);
  if (!is_onnx_like(end.profile))
    return "there is no integer form of " + std::string(name_of(kind)) + " for rounding profile " + std::string(name_of(end.profile));

  QuantizedBinaryAttrs attrs{.kind = kind == BinaryKind::add ? QuantizedBinaryKind::add : QuantizedBinaryKind::mul,
                             .to = end.type.dtype,
                             .lowest = end.lowest,
                             .highest = end.highest};
  if (kind == BinaryKind::add) {
    attrs.add = AddForm::of(a->type.scale, a->type.zero_point, b->type.scale, b->type.zero_point, end.type.scale, end.type.zero_point);
  } else {
    attrs.a_zero_point = a->type.zero_point;
    attrs.b_zero_point = b->type.zero_point;
    attrs.ratio = (a->type.scale * b->type.scale) / end.type.scale;
    attrs.zero_point = end.type.zero_point;
  }
  Patch patch(graph);
  const ValueId y = patch.add(kQuantizedBinary, attrs, {a->q, b->q}, node.name, node.origin);
  patch.set_quant(y, end.type.params());
  patch.replace(end.y, y);
  return patch;
}

}  // namespace octavo
