// What stays in floating point inside an int8 model. Part of lower/.
#include "lower/islands.h"

#include <algorithm>
#include <map>

#include "lower/quantized_value.h"
#include "lower/rules/attention_pattern.h"

namespace octavo {
namespace {

// Conversions and operators that only move elements are no computation; integer operators may end in f32.
bool computes_with_floats(const Graph& graph, const Node& node) {
  const Elements elements = elements_of(*node.spec, node.attrs);
  const bool computes =
      elements == Elements::computed || elements == Elements::selected || elements == Elements::ranked;
  if (!computes || node.spec->is_integer) return false;
  const auto is_float_wire = [&](ValueId id) { return id.exists() && is_float(graph.fact(id).dtype); };
  return std::any_of(node.inputs.begin(), node.inputs.end(), is_float_wire) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), is_float_wire);
}

std::string general_reason(const Graph& graph, const Node& node) {
  const auto is_plain_float = [&](ValueId id) {
    return id.exists() && is_float(graph.fact(id).dtype) && !graph.fact(id).is_constant() && !dequantized(graph, id);
  };
  if (std::any_of(node.inputs.begin(), node.inputs.end(), is_plain_float))
    return "no scales: its input is not quantized";
  const auto followed = follow_to_quantize(graph, node.outputs[0]);
  if (const auto* reason = std::get_if<std::string>(&followed)) return *reason;
  return "there is no integer form of " + std::string(node.spec->name) + " for these operands";
}

}  // namespace

std::vector<Island> find_islands(const Graph& graph, const std::vector<PassReport>& passes) {
  std::map<std::string, std::string> reasons;
  for (const PassReport& pass : passes) {
    for (const PassEntry& entry : pass.entries) {
      if (entry.applied || entry.reason.empty()) continue;
      // What kept it from an operator that it would be a part of is said beside what it lacks itself.
      std::string& known = reasons[entry.node];
      const bool both = known.starts_with(kNoAttention) && !entry.reason.starts_with(kNoAttention);
      if (!both) known = entry.reason;
      else if (known.find(entry.reason) == std::string::npos) known += "; " + entry.reason;
    }
  }
  std::vector<Island> islands;
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!computes_with_floats(graph, node)) continue;
    const auto known = reasons.find(node.name);
    islands.push_back({node.name, std::string(node.spec->name),
                       known != reasons.end() ? known->second : general_reason(graph, node)});
  }
  return islands;
}

}  // namespace octavo
