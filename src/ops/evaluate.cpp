// Runs the references in the graph's order. Part of ops/.
#include "ops/evaluate.h"

#include <algorithm>
#include <new>

#include "base/exceptions.h"

namespace octavo {
namespace {

std::string describe(DType dtype, const Shape& shape) { return std::string(name_of(dtype)) + " " + shape.to_string(); }

Error out_of_memory(std::string where) {
  return {.kind = ErrorKind::resource,
          .where = std::move(where),
          .found = "not enough memory",
          .expected = "room for its results"};
}

std::vector<Tensor> run_reference(const OpSpec& spec, const Attrs& attrs, InputViews inputs,
                                  std::span<const Fact* const> facts) {
  std::vector<Tensor> outputs;
  std::vector<TensorView> views;
  for (const Fact* fact : facts) {
    outputs.emplace_back(fact->dtype, fact->shape);
    views.push_back(outputs.back().view());
  }
  spec.reference(attrs, inputs, views);
  return outputs;
}

// The tensors of a graph while it runs, each kept until its last reader has run.
class Store {
 public:
  explicit Store(const Graph& graph) : graph_(graph), tensors_(count()), uses_(count(), 0) {
    for (NodeId id : graph.order()) {
      for (ValueId input : graph.node(id).inputs) {
        if (input.exists()) ++uses_[at(input)];
      }
    }
    for (ValueId output : graph.outputs()) ++uses_[at(output)];
  }

  void put(ValueId id, Tensor tensor) {
    if (uses_[at(id)] > 0) tensors_[at(id)] = std::move(tensor);
  }
  Tensor get(ValueId id) const {
    const Fact& fact = graph_.fact(id);
    return fact.is_constant() ? *fact.constant : tensors_[at(id)];
  }
  ConstTensorView view(ValueId id) const {
    if (!id.exists()) return {};
    const Fact& fact = graph_.fact(id);
    return fact.is_constant() ? fact.constant->view() : tensors_[at(id)].view();
  }
  void release(ValueId id) {
    if (id.exists() && --uses_[at(id)] == 0) tensors_[at(id)] = Tensor();
  }

 private:
  std::size_t count() const { return static_cast<std::size_t>(graph_.value_count()); }
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id.index); }
  const Graph& graph_;
  std::vector<Tensor> tensors_;
  std::vector<int> uses_;
};

Status check_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return Error{.kind = ErrorKind::usage,
                 .where = "evaluation",
                 .found = std::to_string(inputs.size()) + " inputs",
                 .expected = std::to_string(graph.inputs().size())};
  }
  Errors errors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    if (inputs[i].dtype() == value.fact.dtype && inputs[i].shape() == value.fact.shape) continue;
    errors.push_back({.kind = ErrorKind::usage,
                      .where = "input '" + value.name + "'",
                      .found = describe(inputs[i].dtype(), inputs[i].shape()),
                      .expected = describe(value.fact.dtype, value.fact.shape)});
  }
  if (!errors.empty()) return errors;
  return ok_status();
}

void run_node(const Graph& graph, const Node& node, Store& store, const ValueObserver& observer) {
  std::vector<ConstTensorView> inputs;
  for (ValueId input : node.inputs) inputs.push_back(store.view(input));
  // References find an input that is left out at the end by its missing data too.
  inputs.resize(std::max(inputs.size(), node.spec->inputs.size()));
  if (!node.spec->inputs.empty() && node.spec->inputs.back().back() == '*') inputs.resize(node.inputs.size());
  std::vector<const Fact*> facts;
  for (ValueId output : node.outputs) facts.push_back(&graph.fact(output));
  std::vector<Tensor> outputs = run_reference(*node.spec, node.attrs, inputs, facts);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (observer) observer(node.outputs[i], outputs[i]);
    store.put(node.outputs[i], std::move(outputs[i]));
  }
  for (ValueId input : node.inputs) store.release(input);
}

}  // namespace

Result<std::vector<Tensor>> evaluate_op(const OpSpec& spec, const Attrs& attrs,
                                        std::span<const ConstTensorView> inputs) {
  std::vector<Fact> facts;
  for (const ConstTensorView& input : inputs) facts.push_back({.dtype = input.dtype, .shape = input.shape});
  std::vector<const Fact*> present;
  for (std::size_t i = 0; i < inputs.size(); ++i) present.push_back(inputs[i].data != nullptr ? &facts[i] : nullptr);
  const auto inferred = infer_checked(spec, attrs, present);
  if (!inferred) return inferred.errors();
  std::vector<const Fact*> results;
  for (const Fact& fact : *inferred) results.push_back(&fact);
  using Tensors = Result<std::vector<Tensor>>;
  return attempt<std::bad_alloc>([&]() -> Tensors { return run_reference(spec, attrs, inputs, results); },
                                 [&]() -> Tensors { return out_of_memory(std::string(spec.name)); });
}

Result<std::vector<Tensor>> evaluate(const Graph& graph, std::span<const Tensor> inputs,
                                     const ValueObserver& observer) {
  if (const Status checked = check_inputs(graph, inputs); !checked) return checked.errors();
  std::string at = "evaluation";
  const auto run = [&]() -> Result<std::vector<Tensor>> {
    Store store(graph);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (observer) observer(graph.inputs()[i], inputs[i]);
      store.put(graph.inputs()[i], inputs[i]);
    }
    for (NodeId id : graph.order()) {
      at = "node '" + graph.node(id).name + "'";
      run_node(graph, graph.node(id), store, observer);
    }
    std::vector<Tensor> outputs;
    for (ValueId output : graph.outputs()) outputs.push_back(store.get(output));
    return outputs;
  };
  return attempt<std::bad_alloc>(run, [&]() -> Result<std::vector<Tensor>> { return out_of_memory(std::move(at)); });
}

}  // namespace octavo
