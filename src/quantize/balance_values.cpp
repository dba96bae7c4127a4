// Finding attention between products of constants, and what to move from its values on. Part of quantize/.
#include "quantize/balance_values.h"

#include <algorithm>
#include <optional>

#include "graph/patch.h"
#include "ops/attention/attention.h"
#include "ops/binary/binary.h"
#include "ops/matmul/matmul.h"
#include "quantize/calibrator.h"
#include "quantize/channels.h"
#include "quantize/node_pattern.h"
#include "quantize/product_weights.h"

namespace octavo {
namespace {

// Half: of 1/2, 3/4 and 1 the best for all-MiniLM-L6-v2 with rows (docs/accuracy.md).
constexpr double kShareOfValues = 0.5;

// A product of constants with or without a bias makes the wire of values, which the attention alone reads, products of
// constants alone what it gives.
struct Link {
  AttentionAttrs attrs;
  ValueId values, bias, result;
  NodeId product, addition;
  std::vector<NodeId> readers;

  std::int64_t channels() const { return attrs.kv_heads * attrs.value_size; }
};

bool is_read_by_one(const Graph& graph, ValueId wire) {
  const auto readers = graph.readers(wire);
  return !graph.is_output(wire) && !readers.empty() &&
         std::all_of(readers.begin(), readers.end(), [&](NodeId reader) { return reader == readers[0]; });
}

// An addition of a constant row to another wire: which operand the row is.
std::optional<std::size_t> row_added_by(const Graph& graph, const Node& node) {
  if (!is_binary(node.attrs, BinaryKind::add)) return std::nullopt;
  const std::size_t row = graph.fact(node.inputs[1]).is_constant() ? 1 : 0;
  const Fact& values = graph.fact(node.inputs[row]);
  const OpenShape& shape = graph.fact(node.outputs[0]).shape;
  if (!values.is_constant() || values.dtype != DType::f32 || values.shape.rank() == 0) return std::nullopt;
  const Dim columns = shape[shape.rank() - 1];
  const bool is_row = is_same(values.shape.elements(), columns) &&
                      is_same(values.shape[values.shape.rank() - 1], columns) &&
                      graph.fact(node.inputs[1 - row]).shape == shape;
  return is_row ? std::optional(row) : std::nullopt;
}

class LinkFinder {
 public:
  LinkFinder(const Graph& graph, const std::vector<std::string>& skip) : graph_(graph), skip_(skip) {}

  std::vector<Link> find() const {
    std::vector<Link> links;
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (!node.attrs.is<AttentionAttrs>() || matches_any(skip_, node)) continue;
      if (auto link = link_at(node)) links.push_back(std::move(*link));
    }
    return links;
  }

 private:
  bool is_product(NodeId id, ValueId x) const {
    return is_product_of(graph_, graph_.node(id), x) && !matches_any(skip_, graph_.node(id));
  }

  std::optional<Link> link_at(const Node& attention) const {
    Link link{.attrs = attention.attrs.as<AttentionAttrs>(),
              .values = attention.inputs[2],
              .bias = {},
              .result = attention.outputs[0],
              .product = {},
              .addition = {},
              .readers = {}};
    link.readers = graph_.readers(link.result);
    const bool ends_in_products = std::all_of(link.readers.begin(), link.readers.end(),
                                              [&](NodeId reader) { return is_product(reader, link.result); });
    if (link.readers.empty() || graph_.is_output(link.result) || !ends_in_products) return std::nullopt;
    return find_product(link) ? std::optional(link) : std::nullopt;
  }

  bool find_product(Link& link) const {
    if (!is_read_by_one(graph_, link.values)) return false;
    ValueId made = link.values;
    const NodeId last = graph_.value(made).producer;
    if (!last.exists()) return false;
    if (const auto row = row_added_by(graph_, graph_.node(last))) {
      if (matches_any(skip_, graph_.node(last))) return false;
      link.addition = last;
      link.bias = graph_.node(last).inputs[*row];
      made = graph_.node(last).inputs[1 - *row];
      if (!is_read_by_one(graph_, made)) return false;
    }
    link.product = graph_.value(made).producer;
    return link.product.exists() && is_product(link.product, graph_.node(link.product).inputs[0]);
  }

  const Graph& graph_;
  const std::vector<std::string>& skip_;
};

// Which of the values' columns a column of the result is made of.
std::size_t value_of(const AttentionAttrs& attrs, std::int64_t column) {
  const std::int64_t head = column / attrs.value_size, group = head / (attrs.heads / attrs.kv_heads);
  return static_cast<std::size_t>(group * attrs.value_size + column % attrs.value_size);
}

// Of what products behind it meet in all heads of a group.
std::vector<float> largest_of_groups(const AttentionAttrs& attrs, const std::vector<float>& met) {
  std::vector<float> largest(static_cast<std::size_t>(attrs.kv_heads * attrs.value_size));
  for (std::size_t column = 0; column < met.size(); ++column) {
    float& known = largest[value_of(attrs, static_cast<std::int64_t>(column))];
    known = std::max(known, met[column]);
  }
  return largest;
}

// The columns of values alone.
std::vector<float> columns_of_values(const Link& link, const std::vector<float>& channels) {
  const auto first = channels.begin() + link.attrs.v_first;
  return {first, first + link.channels()};
}

// What the wire of values is divided by, which may hold queries and keys as well.
std::vector<float> divisors_of_wire(const Graph& graph, const Link& link, const std::vector<float>& factors) {
  const OpenShape& shape = graph.fact(link.values).shape;
  std::vector<float> all(static_cast<std::size_t>(std::int64_t{shape[shape.rank() - 1]}), 1.0f);
  std::copy(factors.begin(), factors.end(), all.begin() + link.attrs.v_first);
  return all;
}

void divide_values(Patch& patch, const Graph& graph, const Link& link, std::vector<float> factors) {
  for (float& factor : factors) factor = 1.0f / factor;
  const Node& product = graph.node(link.product);
  const auto scaled = [&](ValueId constant) {
    const Tensor& tensor = *graph.fact(constant).constant;
    return patch.constant(graph.value(constant).name + "/balanced",
                          scaled_channels(tensor, tensor.shape().rank() - 1, factors));
  };
  const ValueId y =
      patch.add(kMatmul, product.attrs, {product.inputs[0], scaled(product.inputs[1])}, product.name, product.origin);
  if (!link.addition.exists()) return patch.replace(link.values, y);
  const Node& addition = graph.node(link.addition);
  patch.replace(link.values,
                patch.add(kBinary, addition.attrs, {y, scaled(link.bias)}, addition.name, addition.origin));
}

}  // namespace

Result<ChannelFactors> find_value_balance(const Graph& graph, const std::vector<std::string>& skip,
                                          const SampleSource& samples) {
  ChannelFactors factors;
  const std::vector<Link> links = LinkFinder(graph, skip).find();
  if (links.empty()) return factors;
  std::vector<ObservedValue> wires;
  for (const Link& link : links) wires.push_back({link.values, graph.fact(link.values).shape.rank() - 1});
  const auto seen = observed_magnitudes(graph, wires, samples);
  if (!seen) return seen.errors();
  for (std::size_t k = 0; k < links.size(); ++k) {
    const Link& link = links[k];
    if ((*seen)[k].empty()) continue;
    const std::vector<float> met = largest_of_groups(link.attrs, weights_met(graph, link.readers));
    factors[graph.value(link.result).name] =
        smoothing_factors(columns_of_values(link, (*seen)[k]), met, kShareOfValues);
  }
  return factors;
}

Result<ChannelFactors> balance_values(Graph& graph, const ChannelFactors& factors) {
  ChannelFactors by_wire;
  for (const Link& link : LinkFinder(graph, {}).find()) {
    const auto known = factors.find(graph.value(link.result).name);
    if (known == factors.end() || static_cast<std::int64_t>(known->second.size()) != link.channels()) continue;
    const std::vector<float> of_wire = divisors_of_wire(graph, link, known->second);
    std::vector<float> behind;
    for (std::int64_t column = 0; column < link.attrs.heads * link.attrs.value_size; ++column)
      behind.push_back(known->second[value_of(link.attrs, column)]);
    by_wire[graph.value(link.values).name] = of_wire;
    by_wire[graph.value(link.result).name] = behind;
    Patch patch(graph);
    divide_values(patch, graph, link, of_wire);
    for (const NodeId id : link.readers) {
      const Node& product = graph.node(id);
      patch.replace(product.outputs[0], add_scaled_product(patch, graph, product, link.result, behind));
    }
    if (const Status moved = apply(graph, patch); !moved) return moved.errors();
  }
  return by_wire;
}

}  // namespace octavo
