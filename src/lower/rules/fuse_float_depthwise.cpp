// Depthwise f32 convolutions that stay in float, with their clamp. Part of lower/.
#include "lower/rules/fuse_float_depthwise.h"

#include "lower/quantized_value.h"
#include "ops/conv/conv.h"
#include "ops/float_depthwise/float_depthwise.h"

namespace octavo {
namespace {

// The relu or clip that alone reads the wire; its bounds go to the attributes.
const Node* clamp_after(const Graph& graph, ValueId wire, FloatDepthwiseAttrs& attrs) {
  const Node* reader = only_reader(graph, wire);
  const auto bounds = reader == nullptr ? std::nullopt : clamp_bounds(*reader);
  if (!bounds || !(bounds->lowest <= bounds->highest)) return nullptr;
  attrs.lowest = bounds->lowest;
  attrs.highest = bounds->highest;
  return reader;
}

}  // namespace

// Gives no reasons: why a convolution stays in float has been said before.
Match fuse_float_depthwise(const Graph& graph, const Node& node) {
  if (node.spec != &kConv) return std::string();
  const auto& conv = node.attrs.as<ConvAttrs>();
  const Fact& x = graph.fact(node.inputs[0]);
  const Fact& w = graph.fact(node.inputs[1]);
  if (conv.layout != Layout::channels_last || conv.window.rank() < 2 || x.dtype != DType::f32) return std::string();
  const Dim& channels = x.shape[x.shape.rank() - 1];
  if (conv.groups != channels || w.shape[0] != channels) return std::string();
  const auto is_constant = [&](ValueId id) { return !id.exists() || graph.fact(id).is_constant(); };
  if (x.is_constant() || !is_constant(node.inputs[1]) || (node.inputs.size() > 2 && !is_constant(node.inputs[2]))) {
    return std::string();
  }
  FloatDepthwiseAttrs attrs{.window = conv.window};
  const Node* clamp = clamp_after(graph, node.outputs[0], attrs);
  Patch patch(graph);
  patch.replace(clamp != nullptr ? clamp->outputs[0] : node.outputs[0],
                patch.add(kFloatDepthwise, std::move(attrs), node.inputs, node.name, node.origin));
  return patch;
}

}  // namespace octavo
