// Quantize/dequantize pairs in a graph that is to compute in f32. Part of lower/.
#include "lower/rules/clamp_for_pair.h"

#include <algorithm>
#include <limits>

#include "lower/quantized_value.h"
#include "ops/dequantize/dequantize.h"
#include "ops/softmax/softmax.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Where the values of a wire can lie, from its producer alone.
ClampBounds range_of_wire(const Graph& graph, ValueId wire) {
  const Node* node = graph.producer(wire);
  if (node == nullptr) return {-kInfinity, kInfinity};
  const auto* softmax = node->attrs.get_if<SoftmaxAttrs>();
  if (softmax != nullptr && softmax->kind == SoftmaxKind::softmax) return {0.0f, 1.0f};
  if (const auto bounds = clamp_bounds(*node)) return *bounds;
  const auto* unary = node->attrs.get_if<UnaryAttrs>();
  if (unary == nullptr) return {-kInfinity, kInfinity};
  switch (unary->kind) {
    case UnaryKind::sigmoid:
    case UnaryKind::hard_sigmoid: return {0.0f, 1.0f};
    case UnaryKind::tanh:
    case UnaryKind::erf: return {-1.0f, 1.0f};
    default: return {-kInfinity, kInfinity};
  }
}

}  // namespace

Match clamp_for_pair(const Graph& graph, const Node& node) {
  const auto after = dequantized_by(graph, node);
  if (!after) return std::string();
  const Node* before = graph.producer(after->q);
  const auto end = before == nullptr ? std::nullopt : quantized_by(graph, *before);
  if (!end) return std::string();
  if (end->type != after->type) return std::string("the quantize before it has another scale");
  ClampBounds range{dequantize_value(end->lowest, end->type.scale, end->type.zero_point),
                    dequantize_value(end->highest, end->type.scale, end->type.zero_point)};
  const ClampBounds known = range_of_wire(graph, end->x);
  // One step beyond the range still counts as inside: a sigmoid reaches 1, its usual scale of 1/256 reaches 255/256.
  if (known.lowest >= range.lowest - end->type.scale) range.lowest = -kInfinity;
  if (known.highest <= range.highest + end->type.scale) range.highest = kInfinity;
  Patch patch(graph);
  const bool is_redundant = range.lowest == -kInfinity && range.highest == kInfinity;
  const bool keeps_output =
      graph.is_output(node.outputs[0]) && (graph.producer(end->x) == nullptr || graph.is_output(end->x));
  const UnaryAttrs clip{UnaryKind::clip, range.lowest, range.highest};
  patch.replace(node.outputs[0], is_redundant && !keeps_output
                                     ? end->x
                                     : patch.add(kUnary, clip, {end->x}, before->name, before->origin));
  return patch;
}

Match merge_clamps(const Graph& graph, const Node& node) {
  const auto outer = clamp_bounds(node);
  const Node* before = outer ? graph.producer_if(node.inputs[0], kUnary) : nullptr;
  const auto inner = before == nullptr ? std::nullopt : clamp_bounds(*before);
  if (!inner || graph.fact(node.outputs[0]).dtype != DType::f32 || !graph.has_one_reader(node.inputs[0]))
    return std::string();
  const auto through = [&](float bound) { return std::min(std::max(bound, outer->lowest), outer->highest); };
  const UnaryAttrs both{UnaryKind::clip, through(inner->lowest), through(inner->highest)};
  const bool is_relu = both.alpha == 0.0f && both.beta == kInfinity;
  Patch patch(graph);
  const UnaryAttrs attrs = is_relu ? UnaryAttrs{UnaryKind::relu} : both;
  patch.replace(node.outputs[0], patch.add(kUnary, attrs, {before->inputs[0]}, node.name, node.origin));
  return patch;
}

}  // namespace octavo
