// Constant folding. Part of lower/.
#include "lower/rules/fold_constants.h"

#include <algorithm>
#include <optional>

#include "graph/open_shape.h"
#include "ops/dequantize/dequantize.h"
#include "ops/evaluate.h"

namespace octavo {
namespace {

// A result may be larger than what it is made of by this many elements.
constexpr std::int64_t kSmallGrowth = 1024;

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

// Elements that the results have more than the inputs; nothing where it is no matter of folding.
std::optional<std::int64_t> growth_by_folding(const Graph& graph, const Node& node) {
  if (!depends_on_constants_only(graph, node)) return std::nullopt;
  std::int64_t growth = -input_elements(graph, node);
  for (ValueId output : node.outputs) {
    if (graph.is_output(output)) return std::nullopt;  // a plan gives outputs to nodes
    if (is_open(graph.fact(output).shape.dims())) return std::nullopt;
    growth += std::int64_t{graph.fact(output).shape.elements()};
  }
  return growth;
}

Match folded(const Graph& graph, const Node& node) {
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

}  // namespace

Match fold_all_constants(const Graph& graph, const Node& node) {
  const auto growth = growth_by_folding(graph, node);
  if (!growth) return std::string();
  return *growth > kSmallGrowth ? Match("its constant result is too large to store") : folded(graph, node);
}

Match fold_large_constants(const Graph& graph, const Node& node, FoldBudget& budget) {
  const auto growth = growth_by_folding(graph, node);
  if (!growth || *growth <= kSmallGrowth || node.spec == &kDequantize) return std::string();
  const std::int64_t macs = macs_of(*node.spec, node.attrs, graph.input_facts(node), graph.fact(node.outputs[0]).shape);
  if (*growth > budget.elements || macs > budget.macs) return std::string("its constant result is too large to store");
  budget.elements -= *growth;
  budget.macs -= macs;
  return folded(graph, node);
}

Match fold_constants(const Graph& graph, const Node& node) {
  if (node.spec == &kDequantize) return std::string();
  return fold_all_constants(graph, node);
}

}  // namespace octavo
