// Nodes that change nothing. Part of lower/.
#include "lower/rules/drop_identity.h"

#include <algorithm>

#include "lower/tensor_edit.h"
#include "ops/list.h"

namespace octavo {
namespace {

bool is_all(const std::vector<std::int64_t>& list, std::int64_t value) {
  return std::all_of(list.begin(), list.end(), [&](std::int64_t entry) { return entry == value; });
}

bool is_whole(const SliceAttrs& attrs) { return is_all(attrs.starts, 0) && is_all(attrs.steps, 1); }

bool is_identity_table(const Graph& graph, const Node& node) {
  const Fact& table = graph.fact(node.inputs[1]);
  if (!table.is_constant() || table.dtype != graph.fact(node.inputs[0]).dtype) return false;
  for (int i = 0; i < 256; ++i) {
    if (table.constant->as<std::uint8_t>()[i] != i) return false;
  }
  return true;
}

bool covers_one_element(const Window& window) {
  return is_all(window.kernel, 1) && is_all(window.strides, 1) && is_all(window.pad_begin, 0) &&
         is_all(window.pad_end, 0);
}

// Given that type and shape of the first input and of the result agree.
bool changes_nothing(const Graph& graph, const Node& node) {
  if (node.spec == &kReshape || node.spec == &kCast || node.spec == &kConcat || node.spec == &kExpand) return true;
  if (node.spec == &kUnary) return node.attrs.as<UnaryAttrs>().kind == UnaryKind::identity;
  if (node.spec == &kTranspose) return is_identity(node.attrs.as<TransposeAttrs>().perm);
  if (node.spec == &kSlice) return is_whole(node.attrs.as<SliceAttrs>());
  if (node.spec == &kPad) return is_all(node.attrs.as<PadAttrs>().begin, 0) && is_all(node.attrs.as<PadAttrs>().end, 0);
  if (node.spec == &kMaxPool) return covers_one_element(node.attrs.as<MaxPoolAttrs>().window);
  if (node.spec == &kAveragePool) return covers_one_element(node.attrs.as<AveragePoolAttrs>().window);
  if (node.spec == &kTable) return is_identity_table(graph, node);
  return false;
}

// reshape(reshape(x)) and transpose(transpose(x)) as one node.
Match merge_pair(const Graph& graph, const Node& node) {
  const Node* inner = graph.producer_if(node.inputs[0], *node.spec);
  if (inner == nullptr) return std::string();
  Patch patch(graph);
  Attrs attrs = node.attrs;
  if (node.spec == &kTranspose) {
    attrs = TransposeAttrs{compose(inner->attrs.as<TransposeAttrs>().perm, node.attrs.as<TransposeAttrs>().perm)};
  }
  patch.replace(node.outputs[0], patch.add(*node.spec, attrs, {inner->inputs[0]}, node.name, node.origin));
  return patch;
}

// A transpose that only moves axes of size 1.
Match transpose_to_reshape(const Graph& graph, const Node& node) {
  const Shape& shape = graph.fact(node.inputs[0]).shape;
  if (!keeps_element_order(shape, node.attrs.as<TransposeAttrs>().perm)) return std::string();
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
  if (node.spec == &kReshape || node.spec == &kTranspose) {
    Match merged = merge_pair(graph, node);
    if (std::holds_alternative<Patch>(merged)) return merged;
  }
  return node.spec == &kTranspose ? transpose_to_reshape(graph, node) : Match(std::string());
}

}  // namespace octavo
