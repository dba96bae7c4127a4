// Finding what follows the last products. Part of quantize/.
#include "quantize/tails.h"

#include <algorithm>

#include "ops/binary/binary.h"
#include "ops/grid_sample/grid_sample.h"
#include "ops/roi_align/roi_align.h"

namespace octavo {
namespace {

// Rounding the input of such a product is as much work as the product.
constexpr std::int64_t kFewWeights = 64;

bool reads_places(const Node& node, std::size_t input) {
  return input == 1 && (node.spec == &kRoiAlign || node.spec == &kGridSample);
}

bool has_few_weights(const Graph& graph, const Node& node) {
  const bool has_weights = node.inputs.size() > 1 && graph.fact(node.inputs[1]).is_constant();
  return has_weights && graph.fact(node.inputs[1]).constant->elements() <= kFewWeights;
}

// Made by a node that stays in f32, and moved or not.
bool is_float(const Graph& graph, ValueId value, const std::vector<NodeRole>& roles) {
  NodeId producer = graph.value(value).producer;
  while (producer.exists() && roles[at(producer)].role == Role::moving)
    producer = graph.value(graph.node(producer).inputs[0]).producer;
  return producer.exists() && roles[at(producer)].role == Role::floating;
}

}  // namespace

void keep_tails_in_float(const Graph& graph, std::vector<NodeRole>& roles) {
  std::vector<bool> is_feature(static_cast<std::size_t>(graph.value_count()));  // something behind it reads features
  const std::vector<NodeId> order = graph.order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node& node = graph.node(*it);
    NodeRole& own = roles[at(*it)];
    const bool has_features =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId y) { return is_feature[at(y)]; });
    const bool is_arithmetic = own.role == Role::kernel && node.attrs.is<BinaryAttrs>();
    const bool is_small =
        own.role == Role::product && has_few_weights(graph, node) && is_float(graph, node.inputs[0], roles);
    if (!has_features && (is_arithmetic || is_small)) own = {Role::floating, "follows the last products"};
    const bool reads_features = has_features || own.role == Role::product || own.role == Role::kernel;
    for (std::size_t i = 0; reads_features && i < node.inputs.size(); ++i) {
      if (node.inputs[i].exists() && !reads_places(node, i)) is_feature[at(node.inputs[i])] = true;
    }
  }
}

}  // namespace octavo
