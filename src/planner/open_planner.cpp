// Stored graphs, and the planner that programs link. Part of planner/.
#include "planner/open_planner.h"

#include <algorithm>
#include <functional>

#include "graph/open_shape.h"
#include "ops/list.h"
#include "planner/choice_memo.h"
#include "planner/measurement_log.h"
#include "planner/plan_family.h"
#include "planner/planner.h"
#include "run/plan_provider.h"

namespace octavo {
namespace {

// ---- graph -> data ----

class Storer {
 public:
  Storer(const Graph& graph, ConstantSink& constants)
      : graph_(graph), constants_(constants), index_(static_cast<std::size_t>(graph.value_count()), -1) {}

  StoredGraph store() {
    stored_.sizes = graph_.sizes()->program();
    for (const ValueId input : graph_.inputs()) stored_.inputs.push_back(index_of(input));
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      StoredNode stored{
          .name = node.name, .origin = node.origin, .op = std::string(node.spec->name), .attrs = node.attrs.encoded()};
      for (const ValueId input : node.inputs) stored.inputs.push_back(input.exists() ? index_of(input) : -1);
      for (const ValueId output : node.outputs) stored.outputs.push_back(index_of(output));
      stored_.nodes.push_back(std::move(stored));
    }
    for (const ValueId output : graph_.outputs()) stored_.outputs.push_back(index_of(output));
    stored_.output_names = graph_.output_names();
    return std::move(stored_);
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
    stored_.values.push_back(std::move(stored));
    return index = static_cast<std::int32_t>(stored_.values.size()) - 1;
  }

  const Graph& graph_;
  ConstantSink& constants_;
  std::vector<std::int32_t> index_;  // by ValueId
  StoredGraph stored_;
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
  // `dims` stand for its expressions: numbers, or expressions of `sizes`, which then are those of the graph.
  Restorer(const StoredGraph& stored, const ConstantSource& constants, std::span<const Dim> dims,
           std::shared_ptr<Sizes> sizes = nullptr)
      : stored_(stored), constants_(constants), dims_(dims), made_(stored.values.size()) {
    graph_.set_sizes(std::move(sizes));
  }

  Result<Graph> restore() {
    for (const std::int32_t input : stored_.inputs) {
      if (!is_new(input)) return damaged("inputs", "value " + std::to_string(input), "one of its own");
      const StoredValue& value = value_at(input);
      const auto shape = shape_of(value);
      if (!shape) return shape.errors();
      made_at(input) = graph_.add_input(value.name, value.dtype, *shape);
      set_scale(input);
    }
    for (const StoredNode& node : stored_.nodes) {
      if (const Status added = add(node); !added) return added.errors();
    }
    if (stored_.outputs.size() != stored_.output_names.size())
      return damaged("outputs", std::to_string(stored_.output_names.size()) + " names",
                     std::to_string(stored_.outputs.size()));
    for (std::size_t i = 0; i < stored_.outputs.size(); ++i) {
      const auto output = read(stored_.outputs[i]);
      if (!output) return output.errors();
      graph_.add_output(*output, stored_.output_names[i]);
    }
    return std::move(graph_);
  }
  // By value of the graph: the stored one.
  std::vector<std::int32_t> stored_values() const {
    std::vector<std::int32_t> stored(made_.size(), -1);
    for (std::size_t i = 0; i < made_.size(); ++i) {
      if (made_[i].exists()) stored[octavo::at(made_[i])] = static_cast<std::int32_t>(i);
    }
    return stored;
  }

 private:
  bool exists(std::int32_t index) const {
    return index >= 0 && static_cast<std::size_t>(index) < stored_.values.size();
  }
  ValueId& made_at(std::int32_t index) { return made_[static_cast<std::size_t>(index)]; }
  const StoredValue& value_at(std::int32_t index) const { return stored_.values[static_cast<std::size_t>(index)]; }
  bool is_new(std::int32_t index) { return exists(index) && !made_at(index).exists(); }

  std::vector<Dim> replaced(const std::vector<Dim>& stored) const {
    std::vector<Dim> dims;
    for (const Dim& dim : stored) dims.push_back(dim.at(dims_));
    return dims;
  }

  Result<OpenShape> shape_of(const StoredValue& value) const {
    const std::vector<Dim> dims = replaced(value.shape);
    constexpr std::size_t kMaxRank = 64;
    if (dims.size() <= kMaxRank && (is_open(dims) || checked_elements(fixed(dims)))) return OpenShape(dims);
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
    if (is_open(shape->dims())) return damaged("value '" + value.name + "'", "an open shape", "one of a constant");
    auto made = value.extents.empty() ? constant(value, *shape) : extents(value, *shape);
    if (!made) return made.errors();
    made_at(index) = *made;
    set_scale(index);
    return made_at(index);
  }

  Result<ValueId> constant(const StoredValue& value, const Shape& shape) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(shape.elements()) * size_of(value.dtype);
    const std::byte* data =
        value.constant < 0 ? nullptr : constants_.find(static_cast<std::uint64_t>(value.constant), bytes);
    if (data == nullptr)
      return damaged("value '" + value.name + "'", "read before it is made, or outside the constants",
                     "a constant or the result of a node before");
    return graph_.add_constant(value.name, Tensor::borrowed({value.dtype, shape, data}));
  }

  Result<ValueId> extents(const StoredValue& value, const Shape& shape) {
    if ((value.dtype != DType::s64 && value.dtype != DType::s32) ||
        shape.elements() != static_cast<std::int64_t>(value.extents.size()))
      return damaged("value '" + value.name + "'", std::to_string(value.extents.size()) + " extents",
                     "as many integers as it has elements");
    const std::vector<Dim> extents = replaced(value.extents);
    const ValueId made = graph_.add_extents(value.name, value.dtype, shape, extents);
    if (!is_open(extents)) graph_.forget_extents(made);
    return made;
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
    const auto added = graph_.add_node(*spec, attrs->with_extents(dims_), std::move(inputs), node.name, node.origin);
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
      if (const Status same = check_shape(where, outputs[i], value_at(node.outputs[i])); !same) return same.errors();
      made_at(node.outputs[i]) = outputs[i];
      graph_.set_name(outputs[i], value_at(node.outputs[i]).name);
      set_scale(node.outputs[i]);
    }
    return ok_status();
  }

  // Where sizes stay open: what was made of the shapes is made of these. That of numbers is the operators' own affair.
  Status check_shape(const std::string& where, ValueId made, const StoredValue& value) const {
    const OpenShape& shape = graph_.fact(made).shape;
    const OpenShape expected(replaced(value.shape));
    if (graph_.sizes() == nullptr || is_same(shape, expected)) return ok_status();
    return Error{.kind = ErrorKind::usage,
                 .where = where,
                 .found = "another shape at these sizes: " + shape.to_string(),
                 .expected = expected.to_string()};
  }

  const StoredGraph& stored_;
  const ConstantSource& constants_;
  std::span<const Dim> dims_;
  std::vector<ValueId> made_;  // by stored value
  Graph graph_;
};

LowerOptions lowering_of(const OpenNetwork& network) {
  return {.precision = network.precision, .kept_in_f32 = {network.kept_in_f32.begin(), network.kept_in_f32.end()}};
}

class OpenPlanner final : public PlanProvider {
 public:
  std::unique_ptr<PlanMemory> new_memory() const override { return std::make_unique<ChoiceMemo>(); }

  Result<MadePlan> plan(const OpenNetwork& network, const ConstantSource& source, std::span<const std::int64_t> values,
                        BatchOrder order, ConstantSink& constants, PlanMemory& memory) const override {
    const std::vector<Dim> numbers(values.begin(), values.end());
    Restorer restorer(network.graph, source, numbers);
    auto graph = restorer.restore();
    if (!graph) return graph.errors();
    const LowerOptions lowering = lowering_of(network);
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
                              .batch_order = order,
                              .memo = &static_cast<ChoiceMemo&>(memory)};
    PlanTrace trace;
    auto plan = make_plan(std::move(*graph), network.machine, options, constants, &trace);
    if (!plan) return plan.errors();
    plan->report.islands = std::move(islands);
    plan->report.notes = network.notes;
    auto family = family_of(network, source, *plan, trace, restorer.stored_values());
    return MadePlan{std::move(*plan), std::move(family)};
  }

  Result<OpenNetwork> lower(const OpenNetwork& network, const StoredGraph& unlowered, const ConstantSource& source,
                            std::span<const std::int64_t> sizes, ConstantSink& constants) const override {
    auto example = Sizes::at_example(unlowered.sizes, sizes);
    if (!example) return example.errors();
    auto graph = Restorer(unlowered, source, example->dims, example->sizes).restore();
    if (!graph) return graph.errors();
    const LowerOptions lowering = lowering_of(network);
    auto report = octavo::lower(*graph, lowering);
    if (!report) return report.errors();
    return OpenNetwork{.precision = network.precision,
                       .machine = network.machine,
                       .allow_reference = network.allow_reference,
                       .batch_order = network.batch_order,
                       .waits_for_sizes = report->waits_for_sizes,
                       .kept_in_f32 = network.kept_in_f32,
                       .times = network.times,
                       .islands = told_islands(report->islands, lowering.kept_in_f32),
                       .notes = network.notes,
                       .graph = stored_graph(*graph, constants)};
  }
};

}  // namespace

StoredGraph stored_graph(const Graph& graph, ConstantSink& constants) { return Storer(graph, constants).store(); }

void keep_decisions(SizeProgram& sizes) {
  for (std::vector<SizeCondition>* conditions : {&sizes.conditions, &sizes.unusual})
    std::erase_if(*conditions, std::mem_fn(&SizeCondition::is_of_shapes));
}

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

Result<Graph> graph_at(const StoredGraph& stored, const ConstantSource& constants,
                       std::span<const std::int64_t> values) {
  const std::vector<Dim> numbers(values.begin(), values.end());
  return Restorer(stored, constants, numbers).restore();
}

}  // namespace octavo

// What run/ looks for: a program that links this library has a planner.
extern "C" const octavo::PlanProvider* octavo_plan_provider() {
  static const octavo::OpenPlanner planner;
  return &planner;
}
