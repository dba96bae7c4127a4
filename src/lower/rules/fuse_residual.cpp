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
  if (attrs.epilogue.find<ScaleAndAdd>() != nullptr || attrs.epilogue.find<AddReal>() != nullptr ||
      !attrs.epilogue.has_bounds() || attrs.epilogue.find<AddInteger>() != nullptr)
    return "the convolution before it already ends in another operator";
  if (attrs.groups != 1) return "the convolution before it is a grouped one";
  if (other.is_constant() || other.shape != graph.fact(add.outputs[0]).shape ||
      other.shape != graph.fact(add.inputs[side]).shape)
    return "its operands differ in shape";
  const DType to = attrs.epilogue.to;
  if (to != add.attrs.as<QuantizedBinaryAttrs>().to || other.dtype != to) return "its operands differ in type";
  return {};
}

// What becomes of the operand of the addition on that side.
Epilogue addition(const QuantizedBinaryAttrs& binary, Side side) {
  if (binary.kind == QuantizedBinaryKind::integer_add) {
    IntegerAddForm form = binary.integer_add;
    if (side == Side::second) std::swap(form.a_multiplier, form.b_multiplier);
    return {{AddInteger{form, binary.lowest, binary.highest}}, binary.to};
  }
  const AddForm& add = binary.add;
  return {{AddReal{side, add.a_ratio, add.b_ratio, add.fixed, add.shift, add.shift},
           Round{.after = add.shift, .lowest = binary.lowest + add.shift, .highest = binary.highest + add.shift}},
          binary.to};
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
  attrs.epilogue = attrs.epilogue.appended(addition(binary, is_second ? Side::second : Side::first));
  Patch patch(graph);
  std::vector<ValueId> inputs = conv.inputs;
  inputs.push_back(node.inputs[1 - side]);
  patch.replace(node.outputs[0],
                patch.add(kQuantizedConv, std::move(attrs), std::move(inputs), conv.name, conv.origin));
  return patch;
}

}  // namespace octavo
