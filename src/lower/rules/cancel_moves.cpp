// Transposes that undo each other. Part of lower/.
#include "lower/rules/cancel_moves.h"

#include <vector>

#include "lower/column_view.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

// The wire shows all elements of the source in their order.
bool is_in_order(const Graph& graph, const ColumnView& view) {
  if (view.factor != 1.0) return false;
  const OpenShape& source = graph.fact(view.source).shape;
  std::vector<AxisPart> all;
  for (const auto& axis : view.axes) all.insert(all.end(), axis.begin(), axis.end());
  const std::vector<AxisPart> parts = joined(all);
  std::size_t next = 0;
  for (int axis = 0; axis < source.rank(); ++axis) {
    if (view.first[static_cast<std::size_t>(axis)] != 0) return false;
    if (is_one(source[axis])) continue;
    if (next == parts.size() || parts[next].axis != axis || parts[next].stride != 1 ||
        !is_same(parts[next].size, source[axis]))
      return false;
    ++next;
  }
  return next == parts.size();
}

}  // namespace

Match cancel_moves(const Graph& graph, const Node& node) {
  if (node.spec != &kTranspose && node.spec != &kReshape) return std::string();
  const std::vector<ColumnView> views = views_of(graph, node.outputs[0]);
  // A transpose or reshape alone is left to drop_identity.
  for (std::size_t i = views.size(); i-- > 0;) {
    const bool is_one_step = views[i].source == node.outputs[0] || views[i].source == node.inputs[0];
    if (is_one_step || !is_in_order(graph, views[i])) continue;
    Patch patch(graph);
    const ReshapeAttrs attrs{graph.fact(node.outputs[0]).shape.to_vector()};
    patch.replace(node.outputs[0], patch.add(kReshape, attrs, {views[i].source}, node.name, node.origin));
    return patch;
  }
  return std::string();
}

}  // namespace octavo
