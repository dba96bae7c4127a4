// Which operator wants or carries which order of axes. Part of lower/.
#include "lower/channels_last.h"

#include <utility>

#include "graph/open_shape.h"
#include "lower/relayout.h"
#include "lower/reshape_axes.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

// [N, C, spatial] as transpose of [N, spatial, C].
Axes image_axes(int rank) {
  Axes axes = {0, rank - 1};
  for (int axis = 2; axis < rank; ++axis) axes.push_back(axis - 1);
  return axes;
}

// The order of the largest input among those of the result's rank that are not in the file's order.
Axes leading_axes(Relayout& layout, const Node& node, int rank) {
  Axes best = identity_axes(rank);
  std::int64_t most = 0;
  for (ValueId input : node.inputs) {
    if (!input.exists()) continue;
    const View& view = layout.view(input);
    const std::int64_t elements = layout.shape(input).elements().example();
    if (static_cast<int>(view.axes.size()) != rank || is_identity(view.axes) || elements <= most) continue;
    best = view.axes;
    most = elements;
  }
  return best;
}

std::vector<ValueId> logical_inputs(Relayout& layout, const Node& node, std::size_t from = 0) {
  std::vector<ValueId> inputs;
  for (std::size_t i = from; i < node.inputs.size(); ++i) inputs.push_back(layout.logical(node.inputs[i]));
  return inputs;
}

// Operators that need the file's order of axes.
void keep(Relayout& layout, const Node& node) {
  const auto outputs = layout.emit(node, node.attrs, logical_inputs(layout, node));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    layout.set(node.outputs[i], {outputs[i], identity_axes(layout.shape(node.outputs[i]).rank())});
}

// ---- operators on images ----

// [N, L, C] to [N, 1, L, C]; also for weights [OC, K, C].
ValueId with_unit_height(Relayout& layout, ValueId id) {
  if (layout.has_failed()) return id;
  const OpenShape& shape = layout.new_graph().fact(id).shape;
  return layout.reshaped(id, OpenShape{shape[0], 1, shape[1], shape[2]});
}

// Convolutions and pools: the first inputs (image and weights) have channels on axis 1.
void image_operator(Relayout& layout, const Node& node) {
  const auto attrs = node.spec->channels_last(node.attrs);
  if (!attrs) return keep(layout, node);
  const int rank = layout.shape(node.inputs[0]).rank();
  const bool is_line = rank == 3;
  const auto images = static_cast<std::size_t>(node.spec->images);
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < images; ++i) {
    const ValueId image = layout.stored_in(node.inputs[i], image_axes(rank));
    inputs.push_back(is_line ? with_unit_height(layout, image) : image);
  }
  const auto rest = logical_inputs(layout, node, images);
  inputs.insert(inputs.end(), rest.begin(), rest.end());
  ValueId result = layout.emit(node, *attrs, std::move(inputs))[0];
  if (is_line && !layout.has_failed())
    result = layout.reshaped(result, transposed_shape(layout.shape(node.outputs[0]), inverse(image_axes(rank))));
  layout.set(node.outputs[0], {result, image_axes(rank)});
}

// ---- operators that carry any order ----

// With the first input in the order in which it is stored, the others as the file has them.
void carry_first(Relayout& layout, const Node& node) {
  const Axes axes = layout.view(node.inputs[0]).axes;
  const auto changed = node.spec->reordered(node.attrs, layout.old_graph().input_facts(node), axes);
  if (!changed) return keep(layout, node);
  std::vector<ValueId> inputs = {layout.stored_in(node.inputs[0], axes)};
  const auto rest = logical_inputs(layout, node, 1);
  inputs.insert(inputs.end(), rest.begin(), rest.end());
  const auto outputs = layout.emit(node, changed->attrs, std::move(inputs));
  layout.set(node.outputs[0], {outputs[0], changed->axes});
  for (std::size_t i = 1; i < outputs.size(); ++i)
    layout.set(node.outputs[i], {outputs[i], identity_axes(layout.shape(node.outputs[i]).rank())});
}

// With all inputs in one order: that of the largest that is not in the file's.
void carry_all(Relayout& layout, const Node& node) {
  const int rank = layout.shape(node.outputs[0]).rank();
  const Axes axes = leading_axes(layout, node, rank);
  const auto changed = node.spec->reordered(node.attrs, layout.old_graph().input_facts(node), axes);
  if (!changed || is_identity(axes)) return keep(layout, node);
  std::vector<ValueId> inputs;
  for (ValueId input : node.inputs) inputs.push_back(layout.broadcastable(input, rank, axes));
  layout.set(node.outputs[0], {layout.emit(node, changed->attrs, std::move(inputs))[0], changed->axes});
}

// Only remembered: whoever needs the new order gets it from stored_in.
void carry_transpose(Relayout& layout, const Node& node) {
  const View& x = layout.view(node.inputs[0]);
  layout.set(node.outputs[0], {x.stored, compose(x.axes, node.attrs.as<TransposeAttrs>().perm)});
}

void carry_reshape(Relayout& layout, const Node& node) {
  const View& x = layout.view(node.inputs[0]);
  const auto plan = plan_reshape(layout.shape(node.inputs[0]), layout.shape(node.outputs[0]), x.axes);
  if (!plan) return keep(layout, node);
  const ValueId ordered = layout.stored_in(node.inputs[0], plan->in_axes);
  const bool keeps_shape =
      !layout.has_failed() && is_same(layout.new_graph().fact(ordered).shape.dims(), plan->stored_shape.dims());
  const ReshapeAttrs attrs{plan->stored_shape.to_vector()};
  layout.set(node.outputs[0], {keeps_shape ? ordered : layout.emit(node, attrs, {ordered})[0], plan->out_axes});
}

bool reads_all_in_one_order(const Graph& graph, const Node& node) {
  const OpSpec& spec = *node.spec;
  return elements_of(spec, node.attrs) == Elements::joined ||
         (spec.pointwise != nullptr && spec.pointwise(node.attrs, graph.input_facts(node)) > 1);
}

void visit(Relayout& layout, const Node& node) {
  if (node.attrs.is<TransposeAttrs>()) carry_transpose(layout, node);
  else if (node.attrs.is<ReshapeAttrs>()) carry_reshape(layout, node);
  else if (node.spec->channels_last != nullptr) image_operator(layout, node);
  else if (node.spec->reordered == nullptr) keep(layout, node);
  else if (reads_all_in_one_order(layout.old_graph(), node)) carry_all(layout, node);
  else carry_first(layout, node);
}

}  // namespace

Status make_channels_last(Graph& graph) {
  Relayout layout(graph);
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    visit(layout, node);
    if (layout.has_failed()) break;
  }
  auto changed = layout.finish();
  if (!changed) return changed.errors();
  graph = std::move(*changed);
  return ok_status();
}

}  // namespace octavo
