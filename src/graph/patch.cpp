// Collecting and applying rewrites. Part of graph/.
#include "graph/patch.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace octavo {

ValueId Patch::constant(std::string name, Tensor tensor) {
  Fact fact{.dtype = tensor.dtype(), .shape = tensor.shape()};
  fact.constant = std::make_shared<const Tensor>(std::move(tensor));
  values_.push_back({std::move(name), std::move(fact), -1});
  return {graph_->value_count() + static_cast<int>(values_.size()) - 1};
}

const Fact& Patch::fact(ValueId id) const {
  const int own = id.index - graph_->value_count();
  return own < 0 ? graph_->fact(id) : values_[static_cast<std::size_t>(own)].fact;
}

ValueId Patch::add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, std::string name, std::string origin) {
  std::vector<const Fact*> facts;
  for (ValueId input : inputs) facts.push_back(input.exists() ? &fact(input) : nullptr);
  auto inferred = errors_.empty() ? infer_checked(spec, attrs, facts) : Result<std::vector<Fact>>(std::vector<Fact>(1));
  Fact result;
  if (!inferred) {
    for (Error& error : std::move(inferred).errors()) {
      error.where = "new node '" + name + "', " + error.where;
      error.kind = ErrorKind::internal;
      errors_.push_back(std::move(error));
    }
  } else {
    result = std::move(inferred->front());
  }
  nodes_.push_back({&spec, std::move(attrs), std::move(inputs), name, std::move(origin)});
  values_.push_back({std::move(name), std::move(result), static_cast<int>(nodes_.size()) - 1});
  return {graph_->value_count() + static_cast<int>(values_.size()) - 1};
}

void Patch::replace(ValueId old_value, ValueId new_value) { replacements_.push_back({old_value, new_value}); }

void Patch::set_quant(ValueId id, QuantParams quant) {
  values_[static_cast<std::size_t>(id.index - graph_->value_count())].fact.quant = std::move(quant);
}

// All of apply but the order: time in proportion to the patch, so that a round of many patches sorts once.
Status apply_unsorted(Graph& graph, const Patch& patch) {
  if (!patch.errors_.empty()) return patch.errors_;
  for (const auto& [old_value, new_value] : patch.replacements_) {
    const Fact& before = graph.fact(old_value);
    const Fact& after = patch.fact(new_value);
    if (before.dtype == after.dtype && before.shape == after.shape) continue;
    return Error{.kind = ErrorKind::internal,
                 .where = "replacement of '" + graph.value(old_value).name + "'",
                 .found = std::string(name_of(after.dtype)) + " " + after.shape.to_string(),
                 .expected = std::string(name_of(before.dtype)) + " " + before.shape.to_string()};
  }
  // Patch ids become graph ids in the order of creation; a node's value follows those before it.
  const int first = graph.value_count();
  std::vector<ValueId> mapped;
  std::vector<NodeId> candidates;  // nodes that nobody may read in the end
  const auto to_graph = [&](ValueId id) {
    return id.index < first ? id : mapped[static_cast<std::size_t>(id.index - first)];
  };
  for (const Patch::NewValue& value : patch.values_) {
    if (value.node < 0) {
      mapped.push_back(graph.add_constant(value.name, value.fact.constant));
    } else {
      const Patch::NewNode& node = patch.nodes_[static_cast<std::size_t>(value.node)];
      std::vector<ValueId> inputs;
      for (ValueId input : node.inputs) inputs.push_back(to_graph(input));
      auto added = graph.add(*node.spec, node.attrs, std::move(inputs), node.name, node.origin);
      if (!added) return std::move(added).errors();
      mapped.push_back(*added);
      candidates.push_back(graph.value(*added).producer);
    }
    if (value.fact.quant) graph.set_quant(mapped.back(), *value.fact.quant);
  }
  for (const auto& [old_value, new_value] : patch.replacements_) {
    const ValueId target = to_graph(new_value);
    // A wire that already had a name of its own (an old value) keeps it.
    if (new_value.index >= first && !graph.fact(target).is_constant()) {
      graph.set_name(target, graph.value(old_value).name);
      if (!graph.fact(target).quant && graph.fact(old_value).quant)
        graph.set_quant(target, *graph.fact(old_value).quant);
    }
    graph.replace_uses(old_value, target);
    if (graph.value(old_value).producer.exists()) candidates.push_back(graph.value(old_value).producer);
  }
  graph.remove_if_unused(std::move(candidates));
  return ok_status();
}

Status restore_order(Graph& graph) {
  if (!graph.sort())
    return Error{
        .kind = ErrorKind::internal, .where = "patch", .found = "a cycle", .expected = "an order of computation"};
  return ok_status();
}

Status apply(Graph& graph, const Patch& patch) {
  Status applied = apply_unsorted(graph, patch);
  return applied ? restore_order(graph) : applied;
}

int PassReport::applied() const {
  return static_cast<int>(
      std::count_if(entries.begin(), entries.end(), [](const PassEntry& entry) { return entry.applied; }));
}

namespace {

Error endless(std::string_view pass, const std::string& node, std::int64_t patches) {
  return {.kind = ErrorKind::internal,
          .where = std::string(pass) + ", at '" + node + "'",
          .found = std::to_string(patches) + " rewrites and no end",
          .expected = "rewrites that do not undo each other"};
}

}  // namespace

PassReport rewrite(Graph& graph, std::string_view pass, const Matcher& matcher, int* budget) {
  PassReport report{.pass = std::string(pass)};
  // A sane pass makes a few patches per node.
  const std::int64_t most_patches = 64 * static_cast<std::int64_t>(graph.node_count()) + 1024;
  std::int64_t patches_left = most_patches;
  bool is_changing = true;
  while (is_changing) {
    is_changing = false;
    std::vector<PassEntry> refusals;
    const std::vector<NodeId> order = graph.order();
    for (NodeId id : order) {
      if (budget != nullptr && *budget <= 0) break;
      if (!graph.is_live(id)) continue;  // removed by an earlier patch of this round
      if (graph.sizes() != nullptr)
        graph.sizes()->set_asking("node '" + graph.node(id).name + "', " + std::string(pass));
      Match match = matcher(graph, graph.node(id));
      if (auto* reason = std::get_if<std::string>(&match)) {
        if (!reason->empty()) refusals.push_back({graph.node(id).name, false, std::move(*reason)});
        continue;
      }
      const std::string name = graph.node(id).name;
      const Status status = apply_unsorted(graph, std::get<Patch>(match));
      report.add(name, status.ok(), status.ok() ? "" : to_string(status.errors()));
      if (!status) report.failures = status.errors();
      if (status && --patches_left == 0) report.failures.push_back(endless(pass, name, most_patches));
      is_changing = report.failures.empty();
      if (!is_changing) break;
      if (budget != nullptr) --*budget;
    }
    if (!restore_order(graph)) {
      report.failures.push_back({.kind = ErrorKind::internal,
                                 .where = std::string(pass),
                                 .found = "a cycle",
                                 .expected = "an order of computation"});
      return report;
    }
    const bool is_stopped = budget != nullptr && *budget <= 0;
    if (!is_changing || is_stopped) {
      report.entries.insert(report.entries.end(), std::make_move_iterator(refusals.begin()),
                            std::make_move_iterator(refusals.end()));
      return report;
    }
  }
  return report;
}

}  // namespace octavo
