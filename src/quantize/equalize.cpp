// Finding links of convolutions and what to move along them. Part of quantize/.
#include "quantize/equalize.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "ops/conv/conv.h"
#include "ops/max_pool/max_pool.h"
#include "ops/unary/unary.h"
#include "quantize/calibrator.h"
#include "quantize/channels.h"
#include "quantize/node_pattern.h"

namespace octavo {
namespace {

// A wire between convolutions.
struct EqualizeLink {
  NodeId producer;
  ValueId wire;  // what the consumers read
  std::vector<NodeId> consumers;
  float highest = HUGE_VALF;  // the bound of a clip on the way
};

// A convolution over images, one group or one group per channel, whose weights nobody else reads.
bool is_plain_conv(const Graph& graph, const Node& node) {
  const auto* conv = node.attrs.get_if<ConvAttrs>();
  if (conv == nullptr || conv->layout != Layout::channels_first) return false;
  const auto is_own_constant = [&](std::size_t i) {
    return graph.fact(node.inputs[i]).is_constant() && graph.fact(node.inputs[i]).dtype == DType::f32 &&
           graph.has_one_reader(node.inputs[i]);
  };
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2].exists();
  return is_own_constant(1) && (!has_bias || is_own_constant(2)) &&
         (conv->groups == 1 || conv->groups == graph.fact(node.inputs[0]).shape[1]);
}

bool is_depthwise(const Node& conv) { return conv.attrs.as<ConvAttrs>().groups > 1; }

class LinkFinder {
 public:
  LinkFinder(const Graph& graph, std::vector<std::string> skip) : graph_(graph), skip_(std::move(skip)) {}

  std::vector<EqualizeLink> find() const {
    std::vector<EqualizeLink> links;
    for (const NodeId id : graph_.order()) {
      if (!may_change(id)) continue;
      if (auto link = link_from(id)) links.push_back(std::move(*link));
    }
    return links;
  }

 private:
  bool may_change(NodeId id) const {
    const Node& node = graph_.node(id);
    return !matches_any(skip_, node) && is_plain_conv(graph_, node);
  }

  std::optional<EqualizeLink> link_from(NodeId id) const {
    EqualizeLink link{.producer = id, .wire = graph_.node(id).outputs[0]};
    while (graph_.has_one_reader(link.wire)) {
      const Node& next = graph_.node(graph_.readers(link.wire)[0]);
      if (!passes_factors(next, link)) break;
      link.wire = next.outputs[0];
    }
    link.consumers = graph_.readers(link.wire);
    const bool all_may_change = std::all_of(link.consumers.begin(), link.consumers.end(), [&](NodeId consumer) {
      const Node& node = graph_.node(consumer);
      return may_change(consumer) && node.inputs[0] == link.wire && node.inputs[1] != link.wire;
    });
    if (link.consumers.empty() || graph_.is_output(link.wire) || !all_may_change) return std::nullopt;
    return link;
  }

  // f(x / s) = f(x) / s for s > 0: ReLU, and a clip from 0 for values that its upper bound does not reach.
  static bool passes_factors(const Node& node, EqualizeLink& link) {
    if (node.attrs.is<MaxPoolAttrs>()) return true;
    const auto* unary = node.attrs.get_if<UnaryAttrs>();
    if (unary == nullptr) return false;
    if (unary->kind == UnaryKind::relu || unary->kind == UnaryKind::leaky_relu) return true;
    if (unary->kind != UnaryKind::clip || unary->alpha != 0.0f) return false;
    link.highest = std::min(link.highest, unary->beta);
    return true;
  }

  const Graph& graph_;
  std::vector<std::string> skip_;
};

// The largest magnitude of each channel of the weights' input side, over all consumers that are not depthwise; empty
// where all are: then moving is free.
std::vector<float> consumer_weights(const Graph& graph, const EqualizeLink& link) {
  std::vector<float> largest;
  for (const NodeId id : link.consumers) {
    const Node& conv = graph.node(id);
    if (is_depthwise(conv)) continue;
    const std::vector<float> own = channel_magnitudes(graph.fact(conv.inputs[1]).constant->view(), 1);
    largest.resize(own.size());
    std::transform(own.begin(), own.end(), largest.begin(), largest.begin(),
                   [](float a, float b) { return std::max(a, b); });
  }
  return largest;
}

// `seen`: the largest magnitude of each channel of the wire. The wire's range stays; smaller channels grow towards it.
// In front of a depthwise convolution, whose weights have a scale per channel, all the way; else as far as both sides
// gain: to the geometric mean with the weights.
std::vector<float> equalize_factors_of(const Graph& graph, const EqualizeLink& link, const std::vector<float>& seen) {
  constexpr float kSmallest = 1.0f / 1024.0f;
  const float range = *std::max_element(seen.begin(), seen.end());
  const std::vector<float> weights = consumer_weights(graph, link);
  const float largest_weight = weights.empty() ? 0.0f : *std::max_element(weights.begin(), weights.end());
  std::vector<float> factors(seen.size(), 1.0f);
  for (std::size_t c = 0; c < seen.size(); ++c) {
    if (seen[c] <= 0.0f || seen[c] >= link.highest) continue;
    float factor = seen[c] / range;
    if (!weights.empty()) {
      if (weights[c] <= 0.0f) continue;
      factor = std::max(factor, std::sqrt(factor * largest_weight / weights[c]));
    }
    factors[c] = std::clamp(factor, kSmallest, 1.0f);
  }
  return factors;
}

void replace_constant(Graph& graph, ValueId old, Tensor tensor) {
  const std::string name = graph.value(old).name;
  graph.replace_uses(old, graph.add_constant(name, std::move(tensor)));
}

void move_factors_of(Graph& graph, const EqualizeLink& link, const std::vector<float>& factors) {
  std::vector<float> inverse;
  for (const float factor : factors) inverse.push_back(1.0f / factor);
  const std::vector<ValueId> inputs = graph.node(link.producer).inputs;
  replace_constant(graph, inputs[1], scaled_channels(*graph.fact(inputs[1]).constant, 0, inverse));
  if (inputs.size() > 2 && inputs[2].exists())
    replace_constant(graph, inputs[2], scaled_channels(*graph.fact(inputs[2]).constant, 0, inverse));
  for (const NodeId id : link.consumers) {
    const ValueId weights = graph.node(id).inputs[1];
    replace_constant(graph, weights,
                     scaled_channels(*graph.fact(weights).constant, is_depthwise(graph.node(id)) ? 0 : 1, factors));
  }
}

}  // namespace

Result<ChannelFactors> find_factors(const Graph& graph, const std::vector<std::string>& skip, const SampleRuns& runs) {
  ChannelFactors factors;
  const std::vector<EqualizeLink> links = LinkFinder(graph, skip).find();
  if (links.empty()) return factors;
  std::vector<ObservedValue> wires;
  for (const EqualizeLink& link : links) wires.push_back({link.wire, 1});
  const auto seen = observed_magnitudes(graph, wires, runs);
  if (!seen) return seen.errors();
  // A link's consumers are producers of the next one: their weights change on the way.
  Graph changed = graph;
  for (std::size_t k = 0; k < links.size(); ++k) {
    const auto& channels = (*seen)[k];
    if (channels.empty()) continue;
    const std::vector<float> own = equalize_factors_of(changed, links[k], channels);
    move_factors_of(changed, links[k], own);
    factors[graph.value(graph.node(links[k].producer).outputs[0]).name] = own;
  }
  return factors;
}

ChannelFactors move_factors(Graph& graph, const ChannelFactors& factors) {
  ChannelFactors by_wire;
  for (const EqualizeLink& link : LinkFinder(graph, {}).find()) {
    const ValueId first = graph.node(link.producer).outputs[0];
    const auto known = factors.find(graph.value(first).name);
    const std::int64_t channels = graph.fact(link.wire).shape[1];
    if (known == factors.end() || static_cast<std::int64_t>(known->second.size()) != channels) continue;
    move_factors_of(graph, link, known->second);
    for (ValueId wire = first;; wire = graph.node(graph.readers(wire)[0]).outputs[0]) {
      by_wire[graph.value(wire).name] = known->second;
      if (wire == link.wire) break;
    }
  }
  return by_wire;
}

}  // namespace octavo
