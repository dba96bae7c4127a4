// Which operator wants or carries which order of axes. Part of lower/.
#include "lower/channels_last.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "lower/relayout.h"
#include "lower/reshape_axes.h"
#include "ops/list.h"

namespace octavo {
namespace {

std::int64_t at(const Axes& axes, std::int64_t index) { return axes[static_cast<std::size_t>(index)]; }

// [N, C, spatial] as transpose of [N, spatial, C].
Axes image_axes(int rank) {
  Axes axes = {0, rank - 1};
  for (int axis = 2; axis < rank; ++axis) axes.push_back(axis - 1);
  return axes;
}

// A list with one entry per axis of the file's order, in the stored order.
template <class T>
std::vector<T> in_stored_order(const std::vector<T>& list, const Axes& axes) {
  std::vector<T> stored(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) stored[static_cast<std::size_t>(axes[i])] = list[i];
  return stored;
}

// What is left of `axes` without the file's axes in `dropped`.
Axes without(const Axes& axes, const std::vector<std::int64_t>& dropped) {
  const auto is_dropped = [&](std::int64_t axis) {
    return std::find(dropped.begin(), dropped.end(), axis) != dropped.end();
  };
  Axes left;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (is_dropped(static_cast<std::int64_t>(i))) continue;
    const auto lower =
        std::count_if(dropped.begin(), dropped.end(), [&](std::int64_t axis) { return at(axes, axis) < axes[i]; });
    left.push_back(axes[i] - lower);
  }
  return left;
}

// The order of the largest input among those of the result's rank that are not in the file's order.
Axes leading_axes(const Relayout& layout, const Node& node, std::size_t inputs, int rank) {
  Axes best = identity_axes(rank);
  std::int64_t most = 0;
  for (std::size_t i = 0; i < std::min(inputs, node.inputs.size()); ++i) {
    if (!node.inputs[i].exists()) continue;
    const View& view = layout.view(node.inputs[i]);
    const std::int64_t elements = layout.shape(node.inputs[i]).elements();
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

// Emits the node with its first input stored as `axes`, the others as the file has them; the result is stored as
// `out_axes`.
void emit_first(Relayout& layout, const Node& node, Attrs attrs, const Axes& axes, const Axes& out_axes) {
  std::vector<ValueId> inputs = {layout.stored_in(node.inputs[0], axes)};
  const auto rest = logical_inputs(layout, node, 1);
  inputs.insert(inputs.end(), rest.begin(), rest.end());
  const auto outputs = layout.emit(node, std::move(attrs), std::move(inputs));
  layout.set(node.outputs[0], {outputs[0], out_axes});
  for (std::size_t i = 1; i < outputs.size(); ++i)
    layout.set(node.outputs[i], {outputs[i], identity_axes(layout.shape(node.outputs[i]).rank())});
}

// ---- operators on images ----

Window with_unit_height(Window window) {
  window.kernel.insert(window.kernel.begin(), 1);
  window.strides.insert(window.strides.begin(), 1);
  window.dilations.insert(window.dilations.begin(), 1);
  window.pad_begin.insert(window.pad_begin.begin(), 0);
  window.pad_end.insert(window.pad_end.begin(), 0);
  return window;
}

// [N, L, C] to [N, 1, L, C]; also for weights [OC, K, C].
ValueId with_unit_height(Relayout& layout, ValueId id) {
  if (layout.has_failed()) return id;
  const Shape& shape = layout.new_graph().fact(id).shape;
  return layout.reshaped(id, Shape{shape[0], 1, shape[1], shape[2]});
}

// Convolutions and pools: input 0 is the image, the first `images` inputs (image and weights) have channels on axis 1.
template <class ImageAttrs>
void image_operator(Relayout& layout, const Node& node, std::size_t images) {
  auto attrs = node.attrs.as<ImageAttrs>();
  const int rank = layout.shape(node.inputs[0]).rank();
  if (attrs.layout == Layout::channels_last) return keep(layout, node);
  const bool is_line = rank == 3;
  attrs.layout = Layout::channels_last;
  if (is_line) attrs.window = with_unit_height(attrs.window);
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < images; ++i) {
    const ValueId image = layout.stored_in(node.inputs[i], image_axes(rank));
    inputs.push_back(is_line ? with_unit_height(layout, image) : image);
  }
  const auto rest = logical_inputs(layout, node, images);
  inputs.insert(inputs.end(), rest.begin(), rest.end());
  ValueId result = layout.emit(node, attrs, std::move(inputs))[0];
  if (is_line && !layout.has_failed())
    result = layout.reshaped(result, transposed_shape(layout.shape(node.outputs[0]), inverse(image_axes(rank))));
  layout.set(node.outputs[0], {result, image_axes(rank)});
}

void convolution(Relayout& layout, const Node& node) { image_operator<ConvAttrs>(layout, node, 2); }
void integer_convolution(Relayout& layout, const Node& node) { image_operator<ConvIntegerAttrs>(layout, node, 2); }
void maximum_pool(Relayout& layout, const Node& node) { image_operator<MaxPoolAttrs>(layout, node, 1); }
void mean_pool(Relayout& layout, const Node& node) { image_operator<AveragePoolAttrs>(layout, node, 1); }

// ---- operators that carry any order ----

// One input, element by element, without attributes that name axes.
void carry(Relayout& layout, const Node& node) {
  const Axes axes = layout.view(node.inputs[0]).axes;
  emit_first(layout, node, node.attrs, axes, axes);
}

// Attributes with one `axis` (where it names one) of the first input; the result has the same shape.
template <class AxisAttrs>
void carry_axis(Relayout& layout, const Node& node) {
  auto attrs = node.attrs.as<AxisAttrs>();
  const Axes axes = layout.view(node.inputs[0]).axes;
  if (attrs.axis >= 0) attrs.axis = at(axes, attrs.axis);
  emit_first(layout, node, attrs, axes, axes);
}

template <class ScaleAttrs>
void carry_scales(Relayout& layout, const Node& node) {
  if (node.attrs.as<ScaleAttrs>().block != 0) return keep(layout, node);
  carry_axis<ScaleAttrs>(layout, node);
}

// Numpy broadcasting between any number of inputs.
void carry_broadcast(Relayout& layout, const Node& node) {
  const int rank = layout.shape(node.outputs[0]).rank();
  const Axes axes = leading_axes(layout, node, node.inputs.size(), rank);
  std::vector<ValueId> inputs;
  for (ValueId input : node.inputs)
    inputs.push_back(is_identity(axes) ? layout.logical(input) : layout.broadcastable(input, rank, axes));
  layout.set(node.outputs[0], {layout.emit(node, node.attrs, std::move(inputs))[0], axes});
}

void carry_concat(Relayout& layout, const Node& node) {
  const int rank = layout.shape(node.outputs[0]).rank();
  const Axes axes = leading_axes(layout, node, node.inputs.size(), rank);
  std::vector<ValueId> inputs;
  for (ValueId input : node.inputs) inputs.push_back(layout.stored_in(input, axes));
  const ConcatAttrs attrs{at(axes, node.attrs.as<ConcatAttrs>().axis)};
  layout.set(node.outputs[0], {layout.emit(node, attrs, std::move(inputs))[0], axes});
}

void carry_pad(Relayout& layout, const Node& node) {
  auto attrs = node.attrs.as<PadAttrs>();
  const Axes axes = layout.view(node.inputs[0]).axes;
  attrs.begin = in_stored_order(attrs.begin, axes);
  attrs.end = in_stored_order(attrs.end, axes);
  emit_first(layout, node, attrs, axes, axes);
}

void carry_slice(Relayout& layout, const Node& node) {
  auto attrs = node.attrs.as<SliceAttrs>();
  const Axes axes = layout.view(node.inputs[0]).axes;
  attrs.starts = in_stored_order(attrs.starts, axes);
  attrs.steps = in_stored_order(attrs.steps, axes);
  attrs.sizes = in_stored_order(attrs.sizes, axes);
  emit_first(layout, node, attrs, axes, axes);
}

void carry_resize(Relayout& layout, const Node& node) {
  auto attrs = node.attrs.as<ResizeAttrs>();
  const Axes axes = layout.view(node.inputs[0]).axes;
  attrs.sizes = in_stored_order(attrs.sizes, axes);
  attrs.scales = in_stored_order(attrs.scales, axes);
  if (!attrs.roi.empty()) {
    const auto middle = attrs.roi.begin() + static_cast<std::ptrdiff_t>(axes.size());
    auto starts = in_stored_order(std::vector<float>(attrs.roi.begin(), middle), axes);
    const auto ends = in_stored_order(std::vector<float>(middle, attrs.roi.end()), axes);
    starts.insert(starts.end(), ends.begin(), ends.end());
    attrs.roi = std::move(starts);
  }
  emit_first(layout, node, attrs, axes, axes);
}

void carry_expand(Relayout& layout, const Node& node) {
  auto attrs = node.attrs.as<ExpandAttrs>();
  const Axes axes = layout.view(node.inputs[0]).axes;
  if (attrs.shape.size() != axes.size()) return keep(layout, node);
  attrs.shape = in_stored_order(attrs.shape, axes);
  emit_first(layout, node, attrs, axes, axes);
}

void carry_reduce(Relayout& layout, const Node& node) {
  auto attrs = node.attrs.as<ReduceAttrs>();
  const Axes axes = layout.view(node.inputs[0]).axes;
  const Axes out_axes = attrs.keep_dims ? axes : without(axes, attrs.axes);
  for (std::int64_t& axis : attrs.axes) axis = at(axes, axis);
  std::sort(attrs.axes.begin(), attrs.axes.end());
  emit_first(layout, node, attrs, axes, out_axes);
}

void carry_argmax(Relayout& layout, const Node& node) {
  auto attrs = node.attrs.as<ArgmaxAttrs>();
  const Axes axes = layout.view(node.inputs[0]).axes;
  const Axes out_axes = attrs.keep_dims ? axes : without(axes, {attrs.axis});
  attrs.axis = at(axes, attrs.axis);
  emit_first(layout, node, attrs, axes, out_axes);
}

void carry_gather(Relayout& layout, const Node& node) {
  auto attrs = node.attrs.as<GatherAttrs>();
  const int index_rank = layout.shape(node.inputs[1]).rank();
  if (index_rank > 1) return keep(layout, node);
  const Axes axes = layout.view(node.inputs[0]).axes;
  const Axes out_axes = index_rank == 1 ? axes : without(axes, {attrs.axis});
  attrs.axis = at(axes, attrs.axis);
  emit_first(layout, node, attrs, axes, out_axes);
}

// The normalised axes are the last ones; an order that leaves them in place is carried.
void carry_layer_norm(Relayout& layout, const Node& node) {
  const Axes axes = layout.view(node.inputs[0]).axes;
  for (auto axis = static_cast<std::size_t>(node.attrs.as<LayerNormAttrs>().axis); axis < axes.size(); ++axis) {
    if (axes[axis] != static_cast<std::int64_t>(axis)) return keep(layout, node);
  }
  emit_first(layout, node, node.attrs, axes, axes);
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
  const bool is_same = !layout.has_failed() && layout.new_graph().fact(ordered).shape == plan->stored_shape;
  const ReshapeAttrs attrs{plan->stored_shape.to_vector()};
  layout.set(node.outputs[0], {is_same ? ordered : layout.emit(node, attrs, {ordered})[0], plan->out_axes});
}

using Handler = void (*)(Relayout&, const Node&);

Handler handler_of(const OpSpec* spec) {
  static constexpr std::pair<const OpSpec*, Handler> handlers[] = {
      {&kArgmax, carry_argmax},
      {&kAveragePool, mean_pool},
      {&kBatchNorm, carry_axis<BatchNormAttrs>},
      {&kBinary, carry_broadcast},
      {&kCast, carry},
      {&kConcat, carry_concat},
      {&kConv, convolution},
      {&kConvInteger, integer_convolution},
      {&kDequantize, carry_scales<DequantizeAttrs>},
      {&kDynamicQuantize, carry},
      {&kExpand, carry_expand},
      {&kGather, carry_gather},
      {&kLayerNorm, carry_layer_norm},
      {&kLrn, carry_axis<LrnAttrs>},
      {&kMaxPool, maximum_pool},
      {&kPad, carry_pad},
      {&kQuantize, carry_scales<QuantizeAttrs>},
      {&kReduce, carry_reduce},
      {&kReshape, carry_reshape},
      {&kResize, carry_resize},
      {&kSlice, carry_slice},
      {&kSoftmax, carry_axis<SoftmaxAttrs>},
      {&kTranspose, carry_transpose},
      {&kUnary, carry},
      {&kWhere, carry_broadcast},
  };
  for (const auto& [op, handler] : handlers) {
    if (op == spec) return handler;
  }
  return keep;
}

}  // namespace

Status make_channels_last(Graph& graph) {
  Relayout layout(graph);
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    handler_of(node.spec)(layout, node);
    if (layout.has_failed()) break;
  }
  auto changed = layout.finish();
  if (!changed) return changed.errors();
  graph = std::move(*changed);
  return ok_status();
}

}  // namespace octavo
