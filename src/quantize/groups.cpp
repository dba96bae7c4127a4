// Groups between boundaries. Part of quantize/.
#include "quantize/groups.h"

#include <set>

#include "ops/binary/binary.h"
#include "ops/dequantize/dequantize.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

// The node that takes the result up before it is rounded, if any.
NodeId joined_reader(const Graph& graph, const Placement& placement, NodeId id) {
  const ValueId result = graph.node(id).outputs[0];
  if (placement.pair(result) || !graph.has_one_reader(result)) return {};
  const NodeId reader = graph.readers(result).front();
  return placement.is_8bit[at(reader)] && placement.role(reader).role != Role::moving ? reader : NodeId{};
}

// Weights may be transposed on their way.
bool is_quantized_constant(const Graph& graph, ValueId wire) {
  const Node* node = graph.producer(wire);
  while (node != nullptr && elements_of(*node->spec, node->attrs) == Elements::moved)
    node = graph.producer(node->inputs[0]);
  return node != nullptr && node->attrs.is<DequantizeAttrs>() && graph.fact(node->inputs[0]).is_constant();
}

// The function of the result, or sum with it, that alone reads it, if any: nothing is rounded between the two.
NodeId elementwise_reader(const Graph& graph, NodeId id) {
  const ValueId result = graph.node(id).outputs[0];
  if (!graph.has_one_reader(result)) return {};
  const NodeId reader = graph.readers(result).front();
  const Attrs& attrs = graph.node(reader).attrs;
  return attrs.is<UnaryAttrs>() || attrs.is<BinaryAttrs>() ? reader : NodeId{};
}

}  // namespace

std::vector<LayerGroup> integer_groups(const Graph& graph, const Placement& placement) {
  std::vector<LayerGroup> groups;
  std::vector<bool> is_taken(placement.roles.size());
  for (const NodeId id : graph.order()) {
    const Role role = placement.role(id).role;
    const bool computes = role == Role::product || role == Role::kernel;
    if (is_taken[at(id)] || !computes || !placement.is_8bit[at(id)]) continue;
    LayerGroup group{.name = graph.node(id).name};
    for (NodeId member = id; member.exists() && !is_taken[at(member)];
         member = joined_reader(graph, placement, member)) {
      is_taken[at(member)] = true;
      group.nodes.push_back(graph.node(member).name);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<LayerGroup> quantized_groups(const Graph& graph) {
  std::vector<LayerGroup> groups;
  std::set<int> taken;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.spec->weight_axis < 0 || !is_quantized_constant(graph, node.inputs[1])) continue;
    LayerGroup group{.name = node.name};
    for (NodeId member = id; member.exists() && taken.insert(member.index).second;
         member = elementwise_reader(graph, member)) {
      group.nodes.push_back(graph.node(member).name);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<ValueId> f32_activations(const Graph& graph) {
  std::vector<ValueId> wires = graph.inputs();
  for (const NodeId id : graph.order())
    wires.insert(wires.end(), graph.node(id).outputs.begin(), graph.node(id).outputs.end());
  std::erase_if(wires,
                [&](ValueId wire) { return graph.fact(wire).dtype != DType::f32 || graph.fact(wire).is_constant(); });
  return wires;
}

}  // namespace octavo
