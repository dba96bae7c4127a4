// The rewrite of channels_last operators. Part of export/.
#include "export/channels_first.h"

#include "graph/patch.h"
#include "ops/average_pool/average_pool.h"
#include "ops/conv/conv.h"
#include "ops/conv_transpose/conv_transpose.h"
#include "ops/dequantize/dequantize.h"
#include "ops/max_pool/max_pool.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

// [N, spatial, C] -> [N, C, spatial].
Axes to_first(int rank) {
  Axes perm = {0, rank - 1};
  for (int axis = 1; axis < rank - 1; ++axis) perm.push_back(axis);
  return perm;
}

// [N, C, spatial] -> [N, spatial, C].
Axes to_last(int rank) {
  Axes perm = {0};
  for (int axis = 2; axis < rank; ++axis) perm.push_back(axis);
  perm.push_back(1);
  return perm;
}

ValueId transposed(Patch& patch, ValueId x, Axes perm, const Node& node, const std::string& suffix) {
  return patch.add(kTranspose, TransposeAttrs{.perm = std::move(perm)}, {x}, node.name + suffix, node.origin);
}

ValueId transposed_constant(Patch& patch, const Value& weights) {
  const Axes perm = to_first(weights.fact.shape.rank());
  std::vector<std::int64_t> dims;
  for (const std::int64_t axis : perm) dims.push_back(weights.fact.shape[static_cast<int>(axis)]);
  Tensor tensor(weights.fact.dtype, Shape(dims));
  const ConstTensorView x = weights.fact.constant->view();
  const TensorView y = tensor.view();
  kTranspose.reference(TransposeAttrs{.perm = perm}, {&x, 1}, {&y, 1});
  return patch.constant(weights.name, std::move(tensor));
}

ValueId weights_first(const Graph& graph, Patch& patch, const Node& node) {
  const Value& weights = graph.value(node.inputs[1]);
  if (weights.fact.is_constant()) return transposed_constant(patch, weights);
  const Node* made_by = graph.producer_if(node.inputs[1], kDequantize);
  const bool is_quantized_constant = made_by != nullptr && graph.fact(made_by->inputs[0]).is_constant() &&
                                     made_by->attrs.as<DequantizeAttrs>().axis <= 0;
  if (!is_quantized_constant)
    return transposed(patch, node.inputs[1], to_first(weights.fact.shape.rank()), node, "/weights_first");
  std::vector<ValueId> inputs = made_by->inputs;
  inputs[0] = transposed_constant(patch, graph.value(inputs[0]));
  return patch.add(kDequantize, made_by->attrs, std::move(inputs), made_by->name, made_by->origin);
}

template <class T>
bool is_last(const Node& node, const OpSpec& spec) {
  return node.spec == &spec && node.attrs.as<T>().layout == Layout::channels_last;
}

template <class T>
Attrs first(const Node& node) {
  T attrs = node.attrs.as<T>();
  attrs.layout = Layout::channels_first;
  return attrs;
}

Match channels_first(const Graph& graph, const Node& node) {
  const bool is_conv = is_last<ConvAttrs>(node, kConv);
  const bool is_transposed = is_last<ConvTransposeAttrs>(node, kConvTranspose);
  const bool is_average = is_last<AveragePoolAttrs>(node, kAveragePool);
  if (!is_conv && !is_transposed && !is_average && !is_last<MaxPoolAttrs>(node, kMaxPool)) return std::string();
  const int rank = graph.fact(node.outputs[0]).shape.rank();
  Patch patch(graph);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = transposed(patch, inputs[0], to_first(rank), node, "/channels_first");
  if (is_conv || is_transposed) inputs[1] = weights_first(graph, patch, node);
  const Attrs attrs = is_conv         ? first<ConvAttrs>(node)
                      : is_transposed ? first<ConvTransposeAttrs>(node)
                      : is_average    ? first<AveragePoolAttrs>(node)
                                      : first<MaxPoolAttrs>(node);
  const ValueId y = patch.add(*node.spec, attrs, std::move(inputs), node.name, node.origin);
  patch.replace(node.outputs[0], transposed(patch, y, to_last(rank), node, "/channels_last"));
  return patch;
}

}  // namespace

Status make_channels_first(Graph& graph) {
  const PassReport report = rewrite(graph, "channels_first", channels_first);
  if (!report.failures.empty()) return report.failures;
  return ok_status();
}

}  // namespace octavo
