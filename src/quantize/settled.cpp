// Values that samples do not decide. Part of quantize/.
#include "quantize/settled.h"

#include <algorithm>
#include <cmath>

#include "base/sizes.h"
#include "graph/rebuild.h"
#include "ops/attention/attention.h"
#include "ops/evaluate.h"

namespace octavo {
namespace {

// By ValueId: some input of the graph decides it.
std::vector<bool> reached_values(const Graph& graph) {
  std::vector<bool> is_reached(static_cast<std::size_t>(graph.value_count()));
  for (const ValueId input : graph.inputs()) is_reached[at(input)] = true;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const bool is_decided = std::any_of(node.inputs.begin(), node.inputs.end(),
                                        [&](ValueId input) { return input.exists() && is_reached[at(input)]; });
    for (const ValueId output : node.outputs) is_reached[at(output)] = is_decided;
  }
  return is_reached;
}

// By ValueId: nobody reads it but attention as a mask, and nodes that make such a mask of it.
std::vector<bool> mask_values(const Graph& graph, const std::vector<NodeRole>& roles) {
  std::vector<bool> is_mask(static_cast<std::size_t>(graph.value_count())), is_other(is_mask.size());
  for (const ValueId output : graph.outputs()) is_other[at(output)] = true;
  for (auto it = graph.order().rbegin(); it != graph.order().rend(); ++it) {
    const Node& node = graph.node(*it);
    const bool makes_mask = roles[at(*it)].role != Role::product &&
                            std::all_of(node.outputs.begin(), node.outputs.end(),
                                        [&](ValueId y) { return is_mask[at(y)] && !is_other[at(y)]; });
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].exists()) continue;
      const bool reads_mask = makes_mask || (node.spec == &kAttention && i == kAttentionMask);
      (reads_mask ? is_mask : is_other)[at(node.inputs[i])] = true;
    }
  }
  for (std::size_t i = 0; i < is_mask.size(); ++i) is_mask[i] = is_mask[i] && !is_other[i];
  return is_mask;
}

TensorRange range_of(const Tensor& values) {
  TensorRange range;
  bool has_any = false;
  for (const float value : to_floats(values.view())) {
    if (!std::isfinite(value)) continue;
    range = has_any ? TensorRange{std::min(range.lowest, value), std::max(range.highest, value)}
                    : TensorRange{value, value};
    has_any = true;
  }
  return range;
}

}  // namespace

void keep_settled_in_float(const Graph& graph, std::vector<NodeRole>& roles) {
  const std::vector<bool> is_reached = reached_values(graph), is_mask = mask_values(graph, roles);
  for (const NodeId id : graph.order()) {
    NodeRole& role = roles[at(id)];
    const ValueId result = graph.node(id).outputs[0];
    if (role.role == Role::floating) continue;
    if (role.role != Role::product && is_mask[at(result)]) role = {Role::floating, "makes a mask, which stays in f32"};
    else if (!is_reached[at(result)]) role = {Role::floating, "is known once sizes are"};
  }
}

Result<std::map<std::string, TensorRange>> settled_ranges(const Graph& graph, const std::vector<ValueId>& wires,
                                                          const std::vector<std::int64_t>& sizes) {
  const std::vector<bool> is_reached = reached_values(graph);
  std::vector<ValueId> settled;
  std::vector<std::string> names;
  for (const ValueId wire : wires) {
    if (is_reached[at(wire)]) continue;
    settled.push_back(wire);
    names.push_back(graph.value(wire).name);
  }
  std::map<std::string, TensorRange> ranges;
  if (settled.empty()) return ranges;
  Rebuild rebuild(graph);
  for (const NodeId id : graph.order()) {
    if (!is_reached[at(graph.node(id).outputs[0])]) rebuild.copy(graph.node(id));
  }
  rebuild.add_outputs(settled, names);
  auto made = rebuild.finish();
  if (!made) return made.errors();
  made->remove_unused();
  const auto extents = graph.sizes()->evaluate(sizes);
  if (!extents) return extents.errors();
  if (const Status closed = made->close(*extents); !closed) return closed.errors();
  const auto values = evaluate(*made, {});
  if (!values) return values.errors();
  for (std::size_t i = 0; i < names.size(); ++i) ranges[names[i]] = range_of((*values)[i]);
  return ranges;
}

}  // namespace octavo
