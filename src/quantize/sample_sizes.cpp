// Grouping samples by their shapes. Part of quantize/.
#include "quantize/sample_sizes.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/input_sizes.h"
#include "base/sizes.h"

namespace octavo {
namespace {

bool is_empty(const Shape& shape) { return shape.elements() == 0; }

bool has_empty(const SampleGroup& group) { return std::any_of(group.shapes.begin(), group.shapes.end(), is_empty); }

// Its sizes, and what they make of the graph.
Result<SizedGroup> sized(const Graph& graph, SampleGroup group) {
  if (group.shapes.size() != graph.inputs().size()) {
    return Error{.kind = ErrorKind::invalid_input,
                 .found = std::to_string(group.shapes.size()) + " tensors",
                 .expected = std::to_string(graph.inputs().size())};
  }
  auto sizes = sizes_at(graph, group.shapes);
  if (!sizes) return sizes.errors();
  auto extents = graph.sizes()->evaluate(*sizes);
  if (!extents) return extents.errors();
  return SizedGroup{std::move(group), std::move(*sizes), std::move(*extents)};
}

}  // namespace

Result<std::vector<Shape>> SampleSource::shapes(std::int64_t index) const {
  const auto tensors = sample(index);
  if (!tensors) return tensors.errors();
  std::vector<Shape> shapes;
  for (const Tensor& tensor : *tensors) shapes.push_back(tensor.shape());
  return shapes;
}

Result<std::vector<SampleGroup>> sample_groups(const SampleSource& samples) {
  std::vector<SampleGroup> groups;
  std::map<std::vector<std::vector<std::int64_t>>, std::size_t> by_shapes;
  for (std::int64_t index = 0; index < samples.size(); ++index) {
    auto shapes = samples.shapes(index);
    if (!shapes) return shapes.errors();
    std::vector<std::vector<std::int64_t>> key;
    for (const Shape& shape : *shapes) key.push_back(shape.to_vector());
    const auto [at, is_new] = by_shapes.try_emplace(std::move(key), groups.size());
    if (is_new) groups.push_back({std::move(*shapes), {}});
    groups[at->second].indices.push_back(index);
  }
  const auto rank = [](const SampleGroup& group) { return std::pair(!has_empty(group), group.indices.size()); };
  const auto most = std::ranges::max_element(groups, {}, rank);
  if (most != groups.end()) std::rotate(groups.begin(), most, most + 1);
  return groups;
}

Result<std::vector<std::int64_t>> sizes_at(const Graph& graph, std::span<const Shape> shapes) {
  if (graph.sizes() == nullptr) return std::vector<std::int64_t>();
  std::vector<SizedInput> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    inputs.push_back({value.name, value.fact.shape.to_vector(), &shapes[i]});
  }
  return sizes_of(*graph.sizes(), inputs);
}

Result<std::vector<SizedGroup>> sized_groups(const Graph& graph, const SampleSource& samples) {
  auto groups = sample_groups(samples);
  if (!groups) return groups.errors();
  std::vector<SizedGroup> all;
  for (SampleGroup& group : *groups) {
    const std::string name = samples.name(group.indices.front());
    auto one = sized(graph, std::move(group));
    if (!one) {
      Errors errors = std::move(one).errors();
      for (Error& error : errors) {
        error.kind = ErrorKind::invalid_input;
        error.where = error.where.empty() ? name : name + ": " + error.where;
      }
      return errors;
    }
    all.push_back(std::move(*one));
  }
  return all;
}

Status check_shown(const Graph& graph, const SampleSource& samples, const SampleGroup& most) {
  const auto empty = std::find_if(most.shapes.begin(), most.shapes.end(), is_empty);
  if (empty == most.shapes.end()) return ok_status();
  const ValueId input = graph.inputs()[static_cast<std::size_t>(empty - most.shapes.begin())];
  return Error{.kind = ErrorKind::invalid_input,
               .where = samples.name(most.indices.front()) + ": input '" + graph.value(input).name + "'",
               .found = empty->to_string(),
               .expected = "a sample in which every input has an element"};
}

Result<std::vector<ValueId>> same_wires(const Graph& graph, const std::vector<ValueId>& wires, const Graph& other) {
  std::unordered_map<std::string, ValueId> by_name;
  for (const ValueId input : other.inputs()) by_name.emplace(other.value(input).name, input);
  for (const NodeId id : other.order()) {
    for (const ValueId output : other.node(id).outputs) by_name.emplace(other.value(output).name, output);
  }
  std::vector<ValueId> same;
  for (const ValueId wire : wires) {
    const auto found = by_name.find(graph.value(wire).name);
    if (found == by_name.end()) {
      return Error{.kind = ErrorKind::internal,
                   .where = "value '" + graph.value(wire).name + "'",
                   .found = "none at another size",
                   .expected = "one"};
    }
    same.push_back(found->second);
  }
  return same;
}

}  // namespace octavo
