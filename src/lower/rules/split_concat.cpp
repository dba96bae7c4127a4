// Concatenation of values that are quantized afterwards. Part of lower/.
#include "lower/rules/split_concat.h"

#include "lower/quantized_value.h"
#include "ops/concat/concat.h"
#include "ops/quantize/quantize.h"
#include "ops/unary/unary.h"

namespace octavo {
namespace {

// The node is copied once per part; networks concatenate a few tensors, and a bound keeps hostile graphs from growing
// without end.
constexpr std::size_t kMostParts = 64;

}  // namespace

Match before_concat(const Graph& graph, const Node& node) {
  const bool is_quantize = quantized_by(graph, node).has_value();
  if (!is_quantize && node.spec != &kUnary) return std::string();
  const Node* concat = graph.producer_if(node.inputs[0], kConcat);
  if (concat == nullptr || !graph.has_one_reader(node.inputs[0])) return std::string();
  if (concat->inputs.size() > kMostParts) return std::string("the concatenation before it has too many parts");
  Patch patch(graph);
  std::vector<ValueId> parts;
  for (ValueId part : concat->inputs) {
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = part;
    parts.push_back(patch.add(*node.spec, node.attrs, std::move(inputs), node.name + "/" + std::to_string(parts.size()),
                              node.origin));
    if (is_quantize && graph.fact(node.outputs[0]).quant)
      patch.set_quant(parts.back(), *graph.fact(node.outputs[0]).quant);
  }
  patch.replace(node.outputs[0], patch.add(kConcat, concat->attrs, std::move(parts), concat->name, concat->origin));
  return patch;
}

}  // namespace octavo
