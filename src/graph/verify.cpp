// What must hold of every Graph between two passes. Part of graph/.
#include <set>

#include "graph/graph.h"

namespace octavo {
namespace {

Error broken(const std::string& where, std::string found, std::string expected) {
  return {.kind = ErrorKind::internal, .where = where, .found = std::move(found), .expected = std::move(expected)};
}

void check_facts(const Graph& graph, const Node& node, Errors& errors) {
  const ShapeRuleAsks asks(graph.sizes().get());
  auto inferred = infer_checked(*node.spec, node.attrs, graph.input_facts(node));
  if (!inferred) {
    for (const Error& error : inferred.errors())
      errors.push_back(broken("node '" + node.name + "' " + error.where, error.found, error.expected));
    return;
  }
  if (inferred->size() != node.outputs.size()) {
    errors.push_back(broken("node '" + node.name + "'", std::to_string(node.outputs.size()) + " outputs",
                            std::to_string(inferred->size())));
    return;
  }
  for (std::size_t i = 0; i < inferred->size(); ++i) {
    const Fact& held = graph.fact(node.outputs[i]);
    if (held.dtype == (*inferred)[i].dtype && held.shape == (*inferred)[i].shape) continue;
    errors.push_back(broken("node '" + node.name + "' output " + std::to_string(i),
                            std::string(name_of(held.dtype)) + " " + held.shape.to_string(),
                            std::string(name_of((*inferred)[i].dtype)) + " " + (*inferred)[i].shape.to_string()));
  }
}

void check_unique(const std::vector<std::string>& names, const char* what, Errors& errors) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) errors.push_back(broken(what, "two named '" + name + "'", "unique names"));
  }
}

}  // namespace

Status verify(const Graph& graph) {
  Errors errors;
  if (graph.sizes() != nullptr && graph.sizes()->is_full()) {
    errors.push_back({.kind = ErrorKind::unsupported,
                      .where = "the dimensions that stay open",
                      .found = "more arithmetic on them than Octavo holds",
                      .expected = "less",
                      .hint = "Give shapes with --shape"});
  }
  std::vector<bool> is_made(static_cast<std::size_t>(graph.value_count()), false);
  std::vector<std::string> input_names;
  for (ValueId input : graph.inputs()) {
    is_made[static_cast<std::size_t>(input.index)] = true;
    input_names.push_back(graph.value(input).name);
  }
  for (int i = 0; i < graph.value_count(); ++i) {
    if (graph.fact({i}).is_constant()) is_made[static_cast<std::size_t>(i)] = true;
  }
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    bool is_ready = true;
    for (ValueId input : node.inputs) {
      if (!input.exists()) continue;
      if (input.index >= graph.value_count() || !is_made[static_cast<std::size_t>(input.index)]) {
        errors.push_back(
            broken("node '" + node.name + "'", "an input that no earlier node makes", "an order of computation"));
        is_ready = false;
      }
    }
    if (is_ready) check_facts(graph, node, errors);
    for (ValueId output : node.outputs) is_made[static_cast<std::size_t>(output.index)] = true;
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    if (!is_made[static_cast<std::size_t>(graph.outputs()[i].index)]) {
      errors.push_back(
          broken("output '" + graph.output_names()[i] + "'", "a value that no node makes", "one that is computed"));
    }
  }
  check_unique(input_names, "graph inputs", errors);
  check_unique(graph.output_names(), "graph outputs", errors);
  if (!errors.empty()) return errors;
  return ok_status();
}

}  // namespace octavo
