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

// What a real result is rounded to, where one quantize is all that it goes to.
std::string rounding_key(const Graph& graph, const Node& node) {
  if (graph.fact(node.outputs[0]).dtype != DType::f32) return {};
  const auto followed = follow_to_quantize(graph, node.outputs[0]);
  const auto* end = std::get_if<Quantized>(&followed);
  if (end == nullptr) return {};
  const Node& quantize = *graph.producer(end->y);
  return attrs_key(quantize) + inputs_key(graph, quantize, 1);
}

std::string key_of(const Graph& graph, const Node& node) {
  return attrs_key(node) + inputs_key(graph, node, 0) + rounding_key(graph, node);
}

}  // namespace

PassReport merge_duplicates(Graph& graph) {
  PassReport report{.pass = "merge_duplicates"};
  std::map<std::string, NodeId> known;
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const auto [found, is_new] = known.try_emplace(key_of(graph, node), id);
    if (is_new) continue;
    // Each output of the graph keeps a node of its own.
    if (std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) { return graph.is_output(output); }))
      continue;
    const Node& first = graph.node(found->second);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) graph.replace_uses(node.outputs[i], first.outputs[i]);
    report.add(node.name, true);
  }
  graph.remove_unused();
  return report;
}

}  // namespace octavo
