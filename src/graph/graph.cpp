// Building, reading and changing a Graph. Part of graph/.
#include "graph/graph.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "graph/attrs_of.h"

namespace octavo {

template Attrs::Attrs(NoAttrs);

Result<std::vector<Fact>> infer_checked(const OpSpec& spec, const Attrs& attrs, InputFacts inputs) {
  const bool is_variadic = !spec.inputs.empty() && spec.inputs.back().back() == '*';
  const std::size_t named = spec.inputs.size();
  if (inputs.size() > named && !is_variadic) {
    return shape_error(std::string(spec.name), std::to_string(inputs.size()) + " inputs",
                       "at most " + std::to_string(named));
  }
  for (std::size_t i = 0; i < named; ++i) {
    const std::string_view name = spec.inputs[i];
    const bool may_be_absent = name.back() == '?' || name.back() == '*';
    const bool is_present = i < inputs.size() && inputs[i] != nullptr;
    if (!is_present && !may_be_absent)
      return shape_error(std::string(spec.name), "no input '" + std::string(name) + "'", "one");
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
      return shape_error(std::string(spec.name), "a result of shape " + fact.shape.to_string(),
                         "at most 2^33 elements");
    }
  }
  return facts;
}

std::int64_t macs_of(const OpSpec& spec, const Attrs& attrs, InputFacts inputs, const OpenShape& shape) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t depth = spec.depth == nullptr ? 0 : spec.depth(attrs, inputs);
  const std::int64_t elements = shape.elements().example();
  return depth > 0 && elements > most / depth ? most : elements * depth;
}

ValueId Graph::add_input(std::string name, DType dtype, OpenShape shape) {
  values_.push_back({.name = std::move(name), .fact = {.dtype = dtype, .shape = std::move(shape)}});
  uses_.emplace_back();
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
  uses_.emplace_back();
  return {value_count() - 1};
}

ValueId Graph::add_extents(std::string name, DType dtype, const Shape& shape, std::vector<Dim> extents) {
  Tensor examples(dtype, shape);
  for (std::size_t i = 0; i < extents.size(); ++i)
    store_double(examples.view(), static_cast<std::int64_t>(i), static_cast<double>(extents[i].example()));
  const ValueId id = add_constant(std::move(name), std::move(examples));
  values_.back().fact.extents = std::make_shared<const std::vector<Dim>>(std::move(extents));
  return id;
}

Status Graph::close(std::span<const std::int64_t> values) {
  const std::vector<Dim> dims(values.begin(), values.end());
  for (Value& value : values_) {
    Fact& fact = value.fact;
    for (int axis = 0; axis < fact.shape.rank(); ++axis) fact.shape[axis] = fact.shape[axis].at(values);
    if (!checked_elements(fixed(fact.shape.dims()))) {
      return Error{.kind = ErrorKind::usage,
                   .where = "value '" + value.name + "'",
                   .found = "shape " + fact.shape.to_string(),
                   .expected = "at most 2^33 elements"};
    }
    if (fact.extents == nullptr || fact.constant == nullptr) continue;
    Tensor numbers(fact.dtype, fact.shape);
    for (std::size_t i = 0; i < fact.extents->size(); ++i)
      store_double(numbers.view(), static_cast<std::int64_t>(i), static_cast<double>((*fact.extents)[i].at(values)));
    fact.constant = std::make_shared<const Tensor>(std::move(numbers));
    fact.extents = nullptr;
  }
  for (const NodeId id : order_) {
    Node& node = nodes_[static_cast<std::size_t>(id.index)];
    node.attrs = node.attrs.with_extents(dims);
  }
  sizes_ = nullptr;
  return verify(*this);
}

Result<NodeId> Graph::add_node(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string name,
                               std::string origin) {
  while (!inputs.empty() && !inputs.back().exists()) inputs.pop_back();
  std::vector<const Fact*> facts;
  for (ValueId input : inputs) facts.push_back(input.exists() ? &fact(input) : nullptr);
  if (sizes_ != nullptr) sizes_->set_asking("node '" + name + "'");
  const ShapeRuleAsks asks(sizes_.get());
  auto inferred = infer_checked(spec, attrs, facts);
  if (!inferred && sizes_ != nullptr) sizes_->note_refusal();
  if (!inferred) return std::move(inferred).errors();
  const NodeId id{static_cast<int>(nodes_.size())};
  std::vector<ValueId> outputs;
  for (Fact& fact : *inferred) {
    const std::string suffix = inferred->size() > 1 ? "." + std::to_string(outputs.size()) : "";
    values_.push_back({.name = name + suffix, .fact = std::move(fact), .producer = id});
    uses_.emplace_back();
    outputs.push_back({value_count() - 1});
  }
  for (ValueId input : inputs) {
    if (input.exists()) uses_[static_cast<std::size_t>(input.index)].push_back(id);
  }
  is_live_.push_back(true);
  nodes_.push_back(
      {std::move(name), &spec, std::move(attrs), std::move(inputs), std::move(outputs), std::move(origin)});
  order_.push_back(id);
  return id;
}

Result<ValueId> Graph::add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string name,
                           std::string origin) {
  auto id = add_node(spec, std::move(attrs), std::move(inputs), std::move(name), std::move(origin));
  if (!id) return std::move(id).errors();
  return node(*id).outputs.front();
}

void Graph::add_output(ValueId value, std::string name) {
  outputs_.push_back(value);
  add_output_uses(value, 1);
  output_names_.push_back(std::move(name));
}

std::vector<NodeId> Graph::readers(ValueId id) const {
  std::vector<NodeId> found;
  std::unordered_set<int> seen;
  for (NodeId reader : uses_[static_cast<std::size_t>(id.index)]) {
    if (seen.insert(reader.index).second) found.push_back(reader);
  }
  return found;
}

void Graph::add_output_uses(ValueId id, int uses) {
  const auto index = static_cast<std::size_t>(id.index);
  if (output_uses_.size() <= index) output_uses_.resize(index + 1);
  output_uses_[index] += uses;
}

const Node* Graph::producer(ValueId id) const {
  if (!id.exists() || !value(id).producer.exists()) return nullptr;
  return &node(value(id).producer);
}

const Node* Graph::producer_if(ValueId id, const OpSpec& spec) const {
  const Node* made_by = producer(id);
  return made_by != nullptr && made_by->spec == &spec ? made_by : nullptr;
}

bool Graph::has_one_reader(ValueId id) const {
  return uses_[static_cast<std::size_t>(id.index)].size() == 1 && !is_output(id);
}

std::vector<const Fact*> Graph::input_facts(const Node& node) const {
  std::vector<const Fact*> facts;
  for (ValueId input : node.inputs) facts.push_back(input.exists() ? &fact(input) : nullptr);
  return facts;
}

// A constant `from` leaves memory.
void Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  auto& moved = uses_[static_cast<std::size_t>(from.index)];
  for (NodeId reader : moved) {
    auto& inputs = nodes_[static_cast<std::size_t>(reader.index)].inputs;
    std::replace(inputs.begin(), inputs.end(), from, to);
  }
  auto& kept = uses_[static_cast<std::size_t>(to.index)];
  kept.insert(kept.end(), moved.begin(), moved.end());
  moved.clear();
  if (const int uses = output_uses(from); uses > 0) {
    std::replace(outputs_.begin(), outputs_.end(), from, to);
    add_output_uses(from, -uses);
    add_output_uses(to, uses);
  }
  // Nobody can ask for it again; rewrites of weights would otherwise keep every version in memory.
  values_[static_cast<std::size_t>(from.index)].fact.constant.reset();
}

void Graph::forget(NodeId id) {
  is_live_[static_cast<std::size_t>(id.index)] = false;
  for (ValueId input : node(id).inputs) {
    if (!input.exists()) continue;
    auto& uses = uses_[static_cast<std::size_t>(input.index)];
    const auto use = std::find(uses.begin(), uses.end(), id);
    if (use != uses.end()) uses.erase(use);
    if (uses.empty() && !is_output(input)) values_[static_cast<std::size_t>(input.index)].fact.constant.reset();
  }
}

void Graph::remove_if_unused(std::vector<NodeId> candidates) {
  while (!candidates.empty()) {
    const NodeId id = candidates.back();
    candidates.pop_back();
    if (!is_live(id)) continue;
    const auto& outputs = node(id).outputs;
    const bool is_read = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
      return !uses_[static_cast<std::size_t>(output.index)].empty() || is_output(output);
    });
    if (is_read) continue;
    forget(id);
    for (ValueId input : node(id).inputs) {
      if (input.exists() && value(input).producer.exists()) candidates.push_back(value(input).producer);
    }
  }
}

int Graph::remove_unused() {
  const int before = node_count();
  remove_if_unused(order_);
  std::erase_if(order_, [&](NodeId id) { return !is_live(id); });
  for (int i = 0; i < value_count(); ++i) {
    if (uses_[static_cast<std::size_t>(i)].empty() && !is_output({i}))
      values_[static_cast<std::size_t>(i)].fact.constant.reset();
  }
  return before - node_count();
}

bool Graph::sort() {
  // Depth-first from each node in the present order, so that what is already in order stays so. Iterative: graphs may
  // be deep.
  enum class Mark : char { unseen, open, done };
  std::vector<Mark> marks(nodes_.size(), Mark::unseen);
  std::vector<NodeId> sorted;
  std::vector<std::pair<NodeId, std::size_t>> stack;  // node, next input to visit
  for (NodeId root : order_) {
    if (!is_live(root) || marks[static_cast<std::size_t>(root.index)] == Mark::done) continue;
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
      if (mark == Mark::done || !is_live(producer)) continue;
      mark = Mark::open;
      stack.push_back({producer, 0});
    }
  }
  order_ = std::move(sorted);
  return true;
}

}  // namespace octavo
