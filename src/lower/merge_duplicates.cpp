// One node for nodes that compute the same. Part of lower/.
#include "lower/merge_duplicates.h"

#include <algorithm>
#include <map>

#include "lower/quantized_value.h"

namespace octavo {
namespace {

constexpr std::int64_t kSmall = 256;  // elements of constants that are compared by content; tables have as many

void append(std::string& key, const void* data, std::size_t size) { key.append(static_cast<const char*>(data), size); }

std::string key_of(const Graph& graph, ValueId input) {
  std::string key;
  const Fact* fact = input.exists() ? &graph.fact(input) : nullptr;
  if (fact == nullptr || !fact->is_constant() || fact->shape.elements() > kSmall) {
    append(key, &input.index, sizeof input.index);
    return "v" + key;
  }
  append(key, fact->constant->data(), fact->constant->bytes());
  return "c" + std::string(name_of(fact->dtype)) + fact->shape.to_string() + ":" + key;
}

std::string attrs_key(const Node& node) {
  std::string key(node.spec->name);
  const Bytes attrs = node.attrs.encoded();
  key += "|" + std::to_string(attrs.size()) + "|";
  append(key, attrs.data(), attrs.size());
  return key;
}

std::string inputs_key(const Graph& graph, const Node& node, std::size_t first) {
  std::string key;
  for (std::size_t i = first; i < node.inputs.size(); ++i) {
    const std::string part = key_of(graph, node.inputs[i]);
    key += std::to_string(part.size()) + part;
  }
  return key;
}

// What a node and what follows it make together, by one key: a real result that one quantize alone takes, clamps
// between them included, is part of a group that becomes one operator. Merging less than the group would leave the rest
// of it two readers, and no operator to be part of.
struct MergedGroup {
  std::string key;
  std::vector<ValueId> results;
};

void append_rounding(std::string& key, const Quantized& end) {
  const std::int32_t numbers[] = {static_cast<std::int32_t>(end.type.dtype), end.type.zero_point, end.lowest,
                                  end.highest, static_cast<std::int32_t>(end.profile)};
  append(key, numbers, sizeof numbers);
  append(key, &end.type.scale, sizeof end.type.scale);
}

MergedGroup group_of(const Graph& graph, const Node& node) {
  MergedGroup group{attrs_key(node) + inputs_key(graph, node, 0), {node.outputs.begin(), node.outputs.end()}};
  if (graph.fact(node.outputs[0]).dtype != DType::f32) return group;
  const auto followed = follow_to_quantize(graph, node.outputs[0], Stored::bytes_or_s16);
  const auto* end = std::get_if<Quantized>(&followed);
  if (end == nullptr) return group;
  append_rounding(group.key, *end);
  group.results = {end->y};
  return group;
}

}  // namespace

PassReport merge_duplicates(Graph& graph) {
  PassReport report{.pass = "merge_duplicates"};
  std::map<std::string, std::vector<ValueId>> known;
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const MergedGroup group = group_of(graph, node);
    const auto [found, is_new] = known.try_emplace(group.key, group.results);
    if (is_new) continue;
    // Each output of the graph keeps a node of its own.
    if (std::any_of(group.results.begin(), group.results.end(), [&](ValueId y) { return graph.is_output(y); }))
      continue;
    for (std::size_t i = 0; i < group.results.size(); ++i) graph.replace_uses(group.results[i], found->second[i]);
    report.add(node.name, true);
  }
  graph.remove_unused();
  return report;
}

}  // namespace octavo
