// Functions of pictures, channel by channel. Part of lower/.
#include "lower/rules/channel_tables.h"

#include <algorithm>
#include <cstring>

#include "ops/channel_table/channel_table.h"
#include "ops/evaluate.h"
#include "ops/table/table.h"

namespace octavo {
namespace {

// Its entries, where they are known.
const Tensor* entries(const Graph& graph, const Node& node) {
  return node.spec == &kChannelTable ? graph.fact(node.inputs[1]).constant.get() : nullptr;
}

// The channel_table of known entries that makes its first input.
const Node* table_before(const Graph& graph, const Node& node) {
  const Node* before = node.inputs.empty() || !node.inputs[0].exists() ? nullptr : graph.producer(node.inputs[0]);
  return before != nullptr && entries(graph, *before) != nullptr ? before : nullptr;
}

bool is_function_of_x(const Graph& graph, const Node& node) {
  if (node.spec->pointwise == nullptr || node.spec->pointwise(node.attrs, graph.input_facts(node)) != 1) return false;
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](ValueId input) { return !input.exists() || graph.fact(input).is_constant(); });
}

}  // namespace

Match into_channel_table(const Graph& graph, const Node& node) {
  const Node* before = table_before(graph, node);
  if (before == nullptr || !is_function_of_x(graph, node)) return std::string();
  std::vector<ConstTensorView> inputs = {entries(graph, *before)->view()};
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    inputs.push_back(node.inputs[i].exists() ? graph.fact(node.inputs[i]).constant->view() : ConstTensorView{});
  auto values = evaluate_op(*node.spec, node.attrs, inputs);
  if (!values) return to_string(values.errors());
  if (!is_8bit(values->front().dtype()) && values->front().dtype() != DType::f32) return std::string();
  Patch patch(graph);
  const ValueId merged = patch.constant(node.name + "/table", std::move(values->front()));
  patch.replace(node.outputs[0],
                patch.add(kChannelTable, before->attrs, {before->inputs[0], merged}, node.name, node.origin));
  return patch;
}

Match into_integer_channel_table(const Graph& graph, const Node& node) {
  const bool makes_floats = is_float(graph.fact(node.outputs[0]).dtype);
  if (table_before(graph, node) == nullptr || (makes_floats && !is_float(graph.fact(node.inputs[0]).dtype)))
    return std::string();
  return into_channel_table(graph, node);
}

Match channel_table_to_table(const Graph& graph, const Node& node) {
  const Tensor* table = entries(graph, node);
  if (table == nullptr || !is_one_table(node.attrs.as<ChannelTableAttrs>(), graph.fact(node.inputs[0]), *table))
    return std::string();
  Tensor one(table->dtype(), Shape{256});
  std::memcpy(one.data(), table->data(), one.bytes());
  Patch patch(graph);
  const ValueId constant = patch.constant(node.name + "/table", std::move(one));
  patch.replace(node.outputs[0], patch.add(kTable, NoAttrs{}, {node.inputs[0], constant}, node.name, node.origin));
  return patch;
}

}  // namespace octavo
