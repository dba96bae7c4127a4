// Transposes before matrix products. Part of lower/.
#include "lower/rules/transpose_into_weights.h"

#include <optional>

#include "lower/quantized_value.h"
#include "lower/tensor_edit.h"
#include "ops/conv/conv.h"
#include "ops/dequantize/dequantize.h"
#include "ops/reshape/reshape.h"
#include "ops/transpose/transpose.h"

namespace octavo {
namespace {

bool is_row_product(const Graph& graph, const Node& node) {
  const auto& attrs = node.attrs.as<ConvAttrs>();
  const OpenShape& x = graph.fact(node.inputs[0]).shape;
  return attrs.layout == Layout::channels_last && attrs.groups == 1 && attrs.window == unit_window({1, 1}) &&
         x.rank() == 4 && is_one(x[1]) && is_one(x[2]);
}

// The transpose under the product's input and the dequantize that may stand over it.
struct WeightTransposeChain {
  const Node* dequantize = nullptr;
  const Node* transpose = nullptr;
};
std::optional<WeightTransposeChain> weight_transpose_chain_of(const Graph& graph, const Node& node) {
  WeightTransposeChain chain;
  ValueId wire = node.inputs[0];
  if (dequantized(graph, wire)) {
    chain.dequantize = graph.producer(wire);
    wire = chain.dequantize->inputs[0];
  }
  const Node* reshape = graph.producer_if(wire, kReshape);
  chain.transpose = reshape == nullptr ? nullptr : graph.producer_if(reshape->inputs[0], kTranspose);
  if (chain.transpose == nullptr || !graph.has_one_reader(wire)) return std::nullopt;
  const OpenShape& moved = graph.fact(chain.transpose->outputs[0]).shape;
  const bool keeps_batch = chain.transpose->attrs.as<TransposeAttrs>().perm[0] == 0 &&
                           is_same(moved[0], graph.fact(node.inputs[0]).shape[0]);
  return keeps_batch ? std::optional(chain) : std::nullopt;
}

// [OC, 1, 1, K] with its K columns, which are in the order of `moved` (batch left out), in the order before the
// transpose.
Tensor reordered(const Tensor& w, const OpenShape& moved, const Axes& perm) {
  std::vector<std::int64_t> split = {w.shape()[0]};
  for (int axis = 1; axis < moved.rank(); ++axis) split.push_back(moved[axis]);
  return transposed(w.reshaped(Shape(split)), inverse(perm)).reshaped(w.shape());
}

}  // namespace

Match transpose_into_weights(const Graph& graph, const Node& node) {
  if (node.spec != &kConv || !is_row_product(graph, node)) return std::string();
  const auto chain = weight_transpose_chain_of(graph, node);
  if (!chain) return std::string();
  const Fact& w = graph.fact(node.inputs[1]);
  const auto quantized = quantized_constant(graph, node.inputs[1]);
  if (!w.is_constant() && (!quantized || quantized->axis > 0)) return std::string("its weights are not constant");
  const OpenShape& moved = graph.fact(chain->transpose->outputs[0]).shape;
  const Axes& perm = chain->transpose->attrs.as<TransposeAttrs>().perm;

  Patch patch(graph);
  std::vector<ValueId> inputs = node.inputs;
  const ReshapeAttrs rows{graph.fact(node.inputs[0]).shape.to_vector()};
  inputs[0] = patch.add(kReshape, rows, {chain->transpose->inputs[0]}, node.name + "/rows", node.origin);
  if (chain->dequantize != nullptr) {
    std::vector<ValueId> outer = chain->dequantize->inputs;
    outer[0] = inputs[0];
    inputs[0] = patch.add(kDequantize, chain->dequantize->attrs, std::move(outer), chain->dequantize->name,
                          chain->dequantize->origin);
  }
  if (w.is_constant()) {
    inputs[1] = patch.constant(graph.value(node.inputs[1]).name, reordered(*w.constant, moved, perm));
  } else {
    const Node& dequantize = *graph.producer(node.inputs[1]);
    std::vector<ValueId> outer = dequantize.inputs;
    outer[0] = patch.constant(graph.value(outer[0]).name, reordered(*quantized->q, moved, perm));
    inputs[1] = patch.add(kDequantize, dequantize.attrs, std::move(outer), dequantize.name, dequantize.origin);
  }
  patch.replace(node.outputs[0], patch.add(kConv, node.attrs, std::move(inputs), node.name, node.origin));
  return patch;
}

}  // namespace octavo
