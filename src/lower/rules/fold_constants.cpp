// Constant folding. Part of lower/.
#include "lower/rules/fold_constants.h"

#include <algorithm>

#include "ops/dequantize/dequantize.h"
#include "ops/evaluate.h"

namespace octavo {
namespace {

// Larger constants would make the compiled model larger than the file that asks for them.
constexpr std::int64_t kLargestFolded = std::int64_t{1} << 27;

bool depends_on_constants_only(const Graph& graph, const Node& node) {
  return !node.inputs.empty() &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return !input.exists() || graph.fact(input).is_constant(); });
}

}  // namespace

Match fold_all_constants(const Graph& graph, const Node& node) {
  if (!depends_on_constants_only(graph, node)) return std::string();
  for (ValueId output : node.outputs) {
    if (graph.is_output(output)) return std::string();  // a plan gives outputs to nodes
    if (graph.fact(output).shape.elements() > kLargestFolded) return std::string("its constant result is too large to store");
  }
  std::vector<ConstTensorView> inputs;
  for (ValueId input : node.inputs) inputs.push_back(input.exists() ? graph.fact(input).constant->view() : ConstTensorView{});
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
