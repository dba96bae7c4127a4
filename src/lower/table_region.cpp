// Regions of the graph that are a function of one 8-bit value. Part of lower/.
#include "lower/table_region.h"

#include <map>

#include "graph/patch.h"
#include "graph/rebuild.h"
#include "lower/quantized_value.h"
#include "lower/rules/fuse_binary.h"
#include "ops/dequantize/dequantize.h"
#include "ops/evaluate.h"
#include "ops/in_tables.h"
#include "ops/quantize/quantize.h"

namespace octavo {
namespace {

// Activation functions take a handful of nodes; the bound keeps hostile graphs from costing quadratic time and deep
// recursion.
constexpr std::size_t kLargestRegion = 48;

struct Source {
  enum class Kind : char { constant, wire, none } kind = Kind::none;
  ValueId wire;
};

// The first inputs that a node's result depends on, element by element.
std::size_t element_inputs(const Graph& graph, const Node& node) {
  if (node.spec->pointwise == nullptr) return 0;
  return static_cast<std::size_t>(node.spec->pointwise(node.attrs, graph.input_facts(node)));
}

class SourceFinder {
 public:
  explicit SourceFinder(const Graph& graph) : graph_(graph) {}

  Source find(ValueId wire) {
    const auto known = seen_.find(wire.index);
    if (known != seen_.end()) return known->second;
    if (seen_.size() >= kLargestRegion) return {};
    seen_[wire.index] = {};
    return seen_[wire.index] = find_uncached(wire);
  }

 private:
  Source find_uncached(ValueId wire) {
    const Fact& fact = graph_.fact(wire);
    if (fact.is_constant()) return {fact.shape.elements() == 1 ? Source::Kind::constant : Source::Kind::none, {}};
    const Node* producer = graph_.producer(wire);
    const Source earlier = producer == nullptr ? Source{} : through(*producer);
    if (earlier.kind != Source::Kind::none || !is_8bit(fact.dtype)) return earlier;
    return {Source::Kind::wire, wire};
  }

  Source through(const Node& node) {
    Source result;
    const OpenShape& shape = graph_.fact(node.outputs[0]).shape;
    for (std::size_t i = 0; i < element_inputs(graph_, node); ++i) {
      const Source part = find(node.inputs[i]);
      if (part.kind == Source::Kind::none) return {};
      if (part.kind == Source::Kind::wire && !is_same(graph_.fact(node.inputs[i]).shape, shape)) return {};
      if (part.kind == Source::Kind::wire && result.kind == Source::Kind::wire && part.wire != result.wire) return {};
      if (result.kind != Source::Kind::wire) result = part;
    }
    return result;
  }

  const Graph& graph_;
  std::map<int, Source> seen_;
};

template <class ScaleAttrs>
Attrs without_axis(ScaleAttrs attrs) {
  attrs.axis = -1;
  return attrs;
}

// Its constants are scalars, so no axis is left to name.
Attrs whole_tensor_attrs(const Node& node) {
  if (const auto* quantize = node.attrs.get_if<QuantizeAttrs>()) return without_axis(*quantize);
  if (const auto* dequantize = node.attrs.get_if<DequantizeAttrs>()) return without_axis(*dequantize);
  return node.attrs;
}

// What `wire` is made of, the source having 256 elements.
void copy_region(Rebuild& region, ValueId wire) {
  if (!wire.exists() || region.made(wire).exists() || region.has_failed()) return;
  const Graph& graph = region.old_graph();
  const Fact& fact = graph.fact(wire);
  if (fact.is_constant()) {
    const bool is_scalar = fact.shape.elements() == 1;
    region.set(wire, region.graph().add_constant(graph.value(wire).name,
                                                 is_scalar ? fact.constant->reshaped(Shape{}) : *fact.constant));
    return;
  }
  const Node& node = *graph.producer(wire);
  for (const ValueId input : node.inputs) copy_region(region, input);
  region.set(wire, region.emit(node, whole_tensor_attrs(node), region.of(node.inputs))[0]);
}

// The functions as exact as tables have them.
Result<Graph> with_exact_functions(const Graph& graph) {
  Rebuild exact(graph);
  exact.add_inputs();
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const OpSpec& spec = spec_in_tables(*node.spec);
    if (&spec == node.spec) {
      exact.copy(node);
      continue;
    }
    exact.take_over(node.outputs[0], exact.add(spec, node.attrs, exact.of(node.inputs), node.name, node.origin));
  }
  exact.add_outputs(graph.outputs(), {"y"});
  return exact.finish();
}

Tensor all_values(DType dtype) {
  Tensor x(dtype, Shape{256});
  for (int i = 0; i < 256; ++i) x.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  return x;
}

}  // namespace

std::optional<ValueId> single_source(const Graph& graph, ValueId wire) {
  const Source source = SourceFinder(graph).find(wire);
  if (source.kind != Source::Kind::wire || source.wire == wire) return std::nullopt;
  return source.wire;
}

Result<Tensor> tabulate(const Graph& graph, ValueId wire, ValueId source) {
  Rebuild region(graph);
  region.set(source, region.graph().add_input("x", graph.fact(source).dtype, Shape{256}));
  copy_region(region, wire);
  region.add_outputs({wire}, {"y"});
  auto copied = region.finish();
  if (!copied) return std::move(copied).errors();
  // Additions and products of quantized values keep their own rounding, as where they are no part of a table.
  PassReport pairs = rewrite(*copied, "fuse_binary", fuse_binary);
  if (!pairs.failures.empty()) return std::move(pairs.failures);
  const auto exact = with_exact_functions(*copied);
  if (!exact) return exact.errors();
  const std::vector<Tensor> inputs = {all_values(graph.fact(source).dtype)};
  auto values = evaluate(*exact, inputs);
  if (!values) return std::move(values).errors();
  return values->front();
}

}  // namespace octavo
