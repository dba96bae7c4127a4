// Explicit padding before a convolution or a max pool. Part of lower/.
#include "lower/rules/pad_into_window.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "lower/quantized_value.h"
#include "ops/conv/conv.h"
#include "ops/max_pool/max_pool.h"
#include "ops/pad/pad.h"

namespace octavo {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// The window with the padding's as well; nothing where it crops or adds channels.
std::optional<Window> with_padding(Window window, Layout layout, const PadAttrs& padding) {
  const auto rank = padding.begin.size();
  const std::size_t channel = layout == Layout::channels_first ? 1 : rank - 1;
  const std::size_t first_spatial = layout == Layout::channels_first ? 2 : 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool is_spatial = axis != 0 && axis != channel;
    const std::int64_t lowest = std::min(padding.begin[axis], padding.end[axis]);
    const std::int64_t highest = std::max(padding.begin[axis], padding.end[axis]);
    if (lowest < 0 || (!is_spatial && highest != 0)) return std::nullopt;
    if (!is_spatial) continue;
    window.pad_begin[axis - first_spatial] += padding.begin[axis];
    window.pad_end[axis - first_spatial] += padding.end[axis];
  }
  return window;
}

bool covers_something(const Window& window) {
  for (int axis = 0; axis < window.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (window.pad_begin[i] >= window.extent(axis) || window.pad_end[i] >= window.extent(axis)) return false;
  }
  return true;
}

Match with_attrs(const Graph& graph, const Node& node, const Node& pad, Attrs attrs) {
  Patch patch(graph);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = pad.inputs[0];
  patch.replace(node.outputs[0], patch.add(*node.spec, std::move(attrs), std::move(inputs), node.name, node.origin));
  return patch;
}

}  // namespace

Match pad_into_window(const Graph& graph, const Node& node) {
  const bool is_pool = node.spec == &kMaxPool;
  if (node.spec != &kConv && !is_pool) return std::string();
  const Node* pad = graph.producer_if(node.inputs[0], kPad);
  if (pad == nullptr) return std::string();
  const auto& padding = pad->attrs.as<PadAttrs>();
  if (padding.mode != PadMode::constant) return std::string("the padding before it is not constant");
  const bool has_value = pad->inputs.size() > 1 && pad->inputs[1].exists();
  const std::optional<float> value = has_value ? scalar_constant(graph, pad->inputs[1]) : 0.0f;
  if (value != (is_pool ? kLowest : 0.0f))
    return std::string(is_pool ? "the padding before it is not -inf" : "the padding before it is not zero");
  const std::string reason = "the padding before it crops or adds channels";
  if (!is_pool) {
    auto attrs = node.attrs.as<ConvAttrs>();
    const auto window = with_padding(attrs.window, attrs.layout, padding);
    if (!window) return reason;
    attrs.window = *window;
    return with_attrs(graph, node, *pad, attrs);
  }
  auto attrs = node.attrs.as<MaxPoolAttrs>();
  const auto window = with_padding(attrs.window, attrs.layout, padding);
  if (!window) return reason;
  if (attrs.rounding == Rounding::ceil || !covers_something(*window))
    return std::string("a window could lie in the padding before it");
  attrs.window = *window;
  return with_attrs(graph, node, *pad, attrs);
}

}  // namespace octavo
