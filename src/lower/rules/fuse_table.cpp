// Functions of one quantized value. Part of lower/.
#include "lower/rules/fuse_table.h"

#include <algorithm>
#include <optional>

#include "lower/quantized_value.h"
#include "lower/table_region.h"
#include "ops/fixed_requantize/fixed_requantize.h"
#include "ops/quantized_binary/quantized_binary.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/quantized_pool/quantized_pool.h"
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
  Tensor table(second.dtype(), Shape{256});
  const std::size_t size = size_of(second.dtype());
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t from = first.as<std::uint8_t>()[i];
    std::copy_n(second.data() + from * size, size, table.data() + i * size);
  }
  return table;
}

// An operator that applies a table to its own result as its last step.
struct TableHost {
  std::size_t input = 0;       // of the table
  DType own_type = DType::u8;  // of the result before the table
};
std::optional<TableHost> table_host(const Node& node) {
  if (node.spec == &kQuantizedConv) {
    const Epilogue& epilogue = node.attrs.as<QuantizedConvAttrs>().epilogue;
    return TableHost{kConvOperands + epilogue.operands().size() - (epilogue.find<Lookup>() != nullptr ? 1 : 0),
                     epilogue.to};
  }
  if (node.spec == &kQuantizedBinary) return TableHost{2, node.attrs.as<QuantizedBinaryAttrs>().to};
  if (node.spec == &kQuantizedPool) return TableHost{1, node.attrs.as<QuantizedPoolAttrs>().to};
  if (node.spec == &kFixedRequantize) return TableHost{3, node.attrs.as<FixedRequantizeAttrs>().to};
  return std::nullopt;
}

// Bounds of stored values narrow those of an operator that stores its clamped result with `shift` added.
void narrow(std::int32_t& lowest, std::int32_t& highest, std::int32_t shift, Bounds stored) {
  lowest = std::clamp(lowest, stored.first - shift, stored.second - shift);
  highest = std::clamp(highest, stored.first - shift, stored.second - shift);
}

Attrs with_bounds(QuantizedBinaryAttrs attrs, Bounds bounds) {
  // Only the form in use has a shift other than 0.
  narrow(attrs.lowest, attrs.highest, attrs.shift + attrs.add.shift, bounds);
  return attrs;
}

Attrs with_bounds(QuantizedPoolAttrs attrs, Bounds bounds) {
  narrow(attrs.lowest, attrs.highest, attrs.shift, bounds);
  return attrs;
}

Attrs with_bounds(FixedRequantizeAttrs attrs, Bounds bounds) {
  narrow(attrs.lowest, attrs.highest, 0, bounds);
  return attrs;
}

Attrs with_bounds(QuantizedConvAttrs attrs, Bounds bounds) {
  attrs.epilogue = attrs.epilogue.clamped(bounds.first, bounds.second);
  return attrs;
}

Attrs with_bounds(const Node& node, Bounds bounds) {
  if (node.spec == &kQuantizedBinary) return with_bounds(node.attrs.as<QuantizedBinaryAttrs>(), bounds);
  if (node.spec == &kQuantizedPool) return with_bounds(node.attrs.as<QuantizedPoolAttrs>(), bounds);
  if (node.spec == &kFixedRequantize) return with_bounds(node.attrs.as<FixedRequantizeAttrs>(), bounds);
  return with_bounds(node.attrs.as<QuantizedConvAttrs>(), bounds);
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

Match table_into_producer(const Graph& graph, const Node& node) {
  const Tensor* table = constant_table(graph, node);
  const Node* before = graph.producer(node.inputs.empty() ? ValueId{} : node.inputs[0]);
  if (table == nullptr || before == nullptr) return std::string();
  if (before->spec == &kTable) return merge_tables(graph, node, *table, *before);
  const auto host = table_host(*before);
  if (!host || !is_8bit(host->own_type) || !is_8bit(table->dtype())) return std::string();
  if (!graph.has_one_reader(node.inputs[0])) return std::string("the operator before it has several readers");
  Patch patch(graph);
  std::vector<ValueId> inputs = before->inputs;
  const bool has_table = inputs.size() > host->input && inputs[host->input].exists();
  const auto bounds = has_table ? std::nullopt : as_clamp(*table, host->own_type);
  Attrs attrs = before->attrs;
  if (bounds) {
    attrs = with_bounds(*before, *bounds);
  } else {
    Tensor merged = *table;
    if (has_table) {
      const Fact& first = graph.fact(inputs[host->input]);
      if (!first.is_constant()) return std::string();
      merged = chained(*first.constant, *table);
    }
    if (!has_table && before->spec == &kQuantizedConv) {
      auto conv = before->attrs.as<QuantizedConvAttrs>();
      conv.epilogue.stages.emplace_back(Lookup{});
      attrs = conv;
    }
    inputs.resize(std::max(inputs.size(), host->input + 1));
    inputs[host->input] = patch.constant(node.name + "/table", std::move(merged));
  }
  patch.replace(node.outputs[0],
                patch.add(*before->spec, std::move(attrs), std::move(inputs), before->name, before->origin));
  return patch;
}

}  // namespace octavo
