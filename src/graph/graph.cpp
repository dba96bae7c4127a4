// Building, reading and changing a Graph. Part of graph/.
#include "graph/graph.h"

#include <algorithm>

namespace octavo {

Result<std::vector<Fact>> infer_checked(const OpSpec& spec, const Attrs& attrs, InputFacts inputs) {
  const bool is_variadic = !spec.inputs.empty() && spec.inputs.back().back() == '*';
  const std::size_t named = spec.inputs.size();
  if (inputs.size() > named && !is_variadic) {
    return shape_error(std::string(spec.name), std::to_string(inputs.size()) + " inputs", "at most " + std::to_string(named));
  }
  for (std::size_t i = 0; i < named; ++i) {
    const std::string_view name = spec.inputs[i];
    const bool may_be_absent = name.back() == '?' || name.back() == '*';
    const bool is_present = i < inputs.size() && inputs[i] != nullptr;
    if (!is_present && !may_be_absent) return shape_error(std::string(spec.name), "no input '" + std::string(name) + "'", "one");
  }
  auto facts = spec.infer(attrs, inputs);
  if (!facts) {
    Errors errors = std::move(facts).errors();
    for (Error& error : errors) {
      if (error.where.empty()) error.where = std::string(spec.name);
    }
    return errors;
  }
  for (const Fact& fact : *facts) {
    if (!checked_elements(fact.shape.dims())) {
      return shape_error(std::string(spec.name), "a result of shape " + fact.shape.to_string(), "at most 2^33 elements");
    }
  }
  return facts;
}

ValueId Graph::add_input(std::string name, DType dtype, Shape shape) {
  values_.push_back({.name = std::move(name), .fact = {.dtype = dtype, .shape = std::move(shape)}});
  inputs_.push_back({value_count() - 1});
  return inputs_.back();
}

ValueId Graph::add_constant(std::string name, Tensor tensor) {
  return add_constant(std::move(name), std::make_shared<const Tensor>(std::move(tensor)));
}

ValueId Graph::add_constant(std::string name, std::shared_ptr<const Tensor> tensor) {
  Fact fact{.dtype = tensor->dtype(), .shape = tensor->shape()};
  fact.constant = std::move(tensor);
  values_.push_back({.name = std::move(name), .fact = std::move(fact)});
  return {value_count() - 1};
}

Result<NodeId> Graph::add_node(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string name, std::string origin) {
  while (!inputs.empty() && !inputs.back().exists()) inputs.pop_back();
  std::vector<const Fact*> facts;
  for (ValueId input : inputs) facts.push_back(input.exists() ? &fact(input) : nullptr);
  auto inferred = infer_checked(spec, attrs, facts);
  if (!inferred) return std::move(inferred).errors();
  const NodeId id{static_cast<int>(nodes_.size())};
  std::vector<ValueId> outputs;
  for (Fact& fact : *inferred) {
    const std::string suffix = inferred->size() > 1 ? "." + std::to_string(outputs.size()) : "";
    values_.push_back({.name = name + suffix, .fact = std::move(fact), .producer = id});
    outputs.push_back({value_count() - 1});
  }
  nodes_.push_back({std::move(name), &spec, std::move(attrs), std::move(inputs), std::move(outputs), std::move(origin)});
  order_.push_back(id);
  return id;
}

Result<ValueId> Graph::add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string name, std::string origin) {
  auto id = add_node(spec, std::move(attrs), std::move(inputs), std::move(name), std::move(origin));
  if (!id) return std::move(id).errors();
  return node(*id).outputs.front();
}

void Graph::add_output(ValueId value, std::string name) {
  outputs_.push_back(value);
  output_names_.push_back(std::move(name));
}

std::vector<NodeId> Graph::readers(ValueId id) const {
  std::vector<NodeId> found;
  for (NodeId reader : order_) {
    const auto& inputs = node(reader).inputs;
    if (std::find(inputs.begin(), inputs.end(), id) != inputs.end()) found.push_back(reader);
  }
  return found;
}

bool Graph::is_output(ValueId id) const { return std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end(); }

const Node* Graph::producer(ValueId id) const {
  if (!id.exists() || !value(id).producer.exists()) return nullptr;
  return &node(value(id).producer);
}

const Node* Graph::producer_if(ValueId id, const OpSpec& spec) const {
  const Node* made_by = producer(id);
  return made_by != nullptr && made_by->spec == &spec ? made_by : nullptr;
}

bool Graph::has_one_reader(ValueId id) const {
  if (is_output(id)) return false;
  std::ptrdiff_t uses = 0;
  for (NodeId reader : order_) {
    const auto& inputs = node(reader).inputs;
    uses += std::count(inputs.begin(), inputs.end(), id);
  }
  return uses == 1;
}

std::vector<const Fact*> Graph::input_facts(const Node& node) const {
  std::vector<const Fact*> facts;
  for (ValueId input : node.inputs) facts.push_back(input.exists() ? &fact(input) : nullptr);
  return facts;
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (Node& node : nodes_) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

int Graph::remove_unused() {
  std::vector<bool> is_used(values_.size(), false);
  for (ValueId output : outputs_) is_used[static_cast<std::size_t>(output.index)] = true;
  std::vector<NodeId> kept;
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    const Node& candidate = node(*it);
    const bool is_live = std::any_of(candidate.outputs.begin(), candidate.outputs.end(),
                                     [&](ValueId output) { return is_used[static_cast<std::size_t>(output.index)]; });
    if (!is_live) continue;
    for (ValueId input : candidate.inputs) {
      if (input.exists()) is_used[static_cast<std::size_t>(input.index)] = true;
    }
    kept.push_back(*it);
  }
  std::reverse(kept.begin(), kept.end());
  const int removed = node_count() - static_cast<int>(kept.size());
  order_ = std::move(kept);
  return removed;
}

bool Graph::sort() {
  // Depth-first from each node in the present order, so that what is already in order stays so. Iterative: graphs may be deep.
  enum class Mark : char { unseen, open, done };
  std::vector<Mark> marks(nodes_.size(), Mark::unseen);
  std::vector<bool> is_live(nodes_.size(), false);
  for (NodeId id : order_) is_live[static_cast<std::size_t>(id.index)] = true;
  std::vector<NodeId> sorted;
  std::vector<std::pair<NodeId, std::size_t>> stack;  // node, next input to visit
  for (NodeId root : order_) {
    if (marks[static_cast<std::size_t>(root.index)] == Mark::done) continue;
    stack.push_back({root, 0});
    marks[static_cast<std::size_t>(root.index)] = Mark::open;
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      const Node& current = node(id);
      if (next == current.inputs.size()) {
        marks[static_cast<std::size_t>(id.index)] = Mark::done;
        sorted.push_back(id);
        stack.pop_back();
        continue;
      }
      const ValueId input = current.inputs[next++];
      if (!input.exists() || !value(input).producer.exists()) continue;
      const NodeId producer = value(input).producer;
      Mark& mark = marks[static_cast<std::size_t>(producer.index)];
      if (mark == Mark::open) return false;
      if (mark == Mark::done || !is_live[static_cast<std::size_t>(producer.index)]) continue;
      mark = Mark::open;
      stack.push_back({producer, 0});
    }
  }
  order_ = std::move(sorted);
  return true;
}

}  // namespace octavo
