// Groups between boundaries. Part of quantize/.
#include "quantize/groups.h"

namespace octavo {
namespace {

std::size_t at(NodeId id) { return static_cast<std::size_t>(id.index); }

// The node that takes the result up before it is rounded, if any.
NodeId joined_reader(const Graph& graph, const Placement& placement, NodeId id) {
  const ValueId result = graph.node(id).outputs[0];
  if (placement.pair(result) || !graph.has_one_reader(result)) return {};
  const NodeId reader = graph.readers(result).front();
  return placement.is_8bit[at(reader)] && placement.role(reader).role != Role::moving ? reader : NodeId{};
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
    for (NodeId member = id; member.exists() && !is_taken[at(member)]; member = joined_reader(graph, placement, member)) {
      is_taken[at(member)] = true;
      group.nodes.push_back(graph.node(member).name);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<ValueId> f32_activations(const Graph& graph) {
  std::vector<ValueId> wires = graph.inputs();
  for (const NodeId id : graph.order()) wires.insert(wires.end(), graph.node(id).outputs.begin(), graph.node(id).outputs.end());
  std::erase_if(wires, [&](ValueId wire) { return graph.fact(wire).dtype != DType::f32 || graph.fact(wire).is_constant(); });
  return wires;
}

}  // namespace octavo
