// An addition joins the convolution before it. Part of lower/.
#include "lower/rules/fuse_residual.h"

#include <algorithm>
#include <utility>

#include "lower/quantized_value.h"
#include "ops/quantized_binary/quantized_binary.h"
#include "ops/quantized_conv/quantized_conv.h"

namespace octavo {
namespace {

// Empty where the convolution can take the addition in.
std::string refusal(const Graph& graph, const Node& add, std::size_t side) {
  const Node* conv = graph.producer_if(add.inputs[side], kQuantizedConv);
  if (conv == nullptr) return "no operand comes from a convolution";
  const auto& attrs = conv->attrs.as<QuantizedConvAttrs>();
  const Fact& other = graph.fact(add.inputs[1 - side]);
  if (!graph.has_one_reader(add.inputs[side])) return "the convolution before it has several readers";
  const bool has_table = conv->inputs.size() > kConvTable && conv->inputs[kConvTable].exists();
  if (attrs.residual != Residual::none || has_table)
    return "the convolution before it already ends in another operator";
  if (attrs.groups != 1) return "the convolution before it is a grouped one";
  if (other.is_constant() || other.shape != graph.fact(add.outputs[0]).shape ||
      other.shape != graph.fact(add.inputs[side]).shape)
    return "its operands differ in shape";
  if (attrs.to != add.attrs.as<QuantizedBinaryAttrs>().to || other.dtype != attrs.to)
    return "its operands differ in type";
  return {};
}

IntegerAddForm with_sides_swapped(IntegerAddForm form) {
  std::swap(form.a_multiplier, form.b_multiplier);
  return form;
}

std::int64_t work_of(const Graph& graph, const Node& add, std::size_t side) {
  return graph.fact(graph.producer(add.inputs[side])->inputs[1]).shape.elements();
}

}  // namespace

Match fuse_residual(const Graph& graph, const Node& node) {
  if (node.spec != &kQuantizedBinary || node.attrs.as<QuantizedBinaryAttrs>().kind == QuantizedBinaryKind::mul ||
      node.inputs.size() > 2)
    return std::string();
  const std::string first = refusal(graph, node, 0);
  const std::string second = refusal(graph, node, 1);
  if (!first.empty() && !second.empty()) return first;
  // Where both sides could, the one with more weights: its own work hides the addition better.
  const bool is_second = !first.empty() || (second.empty() && work_of(graph, node, 1) > work_of(graph, node, 0));
  const std::size_t side = is_second ? 1 : 0;
  const Node& conv = *graph.producer(node.inputs[side]);
  const auto& binary = node.attrs.as<QuantizedBinaryAttrs>();
  auto attrs = conv.attrs.as<QuantizedConvAttrs>();
  attrs.residual = is_second ? Residual::after_rounding_conv_second : Residual::after_rounding_conv_first;
  attrs.add = binary.add;
  if (binary.kind == QuantizedBinaryKind::integer_add) {
    attrs.residual = Residual::after_rounding_integer;
    attrs.integer_add = is_second ? with_sides_swapped(binary.integer_add) : binary.integer_add;
  }
  attrs.add_lowest = binary.lowest;
  attrs.add_highest = binary.highest;
  Patch patch(graph);
  std::vector<ValueId> inputs = conv.inputs;
  inputs.resize(std::max<std::size_t>(inputs.size(), kConvResidual + 1));
  inputs[kConvResidual] = node.inputs[1 - side];
  patch.replace(node.outputs[0],
                patch.add(kQuantizedConv, std::move(attrs), std::move(inputs), conv.name, conv.origin));
  return patch;
}

}  // namespace octavo
