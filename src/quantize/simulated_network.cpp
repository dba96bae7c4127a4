// Compiling and running simulations. Part of quantize/.
#include "quantize/simulated_network.h"

#include <algorithm>

#include "base/requantize.h"
#include "quantize/channels.h"

namespace octavo {
namespace {

Tensor dequantized(const QuantizedWeights& weights, int axis) {
  const Shape& shape = weights.values.shape();
  Tensor values(DType::f32, shape);
  std::copy_n(weights.values.as<std::int8_t>(), values.elements(), values.as<float>());
  scale_channels(values.view(), axis, weights.scale);
  return values;
}

// Weights that several products share are rounded for the first of them.
void round_weights(Graph& graph, const Placement& placement, const std::vector<ActivationScale>& scales,
                   const Calibrated& calibrated) {
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    const Node node = graph.node(id);
    const int axis = node.spec->weight_axis;
    if (axis < 0 || !placement.is_8bit[at(id)] || !graph.fact(node.inputs[1]).is_constant()) continue;
    const ValueId weights = node.inputs[1];
    const std::string name = graph.value(weights).name;
    const QuantizedWeights rounded =
        quantize_weights(*graph.fact(weights).constant, axis, {}, scales[at(node.inputs[0])].scale,
                         known_weights(calibrated, graph.value(node.outputs[0]).name));
    graph.replace_uses(weights, graph.add_constant(name, dequantized(rounded, axis)));
  }
}

}  // namespace

std::vector<ValueId> rounded_wires(const Graph& graph, const Placement& placement) {
  std::vector<ValueId> wires;
  for (int i = 0; i < graph.value_count(); ++i) {
    const ValueId value{i};
    if (!placement.pair(value)) continue;
    const Node* producer = graph.producer(value);
    const bool follows = producer != nullptr && placement.role(graph.value(value).producer).role == Role::moving &&
                         elements_of(*producer->spec, producer->attrs) != Elements::joined;
    if (!follows) wires.push_back(value);
  }
  return wires;
}

void round_values(std::span<float> values, const ActivationScale& scale) {
  const auto zero_point = static_cast<float>(scale.zero_point);
  const float lowest = (scale.dtype == DType::s8 ? -128.0f : 0.0f) - zero_point,
              highest = (scale.dtype == DType::s8 ? 127.0f : 255.0f) - zero_point;
  for (float& value : values) value = round_small(clamp_f32(value / scale.scale, lowest, highest)) * scale.scale;
}

Result<SimulatedNetwork> SimulatedNetwork::compile(Graph graph, const Placement& placement,
                                                   const std::vector<ActivationScale>& scales,
                                                   const Calibrated& calibrated, std::vector<ObservedValue> seen,
                                                   const Machine& machine) {
  SimulatedNetwork simulated;
  simulated.seen_ = seen.size();
  for (const ValueId wire : rounded_wires(graph, placement)) {
    if (placement.wide(wire)) continue;  // s16 hardly rounds, and readers of its bytes would not be alone with them
    seen.push_back({wire});
    simulated.scales_.push_back(scales[at(wire)]);
  }
  round_weights(graph, placement, scales, calibrated);
  auto network = ObservedNetwork::compile(std::move(graph), seen, machine);
  if (!network) return network.errors();
  simulated.network_ = std::move(*network);
  return simulated;
}

Observation::Visit SimulatedNetwork::rounding(const Observation::Visit& visit) const {
  return [&](std::size_t k, const TensorView& value) {
    if (k < seen_) visit(k, value);
    else round_values(value.span<float>(), scales_[k - seen_]);
  };
}

void SimulatedNetwork::start(Observation& observation, std::vector<Tensor>& inputs,
                             const Observation::Visit& visit) const {
  observation.start(inputs, rounding(visit));
}

Status SimulatedNetwork::advance(Observation& observation, const std::vector<Tensor>& inputs,
                                 const std::optional<Sighting>& from, const std::optional<Sighting>& to,
                                 const Observation::Visit& visit) const {
  return observation.advance(inputs, from, to, rounding(visit));
}

std::vector<Sighting> SimulatedNetwork::sightings() const {
  std::vector<Sighting> all = network_.sightings();
  std::erase_if(all, [&](const Sighting& sighting) { return sighting.chosen >= seen_; });
  return all;
}

}  // namespace octavo
