// Nodes that change nothing. Part of lower/.
#include "lower/rules/drop_identity.h"

#include <utility>

#include "lower/tensor_edit.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

// Given that type and shape of the first input and of the result agree.
bool changes_nothing(const Graph& graph, const Node& node) {
  return node.spec->is_identity != nullptr && node.spec->is_identity(node.attrs, graph.input_facts(node));
}

// op(op(x)) as one node.
Match merged(const Graph& graph, const Node& node, Attrs attrs, ValueId x) {
  Patch patch(graph);
  patch.replace(node.outputs[0], patch.add(*node.spec, std::move(attrs), {x}, node.name, node.origin));
  return patch;
}

// Two in a row are one; one that only moves axes of size 1 is a reshape.
Match simpler_transpose(const Graph& graph, const Node& node) {
  const auto& perm = node.attrs.as<TransposeAttrs>().perm;
  if (const Node* inner = graph.producer_if(node.inputs[0], kTranspose))
    return merged(graph, node, TransposeAttrs{compose(inner->attrs.as<TransposeAttrs>().perm, perm)}, inner->inputs[0]);
  if (!keeps_element_order(graph.fact(node.inputs[0]).shape, perm)) return std::string();
  Patch patch(graph);
  const ReshapeAttrs attrs{graph.fact(node.outputs[0]).shape.to_vector()};
  patch.replace(node.outputs[0], patch.add(kReshape, attrs, {node.inputs[0]}, node.name, node.origin));
  return patch;
}

}  // namespace

Match drop_identity(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || !node.inputs[0].exists()) return std::string();
  const ValueId x = node.inputs[0];
  const ValueId y = node.outputs[0];
  if (graph.fact(x).same_type(graph.fact(y)) && changes_nothing(graph, node)) {
    // An output of the graph has a node of its own: it must not become an input, a constant or another output.
    if (graph.is_output(y) && (graph.producer(x) == nullptr || graph.is_output(x))) return std::string();
    Patch patch(graph);
    patch.replace(y, x);
    return patch;
  }
  if (node.attrs.is<TransposeAttrs>()) return simpler_transpose(graph, node);
  if (!node.attrs.is<ReshapeAttrs>()) return std::string();
  const Node* inner = graph.producer_if(x, kReshape);
  return inner == nullptr ? Match(std::string()) : merged(graph, node, node.attrs, inner->inputs[0]);
}

}  // namespace octavo
