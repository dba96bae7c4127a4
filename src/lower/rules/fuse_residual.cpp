// An addition joins the convolution before it. Part of lower/.
#include "lower/rules/fuse_residual.h"

#include <algorithm>
#include <utility>

#include "lower/quantized_value.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"

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
  if (to != add.attrs.as<QuantizedElementwiseAttrs>().epilogue.to || other.dtype != to)
    return "its operands differ in type";
  return {};
}

bool is_addition(const Node& node) {
  if (node.spec != &kQuantizedElementwise) return false;
  const std::vector<Stage>& stages = node.attrs.as<QuantizedElementwiseAttrs>().epilogue.stages;
  return (stages.size() == 1 && std::holds_alternative<AddInteger>(stages[0])) ||
         (stages.size() == 2 && std::holds_alternative<AddReal>(stages[0]));
}

// The addition as its second operand meets it.
Epilogue of_second(Epilogue addition) {
  if (auto* add = std::get_if<AddInteger>(&addition.stages[0])) {
    std::swap(add->form.a_multiplier, add->form.b_multiplier);
  } else {
    auto& real = std::get<AddReal>(addition.stages[0]);
    real.side = real.side == Side::first ? Side::second : Side::first;
    std::swap(real.value_shift, real.other_shift);
  }
  return addition;
}

std::int64_t work_of(const Graph& graph, const Node& add, std::size_t side) {
  return graph.fact(graph.producer(add.inputs[side])->inputs[1]).shape.elements();
}

}  // namespace

Match fuse_residual(const Graph& graph, const Node& node) {
  if (!is_addition(node)) return std::string();
  const std::string first = refusal(graph, node, 0);
  const std::string second = refusal(graph, node, 1);
  if (!first.empty() && !second.empty()) return first;
  // Where both sides could, the one with more weights: its own work hides the addition better.
  const bool is_second = !first.empty() || (second.empty() && work_of(graph, node, 1) > work_of(graph, node, 0));
  const std::size_t side = is_second ? 1 : 0;
  const Node& conv = *graph.producer(node.inputs[side]);
  const auto& addition = node.attrs.as<QuantizedElementwiseAttrs>().epilogue;
  auto attrs = conv.attrs.as<QuantizedConvAttrs>();
  attrs.epilogue = attrs.epilogue.appended(is_second ? of_second(addition) : addition);
  Patch patch(graph);
  std::vector<ValueId> inputs = conv.inputs;
  inputs.push_back(node.inputs[1 - side]);
  patch.replace(node.outputs[0],
                patch.add(kQuantizedConv, std::move(attrs), std::move(inputs), conv.name, conv.origin));
  return patch;
}

}  // namespace octavo
