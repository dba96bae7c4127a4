// A quantized network computed in floats: rounded weights, rounded wires, everything else as in the fp32 network. Part
// of quantize/.
#ifndef OCTAVO_QUANTIZE_SIMULATED_NETWORK_H_
#define OCTAVO_QUANTIZE_SIMULATED_NETWORK_H_

#include <functional>
#include <vector>

#include "graph/graph.h"
#include "quantize/observed_network.h"
#include "quantize/placement.h"
#include "quantize/scales.h"

namespace octavo {

// The wires that a simulation rounds and whose ranges calibration needs: all with pairs, but not those that take their
// scale from the wire before.
std::vector<ValueId> rounded_wires(const Graph& graph, const Placement& placement);

// Values as they would come back from 8 bits.
void round_values(std::span<float> values, const ActivationScale& scale);

class SimulatedNetwork {
 public:
  // `seen`: what a run shows, before it is rounded. `scales` by ValueId, as for insert_pairs; of `calibrated` the
  // weights are used.
  static Result<SimulatedNetwork> compile(Graph graph, const Placement& placement,
                                          const std::vector<ActivationScale>& scales, const Calibrated& calibrated,
                                          std::vector<ObservedValue> seen, const Machine& machine);
  Result<Observation> observe() const { return Observation::create(network_); }
  // As Observation has them, for any number of observations at the same time. `inputs` are changed: nobody else may
  // hold them.
  void start(Observation& observation, std::vector<Tensor>& inputs, const Observation::Visit& visit) const;
  Status advance(Observation& observation, const std::vector<Tensor>& inputs, const std::optional<Sighting>& from,
                 const std::optional<Sighting>& to, const Observation::Visit& visit) const;
  // Of `seen`, in the order of computation.
  std::vector<Sighting> sightings() const;
  const Plan& plan() const { return network_.plan(); }
  // Of a value in `seen`; -1 where it is not known.
  int channel_axis(std::size_t seen) const { return network_.channel_axis(seen); }

 private:
  Observation::Visit rounding(const Observation::Visit& visit) const;

  ObservedNetwork network_;
  std::size_t seen_ = 0;
  std::vector<ActivationScale> scales_;  // of the rounded wires, which come after what is seen
};

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_SIMULATED_NETWORK_H_
