// Stored graphs, and the planner that programs link. Part of planner/.
#include "planner/open_planner.h"

#include <algorithm>

#include "ops/list.h"
#include "planner/measurement_log.h"
#include "planner/planner.h"
#include "run/plan_provider.h"

namespace octavo {
namespace {

// ---- graph -> data ----

class Storer {
 public:
  Storer(const Graph& graph, ConstantSink& constants)
      : graph_(graph), constants_(constants), index_(static_cast<std::size_t>(graph.value_count()), -1) {}

  OpenNetwork store() {
    network_.sizes = graph_.sizes()->program();
    for (const ValueId input : graph_.inputs()) network_.inputs.push_back(index_of(input));
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      StoredNode stored{
          .name = node.name, .origin = node.origin, .op = std::string(node.spec->name), .attrs = node.attrs.encoded()};
      for (const ValueId input : node.inputs) stored.inputs.push_back(input.exists() ? index_of(input) : -1);
      for (const ValueId output : node.outputs) stored.outputs.push_back(index_of(output));
      network_.nodes.push_back(std::move(stored));
    }
    for (const ValueId output : graph_.outputs()) network_.outputs.push_back(index_of(output));
    network_.output_names = graph_.output_names();
    return std::move(network_);
  }

 private:
  // The graph's table of sizes may be gone before the network is.
  static std::vector<Dim> as_numbers(std::span<const Dim> dims) {
    std::vector<Dim> numbers;
    for (const Dim& dim : dims) numbers.emplace_back(encoded(dim));
    return numbers;
  }

  std::int32_t index_of(ValueId id) {
    std::int32_t& index = index_[static_cast<std::size_t>(id.index)];
    if (index >= 0) return index;
    const Value& value = graph_.value(id);
    const Fact& fact = value.fact;
    StoredValue stored{.name = value.name, .dtype = fact.dtype, .shape = as_numbers(fact.shape.dims())};
    if (fact.extents != nullptr) stored.extents = as_numbers(*fact.extents);
    else if (fact.is_constant() && !value.producer.exists())
      stored.constant = static_cast<std::int64_t>(constants_.add(std::as_const(*fact.constant).view()));
    if (fact.quant) stored.scale = {fact.quant->scale, fact.quant->zero_point, fact.quant->axis};
    network_.values.push_back(std::move(stored));
    return index = static_cast<std::int32_t>(network_.values.size()) - 1;
  }

  const Graph& graph_;
  ConstantSink& constants_;
  std::vector<std::int32_t> index_;  // by ValueId
  OpenNetwork network_;
};

// ---- data -> graph ----

Error damaged(std::string where, std::string found, std::string expected) {
  return {.kind = ErrorKind::invalid_input,
          .where = std::move(where),
          .found = std::move(found),
          .expected = std::move(expected)};
}

class Restorer {
 public:
  Restorer(const OpenNetwork& network, const ConstantSource& constants, std::span<const std::int64_t> values)
      : network_(network), constants_(constants), values_(values), made_(network.values.size()) {}

  Result<Graph> restore() {
    for (const std::int32_t input : network_.inputs) {
      if (!is_new(input)) return damaged("inputs", "value " + std::to_string(input), "one of its own");
      const StoredValue& value = value_at(input);
      const auto shape = shape_of(value);
      if (!shape) return shape.errors();
      made_at(input) = graph_.add_input(value.name, value.dtype, *shape);
      set_scale(input);
    }
    for (const StoredNode& node : network_.nodes) {
      if (const Status added = add(node); !added) return added.errors();
    }
    if (network_.outputs.size() != network_.output_names.size())
      return damaged("outputs", std::to_string(network_.output_names.size()) + " names",
                     std::to_string(network_.outputs.size()));
    for (std::size_t i = 0; i < network_.outputs.size(); ++i) {
      const auto output = read(network_.outputs[i]);
      if (!output) return output.errors();
      graph_.add_output(*output, network_.output_names[i]);
    }
    return std::move(graph_);
  }

 private:
  bool exists(std::int32_t index) const {
    return index >= 0 && static_cast<std::size_t>(index) < network_.values.size();
  }
  ValueId& made_at(std::int32_t index) { return made_[static_cast<std::size_t>(index)]; }
  const StoredValue& value_at(std::int32_t index) const { return network_.values[static_cast<std::size_t>(index)]; }
  bool is_new(std::int32_t index) { return exists(index) && !made_at(index).exists(); }

  Result<Shape> shape_of(const StoredValue& value) const {
    std::vector<std::int64_t> dims;
    for (const Dim& dim : value.shape) dims.push_back(dim.at(values_));
    constexpr std::size_t kMaxRank = 64;
    if (dims.size() <= kMaxRank && checked_elements(dims)) return Shape(dims);
    return Error{.kind = ErrorKind::usage,
                 .where = "value '" + value.name + "'",
                 .found = "shape " + print(dims),
                 .expected = "at most 2^33 elements in 64 dimensions"};
  }

  void set_scale(std::int32_t index) {
    if (const auto& scale = value_at(index).scale)
      graph_.set_quant(made_at(index), {scale->scale, scale->zero_point, scale->axis});
  }

  // A value that a node before made, or a constant.
  Result<ValueId> read(std::int32_t index) {
    if (!exists(index)) return damaged("value " + std::to_string(index), "no such value", "one of the network");
    if (made_at(index).exists()) return made_at(index);
    const StoredValue& value = value_at(index);
    auto shape = shape_of(value);
    if (!shape) return shape.errors();
    auto tensor = value.extents.empty() ? constant(value, *shape) : extents(value, *shape);
    if (!tensor) return tensor.errors();
    made_at(index) = graph_.add_constant(value.name, std::move(*tensor));
    set_scale(index);
    return made_at(index);
  }

  Result<Tensor> constant(const StoredValue& value, const Shape& shape) const {
    const std::uint64_t bytes = static_cast<std::uint64_t>(shape.elements()) * size_of(value.dtype);
    const std::byte* data =
        value.constant < 0 ? nullptr : constants_.find(static_cast<std::uint64_t>(value.constant), bytes);
    if (data == nullptr)
      return damaged("value '" + value.name + "'", "read before it is made, or outside the constants",
                     "a constant or the result of a node before");
    return Tensor::borrowed({value.dtype, shape, data});
  }

  Result<Tensor> extents(const StoredValue& value, const Shape& shape) const {
    if ((value.dtype != DType::s64 && value.dtype != DType::s32) ||
        shape.elements() != static_cast<std::int64_t>(value.extents.size()))
      return damaged("value '" + value.name + "'", std::to_string(value.extents.size()) + " extents",
                     "as many integers as it has elements");
    Tensor numbers(value.dtype, shape);
    for (std::size_t i = 0; i < value.extents.size(); ++i)
      store_double(numbers.view(), static_cast<std::int64_t>(i), static_cast<double>(value.extents[i].at(values_)));
    return numbers;
  }

  Status add(const StoredNode& node) {
    const std::string where = node.origin.empty() ? "node '" + node.name + "'" : node.origin;
    const OpSpec* spec = find_op(node.op);
    if (spec == nullptr) return damaged(where, "operator '" + node.op + "'", "one of this release");
    const auto attrs = spec->decode_attrs(node.attrs);
    if (!attrs) return damaged(where, "attributes that cannot be decoded", "those of " + node.op);
    std::vector<ValueId> inputs;
    for (const std::int32_t input : node.inputs) {
      const auto value = input == -1 ? Result<ValueId>(ValueId{}) : read(input);
      if (!value) return value.errors();
      inputs.push_back(*value);
    }
    const auto added = graph_.add_node(*spec, attrs->closed(values_), std::move(inputs), node.name, node.origin);
    if (!added) {
      Errors errors = added.errors();
      for (Error& error : errors) error.where = where + ", " + error.where;
      return errors;
    }
    const std::vector<ValueId> outputs = graph_.node(*added).outputs;
    if (outputs.size() != node.outputs.size())
      return damaged(where, std::to_string(node.outputs.size()) + " results", std::to_string(outputs.size()));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!is_new(node.outputs[i])) return damaged(where, "a result that something else makes", "one of its own");
      made_at(node.outputs[i]) = outputs[i];
      graph_.set_name(outputs[i], value_at(node.outputs[i]).name);
      set_scale(node.outputs[i]);
    }
    return ok_status();
  }

  const OpenNetwork& network_;
  const ConstantSource& constants_;
  std::span<const std::int64_t> values_;
  std::vector<ValueId> made_;  // by stored value
  Graph graph_;
};

class OpenPlanner final : public PlanProvider {
 public:
  Result<Plan> plan(const OpenNetwork& network, const ConstantSource& source, std::span<const std::int64_t> values,
                    BatchOrder order, ConstantSink& constants) const override {
    auto graph = graph_at(network, source, values);
    if (!graph) return graph.errors();
    const LowerOptions lowering{.precision = network.precision,
                                .kept_in_f32 = {network.kept_in_f32.begin(), network.kept_in_f32.end()}};
    std::vector<PlanIsland> islands = network.islands;
    if (network.waits_for_sizes) {
      auto report = lower_closed(*graph, lowering);
      if (!report) return report.errors();
      islands = told_islands(report->islands, lowering.kept_in_f32);
    }
    const PlanOptions options{.precision = network.precision,
                              .batch = batch_of(*graph),
                              .allow_reference = network.allow_reference,
                              .measured = cost_by(network.times),
                              .batch_order = order};
    auto plan = make_plan(std::move(*graph), network.machine, options, constants);
    if (!plan) return plan;
    plan->report.islands = std::move(islands);
    plan->report.notes = network.notes;
    return plan;
  }
};

}  // namespace

OpenNetwork open_network(const Graph& graph, ConstantSink& constants) { return Storer(graph, constants).store(); }

std::int64_t batch_of(const Graph& graph) {
  const OpenShape* first = graph.inputs().empty() ? nullptr : &graph.fact(graph.inputs().front()).shape;
  return first == nullptr || first->rank() == 0 ? 1 : (*first)[0].fixed();
}

std::vector<PlanIsland> told_islands(const std::vector<Island>& islands, const std::set<std::string>& kept) {
  std::vector<PlanIsland> told;
  for (const Island& island : islands)
    told.push_back({island.node, island.op, kept.contains(island.node) ? "kept in fp32 as chosen" : island.reason});
  return told;
}

Result<Graph> graph_at(const OpenNetwork& network, const ConstantSource& constants,
                       std::span<const std::int64_t> values) {
  return Restorer(network, constants, values).restore();
}

}  // namespace octavo

// What run/ looks for: a program that links this library has a planner.
extern "C" const octavo::PlanProvider* octavo_plan_provider() {
  static const octavo::OpenPlanner planner;
  return &planner;
}
