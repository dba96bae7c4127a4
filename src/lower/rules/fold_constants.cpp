// Constant folding. Part of lower/.
#include "lower/rules/fold_constants.h"

#include <algorithm>

#include "graph/open_shape.h"
#include "ops/dequantize/dequantize.h"
#include "ops/evaluate.h"

namespace octavo {
namespace {

// A result may be larger than what it is made of by this many elements: a file must not grow into a compiled model of
// any size.
constexpr std::int64_t kLargestGrowth = 16384;

std::int64_t input_elements(const Graph& graph, const Node& node) {
  std::int64_t elements = 0;
  for (ValueId input : node.inputs) elements += input.exists() ? graph.fact(input).shape.elements().example() : 0;
  return elements;
}

// Constants that depend on open sizes are none yet.
bool depends_on_constants_only(const Graph& graph, const Node& node) {
  return !node.inputs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    return !input.exists() || (graph.fact(input).is_constant() && graph.fact(input).extents == nullptr);
  });
}

}  // namespace

Match fold_all_constants(const Graph& graph, const Node& node) {
  if (!depends_on_constants_only(graph, node)) return std::string();
  for (ValueId output : node.outputs) {
    if (graph.is_output(output)) return std::string();  // a plan gives outputs to nodes
    if (is_open(graph.fact(output).shape.dims())) return std::string();
    if (graph.fact(output).shape.elements() > input_elements(graph, node) + kLargestGrowth)
      return std::string("its constant result is too large to store");
  }
  std::vector<ConstTensorView> inputs;
  for (ValueId input : node.inputs)
    inputs.push_back(input.exists() ? graph.fact(input).constant->view() : ConstTensorView{});
  auto results = evaluate_op(*node.spec, node.attrs, inputs);
  if (!results) return to_string(results.errors());
  Patch patch(graph);
  for (std::size_t i = 0; i < results->size(); ++i) {
    patch.replace(node.outputs[i], patch.constant(graph.value(node.outputs[i]).name, std::move((*results)[i])));
  }
  return patch;
}

Match fold_constants(const Graph& graph, const Node& node) {
  if (node.spec == &kDequantize) return std::string();
  return fold_all_constants(graph, node);
}

}  // namespace octavo
