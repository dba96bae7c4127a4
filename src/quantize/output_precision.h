// Output precision: outputs that are measures (boxes, landmarks, heat maps) lose more by rounding than scores that are
// only compared. Which layers stay in f32 so that no output loses too much, by what rounding each one costs the outputs
// and how much arithmetic it is. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_OUTPUT_PRECISION_H_
#define OCTAVO_QUANTIZE_OUTPUT_PRECISION_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quantize/placement.h"
#include "quantize/quantize.h"
#include "quantize/scales.h"

namespace octavo {

// A network with pairs, before they are there.
struct PlacedNetwork {
  Placement placement;
  std::vector<ActivationScale> scales;  // by ValueId
};

// The network with these nodes, by name, in f32, too.
using PlaceWithout = std::function<Result<PlacedNetwork>(const std::vector<std::string>& kept)>;

// Which outputs are judged.
enum class Judged : std::uint8_t {
  measures,  // no scores of one place: the only output of a network, or what comes out of a sigmoid or softmax
  all,
};

// Compares outputs of the network in f32 with those of quantized ones, compiled as they will be, on up to 16 of the
// samples.
class OutputJudge {
 public:
  // Errors: those of the samples.
  static Result<OutputJudge> create(const Graph& graph, Judged judged, const SampleRuns& runs, const Monitor& monitor);
  // By output: power of the error over that of the output. 0 of outputs that do not count: those that are not judged,
  // are not f32 or come about by a choice (a top k), those that are 0. `calibrated`: weights and corrections. Over the
  // judge's samples, of which no more than `most_samples`, spread over them, are looked at.
  Result<std::vector<double>> noise_of(const PlacedNetwork& placed, const Calibrated& calibrated,
                                       std::int64_t most_samples = std::numeric_limits<std::int64_t>::max()) const;
  // Whether there is an output that counts.
  bool has_work() const { return !of_sample_.empty(); }
  const Graph& graph() const { return *graph_; }
  const Monitor& monitor() const { return *monitor_; }

 private:
  OutputJudge(const Graph& graph, const SampleRuns& runs, const Monitor& monitor)
      : graph_(&graph), runs_(runs), monitor_(&monitor) {}
  using Outputs = std::vector<std::vector<float>>;  // empty where one does not count
  Outputs counted(const std::vector<Tensor>& outputs) const;

  const Graph* graph_;
  SampleRuns runs_;
  const Monitor* monitor_;
  std::vector<bool> counts_;                // by output
  std::vector<std::vector<double>> power_;  // by sample, by output
  std::vector<Outputs> of_sample_;          // in f32
};

// Power of the error over that of an output that has so many decibels of signal to noise ratio, and back.
double noise_at(double sqnr_db);
double sqnr_of(double noise);

// Names of nodes that stay in f32 so that no output has more noise than `most`, as the judge measures it. `noise`: what
// the network has that `placed` is. Groups of layers that the noisy outputs depend on are taken by the noise that
// rounding them alone makes there, for each multiply-add; then those that are dispensable are left out again. The same
// result on every machine. Errors: those of the samples, and cancelled.
Result<std::vector<std::string>> nodes_for_outputs(const OutputJudge& judge, const PlacedNetwork& placed,
                                                   const Calibrated& calibrated, const std::vector<double>& noise,
                                                   double most, const PlaceWithout& place);

// Share of the network's multiply-adds that these nodes are.
double share_of_macs(const Graph& graph, const std::vector<std::string>& nodes);

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_OUTPUT_PRECISION_H_
