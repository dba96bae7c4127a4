// Regions of the graph that are a function of one 8-bit value. Part of lower/.
#include "lower/table_region.h"

#include <algorithm>
#include <map>

#include "graph/patch.h"
#include "lower/quantized_value.h"
#include "lower/rules/fuse_binary.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/dequantize/dequantize.h"
#include "ops/evaluate.h"
#include "ops/table/table.h"
#include "ops/unary/unary.h"
#include "ops/where/where.h"

namespace octavo {
namespace {

// Activation functions take a handful of nodes; the bound keeps hostile graphs from costing quadratic time and deep
// recursion.
constexpr std::size_t kLargestRegion = 48;

struct Source {
  enum class Kind : char { constant, wire, none } kind = Kind::none;
  ValueId wire;
};

// One scale for the whole tensor, constant.
bool is_whole_tensor(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](ValueId input) { return !input.exists() || scalar_constant(graph, input).has_value(); });
}

// What a node's result depends on, element by element: the first input of tables and quantizations, all inputs of
// others; 0 for other operators.
std::size_t element_inputs(const Graph& graph, const Node& node) {
  if (node.spec == &kUnary || node.spec == &kCast) return 1;
  if (node.spec == &kBinary) return 2;
  if (node.spec == &kWhere) return 3;
  if (node.spec == &kTable) return graph.fact(node.inputs[1]).is_constant() ? 1 : 0;
  if (node.spec == &kQuantize || node.spec == &kDequantize) return is_whole_tensor(graph, node) ? 1 : 0;
  return 0;
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
    const Shape& shape = graph_.fact(node.outputs[0]).shape;
    for (std::size_t i = 0; i < element_inputs(graph_, node); ++i) {
      const Source part = find(node.inputs[i]);
      if (part.kind == Source::Kind::none) return {};
      if (part.kind == Source::Kind::wire && graph_.fact(node.inputs[i]).shape != shape) return {};
      if (part.kind == Source::Kind::wire && result.kind == Source::Kind::wire && part.wire != result.wire) return {};
      if (result.kind != Source::Kind::wire) result = part;
    }
    return result;
  }

  const Graph& graph_;
  std::map<int, Source> seen_;
};

// Copies a region into a graph whose source has 256 elements.
class RegionCopy {
 public:
  RegionCopy(const Graph& from, ValueId source) : from_(from) {
    copies_[source.index] = to_.add_input("x", from.fact(source).dtype, Shape{256});
  }

  Result<ValueId> copy(ValueId wire) {
    const auto known = copies_.find(wire.index);
    if (known != copies_.end()) return known->second;
    const Fact& fact = from_.fact(wire);
    if (fact.is_constant()) {
      const bool is_scalar = fact.shape.elements() == 1;
      return copies_[wire.index] = to_.add_constant(from_.value(wire).name,
                                                    is_scalar ? fact.constant->reshaped(Shape{}) : *fact.constant);
    }
    const Node& node = *from_.producer(wire);
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) {
      if (!input.exists()) {
        inputs.push_back(input);
        continue;
      }
      auto copied = copy(input);
      if (!copied) return copied;
      inputs.push_back(*copied);
    }
    auto added = to_.add(*node.spec, whole_tensor_attrs(node), std::move(inputs), node.name, node.origin);
    if (added) copies_[wire.index] = *added;
    return added;
  }

  Graph& graph() { return to_; }

 private:
  // The constants are scalars now, so no axis is left to name.
  static Attrs whole_tensor_attrs(const Node& node) {
    if (node.spec == &kQuantize) {
      auto attrs = node.attrs.as<QuantizeAttrs>();
      attrs.axis = -1;
      return attrs;
    }
    if (node.spec == &kDequantize) {
      auto attrs = node.attrs.as<DequantizeAttrs>();
      attrs.axis = -1;
      return attrs;
    }
    return node.attrs;
  }

  const Graph& from_;
  Graph to_;
  std::map<int, ValueId> copies_;
};

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
  RegionCopy region(graph, source);
  auto result = region.copy(wire);
  if (!result) return std::move(result).errors();
  region.graph().add_output(*result, "y");
  // Additions and products of quantized values keep their own rounding, as where they are no part of a table.
  PassReport pairs = rewrite(region.graph(), "fuse_binary", fuse_binary);
  if (!pairs.failures.empty()) return std::move(pairs.failures);
  const std::vector<Tensor> inputs = {all_values(graph.fact(source).dtype)};
  auto values = evaluate(region.graph(), inputs);
  if (!values) return std::move(values).errors();
  return values->front();
}

}  // namespace octavo
