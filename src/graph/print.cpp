// A Graph as text, one line per node. Part of graph/.
#include "graph/graph.h"

namespace octavo {
namespace {

std::string describe(const Fact& fact) {
  std::string text = std::string(name_of(fact.dtype)) + "[" + fact.shape.to_string() + "]";
  if (fact.quant && fact.quant->scale.size() == 1) {
    text += " scale=" + print(fact.quant->scale[0]) + " zero_point=" + std::to_string(fact.quant->zero_point[0]);
  } else if (fact.quant) {
    text += " scales on axis " + std::to_string(fact.quant->axis);
  }
  return text;
}

std::string reference_to(const Graph& graph, ValueId id) {
  if (!id.exists()) return "-";
  const bool is_constant = graph.fact(id).is_constant();
  return (is_constant ? "const " + describe(graph.fact(id)) : "%" + std::to_string(id.index));
}

}  // namespace

std::string to_string(const Graph& graph) {
  std::string text;
  for (ValueId input : graph.inputs()) {
    text += "%" + std::to_string(input.index) + " " + describe(graph.fact(input)) + " = input '" +
            graph.value(input).name + "'\n";
  }
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (ValueId output : node.outputs) {
      text += (output == node.outputs.front() ? "" : ", ") + ("%" + std::to_string(output.index)) + " " +
              describe(graph.fact(output));
    }
    text += " = " + std::string(node.spec->name) + "(";
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      text += (i == 0 ? "" : ", ") + reference_to(graph, node.inputs[i]);
    text += ") " + node.attrs.to_string() + " '" + node.name + "'\n";
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    text += "output '" + graph.output_names()[i] + "' = " + reference_to(graph, graph.outputs()[i]) + "\n";
  }
  return text;
}

}  // namespace octavo
