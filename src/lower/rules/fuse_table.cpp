// Functions of one quantized value. Part of lower/.
#include "lower/rules/fuse_table.h"

#include <algorithm>
#include <optional>

#include "lower/quantized_value.h"
#include "lower/table_region.h"
#include "ops/epilogue.h"
#include "ops/quantized_attention/quantized_attention.h"
#include "ops/table/table.h"

namespace octavo {
namespace {

const Tensor* constant_table(const Graph& graph, const Node& node) {
  if (node.spec != &kTable) return nullptr;
  const Fact& table = graph.fact(node.inputs[1]);
  return table.is_constant() ? table.constant.get() : nullptr;
}

std::int32_t entry(const Tensor& table, std::int32_t value) {
  const auto byte = static_cast<std::uint8_t>(value);
  return table.dtype() == DType::s8 ? table.as<std::int8_t>()[byte] : table.as<std::uint8_t>()[byte];
}

using Bounds = std::pair<std::int32_t, std::int32_t>;

// The bounds, where the table maps its own type by y = clamp(x, lowest, highest).
std::optional<Bounds> as_clamp(const Tensor& table, DType from) {
  if (table.dtype() != from) return std::nullopt;
  const IntegerRange range = range_of(from);
  const std::int32_t lowest = entry(table, static_cast<std::int32_t>(range.lowest));
  const std::int32_t highest = entry(table, static_cast<std::int32_t>(range.highest));
  if (lowest > highest) return std::nullopt;
  for (auto x = static_cast<std::int32_t>(range.lowest); x <= range.highest; ++x) {
    if (entry(table, x) != std::clamp(x, lowest, highest)) return std::nullopt;
  }
  return Bounds(lowest, highest);
}

// second[first[x]].
Tensor chained(const Tensor& first, const Tensor& second) {
  Tensor table(second.dtype(), first.shape());
  const std::size_t size = size_of(second.dtype());
  for (std::int64_t i = 0; i < first.elements(); ++i) {
    const std::size_t from = first.dtype() == DType::s16 ? first.as<std::uint16_t>()[i] : first.as<std::uint8_t>()[i];
    std::copy_n(second.data() + from * size, size, table.data() + static_cast<std::size_t>(i) * size);
  }
  return table;
}

// table2[table1[x]].
Match merge_tables(const Graph& graph, const Node& node, const Tensor& table, const Node& before) {
  const Tensor* first = constant_table(graph, before);
  if (first == nullptr) return std::string();
  Patch patch(graph);
  const ValueId merged = patch.constant(node.name + "/table", chained(*first, table));
  patch.replace(node.outputs[0], patch.add(kTable, NoAttrs{}, {before.inputs[0], merged}, node.name, node.origin));
  return patch;
}

}  // namespace

Match fuse_table(const Graph& graph, const Node& node) {
  const auto end = quantized_by(graph, node);
  if (!end) return std::string();
  const auto source = single_source(graph, end->y);
  if (!source) return std::string();
  auto table = tabulate(graph, end->y, *source);
  if (!table) return to_string(table.errors());
  Patch patch(graph);
  const Node* main = graph.producer(node.inputs[0]);
  const Node& named = main == nullptr ? node : *main;
  const ValueId constant = patch.constant(named.name + "/table", std::move(*table));
  const ValueId y = patch.add(kTable, NoAttrs{}, {*source, constant}, named.name, named.origin);
  patch.set_quant(y, end->type.params());
  patch.replace(end->y, y);
  return patch;
}

Match table_before_view(const Graph& graph, const Node& node) {
  if (constant_table(graph, node) == nullptr) return std::string();
  const Node* view = graph.producer(node.inputs[0]);
  if (view == nullptr || !view->spec->is_view || !graph.has_one_reader(node.inputs[0])) return std::string();
  const Node* before = graph.producer(view->inputs[0]);
  if (before == nullptr || before->spec->epilogue == nullptr || !graph.has_one_reader(view->inputs[0]))
    return std::string();
  Patch patch(graph);
  const ValueId looked_up = patch.add(kTable, NoAttrs{}, {view->inputs[0], node.inputs[1]}, node.name, node.origin);
  if (graph.fact(node.outputs[0]).quant) patch.set_quant(looked_up, *graph.fact(node.outputs[0]).quant);
  std::vector<ValueId> inputs = view->inputs;
  inputs[0] = looked_up;
  patch.replace(node.outputs[0], patch.add(*view->spec, view->attrs, std::move(inputs), view->name, view->origin));
  return patch;
}

Match table_into_producer(const Graph& graph, const Node& node) {
  const Tensor* table = constant_table(graph, node);
  const Node* before = graph.producer(node.inputs.empty() ? ValueId{} : node.inputs[0]);
  if (table == nullptr || before == nullptr) return std::string();
  if (before->spec == &kTable) return merge_tables(graph, node, *table, *before);
  if (before->spec == &kQuantizedAttention) return std::string("attention looks nothing up behind its rounding");
  const EpilogueTrait* trait = before->spec->epilogue;
  if (trait == nullptr || !is_8bit(trait->of(before->attrs).to) || !is_8bit(table->dtype())) return std::string();
  if (!graph.has_one_reader(node.inputs[0])) return std::string("the operator before it has several readers");
  Patch patch(graph);
  Epilogue epilogue = trait->of(before->attrs);
  std::vector<ValueId> inputs = before->inputs;
  const bool has_table = epilogue.find<Lookup>() != nullptr;
  const auto bounds = epilogue.has_bounds() ? as_clamp(*table, epilogue.to) : std::nullopt;
  if (bounds) {
    epilogue = epilogue.clamped(bounds->first, bounds->second);
  } else {
    Tensor merged = *table;
    if (has_table) {
      const Fact& first = graph.fact(inputs.back());
      if (!first.is_constant()) return std::string();
      merged = chained(*first.constant, *table);
      inputs.pop_back();
    } else {
      epilogue.stages.emplace_back(Lookup{});
    }
    inputs.resize(std::max(inputs.size(), trait->operands));
    inputs.push_back(patch.constant(node.name + "/table", std::move(merged)));
  }
  patch.replace(node.outputs[0], patch.add(*before->spec, trait->with(before->attrs, epilogue), std::move(inputs),
                                           before->name, before->origin));
  return patch;
}

}  // namespace octavo
