// Explicit zero padding before a convolution. Part of lower/.
#include "lower/rules/pad_into_window.h"

#include <algorithm>

#include "lower/quantized_value.h"
#include "ops/conv/conv.h"
#include "ops/pad/pad.h"

namespace octavo {

Match pad_into_window(const Graph& graph, const Node& node) {
  if (node.spec != &kConv) return std::string();
  const Node* pad = graph.producer_if(node.inputs[0], kPad);
  if (pad == nullptr) return std::string();
  const auto& padding = pad->attrs.as<PadAttrs>();
  if (padding.mode != PadMode::constant) return std::string("the padding before it is not constant");
  if (pad->inputs.size() > 1 && pad->inputs[1].exists() && scalar_constant(graph, pad->inputs[1]) != 0.0f)
    return std::string("the padding before it is not zero");
  auto attrs = node.attrs.as<ConvAttrs>();
  const auto rank = padding.begin.size();
  const std::size_t channel = attrs.layout == Layout::channels_first ? 1 : rank - 1;
  const std::size_t first_spatial = attrs.layout == Layout::channels_first ? 2 : 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool is_spatial = axis != 0 && axis != channel;
    const std::int64_t lowest = std::min(padding.begin[axis], padding.end[axis]);
    const std::int64_t highest = std::max(padding.begin[axis], padding.end[axis]);
    if (lowest < 0 || (!is_spatial && highest != 0)) return std::string("the padding before it crops or adds channels");
    if (!is_spatial) continue;
    attrs.window.pad_begin[axis - first_spatial] += padding.begin[axis];
    attrs.window.pad_end[axis - first_spatial] += padding.end[axis];
  }
  Patch patch(graph);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = pad->inputs[0];
  patch.replace(node.outputs[0], patch.add(kConv, attrs, std::move(inputs), node.name, node.origin));
  return patch;
}

}  // namespace octavo
