// Finding normalisations that products read, and what to move between them. Part of quantize/.
#include "quantize/smooth.h"

#include <algorithm>
#include <cmath>

#include "graph/patch.h"
#include "ops/binary/binary.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/matmul/matmul.h"
#include "quantize/calibrator.h"
#include "quantize/channels.h"
#include "quantize/node_pattern.h"

namespace octavo {
namespace {

// A normalisation and the products of constants that read what it gives.
struct SmoothLink {
  NodeId norm;
  ValueId wire;
  std::vector<NodeId> products;
};

bool is_row(const Fact& fact, Dim channels) {
  return fact.is_constant() && fact.dtype == DType::f32 && is_same(fact.shape.elements(), channels);
}

// Over the last axis alone, its scale and bias constant.
bool is_plain_norm(const Graph& graph, const Node& node) {
  const auto* norm = node.attrs.get_if<LayerNormAttrs>();
  const OpenShape& shape = graph.fact(node.outputs[0]).shape;
  if (norm == nullptr || graph.fact(node.outputs[0]).dtype != DType::f32 || norm->axis != shape.rank() - 1)
    return false;
  const Dim channels = shape[shape.rank() - 1];
  return channels.is_number() && std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](ValueId input) {
           return !input.exists() || is_row(graph.fact(input), channels);
         });
}

bool is_plain_product(const Graph& graph, const Node& node, ValueId x) {
  if (node.spec != &kMatmul || node.inputs[0] != x || node.inputs[1] == x) return false;
  const Fact& weights = graph.fact(node.inputs[1]);
  return weights.is_constant() && weights.dtype == DType::f32 && weights.shape.rank() == 2;
}

std::vector<SmoothLink> links_of(const Graph& graph, const std::vector<std::string>& skip) {
  std::vector<SmoothLink> links;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!is_plain_norm(graph, node) || matches_any(skip, node)) continue;
    SmoothLink link{id, node.outputs[0], {}};
    for (const NodeId reader : graph.readers(link.wire)) {
      const Node& product = graph.node(reader);
      if (is_plain_product(graph, product, link.wire) && !matches_any(skip, product)) link.products.push_back(reader);
    }
    if (!link.products.empty()) links.push_back(std::move(link));
  }
  return links;
}

// The largest magnitude of the weights that each channel meets.
std::vector<float> weights_met(const Graph& graph, const SmoothLink& link) {
  std::vector<float> largest;
  for (const NodeId id : link.products) {
    const std::vector<float> own = channel_magnitudes(graph.fact(graph.node(id).inputs[1]).constant->view(), 0);
    largest.resize(own.size());
    std::transform(own.begin(), own.end(), largest.begin(), largest.begin(),
                   [](float a, float b) { return std::max(a, b); });
  }
  return largest;
}

// seen^3/4 / weights^1/4, in units of their geometric mean. Three quarters: of 1/4, 1/2, 3/4 and 1 the best for
// all-MiniLM-L6-v2, weights included, in front of both products of a block (docs/accuracy.md).
std::vector<float> smooth_factors_of(const std::vector<float>& seen, const std::vector<float>& weights) {
  constexpr double kShare = 0.75, kSmallest = 1e-5, kMost = 64.0;
  std::vector<double> logs;
  double mean = 0.0;
  for (std::size_t c = 0; c < seen.size(); ++c) {
    const auto log_of = [&](float value) { return std::log(std::max(static_cast<double>(value), kSmallest)); };
    logs.push_back(kShare * log_of(seen[c]) - (1.0 - kShare) * log_of(weights[c]));
    mean += logs.back() / static_cast<double>(seen.size());
  }
  std::vector<float> factors;
  for (const double log : logs)
    factors.push_back(static_cast<float>(std::clamp(std::exp(log - mean), 1.0 / kMost, kMost)));
  return factors;
}

// A normalisation with the factors in it.
ValueId add_norm(Patch& patch, const Graph& graph, const SmoothLink& link, const std::vector<float>& inverse) {
  const Node& norm = graph.node(link.norm);
  std::vector<ValueId> inputs = {norm.inputs[0]};
  for (std::size_t i = 1; i < norm.inputs.size(); ++i) {
    const ValueId input = norm.inputs[i];
    const std::string name = input.exists() ? graph.value(input).name + "/smoothed" : "";
    inputs.push_back(input.exists() ? patch.constant(name, scaled_channels(*graph.fact(input).constant, 0, inverse))
                                    : input);
  }
  return patch.add(kLayerNorm, norm.attrs, std::move(inputs), graph.value(link.wire).name + "/smoothed", norm.origin);
}

ValueId add_product(Patch& patch, const Graph& graph, const SmoothLink& link, const std::vector<float>& inverse) {
  const std::string name = graph.value(link.wire).name + "/smoothed";
  const Shape row{static_cast<std::int64_t>(inverse.size())};
  return patch.add(kBinary, BinaryAttrs{BinaryKind::mul},
                   {link.wire, patch.constant(name + "/factor", Tensor::of<float>(row, inverse))}, name,
                   graph.node(link.norm).origin);
}

// The products behind a wire of their own.
Patch with_factors(const Graph& graph, const SmoothLink& link, const std::vector<float>& factors, Smoothed where) {
  std::vector<float> inverse;
  for (const float factor : factors) inverse.push_back(1.0f / factor);
  Patch patch(graph);
  const ValueId x =
      where == Smoothed::norm ? add_norm(patch, graph, link, inverse) : add_product(patch, graph, link, inverse);
  for (const NodeId id : link.products) {
    const Node& product = graph.node(id);
    const ValueId weights = patch.constant(graph.value(product.inputs[1]).name + "/smoothed",
                                           scaled_channels(*graph.fact(product.inputs[1]).constant, 0, factors));
    patch.replace(product.outputs[0], patch.add(kMatmul, product.attrs, {x, weights}, product.name, product.origin));
  }
  return patch;
}

}  // namespace

Result<ChannelFactors> find_smoothing(const Graph& graph, const std::vector<std::string>& skip,
                                      const SampleRuns& runs) {
  ChannelFactors factors;
  const std::vector<SmoothLink> links = links_of(graph, skip);
  if (links.empty()) return factors;
  std::vector<ObservedValue> wires;
  for (const SmoothLink& link : links) wires.push_back({link.wire, graph.fact(link.wire).shape.rank() - 1});
  const auto seen = observed_magnitudes(graph, wires, runs);
  if (!seen) return seen.errors();
  for (std::size_t k = 0; k < links.size(); ++k) {
    const std::vector<float>& channels = (*seen)[k];
    const std::vector<float> weights = weights_met(graph, links[k]);
    if (channels.empty() || channels.size() != weights.size()) continue;
    factors[graph.value(links[k].wire).name] = smooth_factors_of(channels, weights);
  }
  return factors;
}

Result<ChannelFactors> smooth(Graph& graph, const std::vector<std::string>& skip, const ChannelFactors& factors,
                              Smoothed where) {
  ChannelFactors by_wire;
  for (const SmoothLink& link : links_of(graph, skip)) {
    const OpenShape& shape = graph.fact(link.wire).shape;
    const auto known = factors.find(graph.value(link.wire).name);
    if (known == factors.end() || !is_same(shape[shape.rank() - 1], static_cast<std::int64_t>(known->second.size())))
      continue;
    const Status moved = apply(graph, with_factors(graph, link, known->second, where));
    if (!moved) return moved.errors();
    by_wire[known->first + "/smoothed"] = known->second;
  }
  return by_wire;
}

}  // namespace octavo
