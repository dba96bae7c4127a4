// The pass of the fp32 network over the samples: ranges of wires and means of channels. Part of quantize/.
#ifndef OCTAVO_QUANTIZE_CALIBRATOR_H_
#define OCTAVO_QUANTIZE_CALIBRATOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "graph/graph.h"
#include "quantize/observed_network.h"
#include "quantize/observer.h"
#include "quantize/quantize.h"

namespace octavo {

// Reads one sample and checks it against the graph's inputs. Sources are called by one thread at a time: the caller
// holds a lock.
Result<std::vector<Tensor>> checked_sample(const Graph& graph, const SampleSource& samples, std::int64_t index);

// Runs `network` on at most `most` of the samples, spread evenly, and shows the chosen values of each as
// Observation::run does. `visit` is called by several threads at the same time, for one sample each. Errors: those of
// the samples and of the runs.
Status observe_samples(const Graph& graph, const ObservedNetwork& network, const SampleRuns& runs, std::int64_t most,
                       const Observation::Visit& visit);

// By value: the largest magnitude of each channel over at most 32 of the samples, spread evenly; empty where nobody can
// tell its channels apart, or where one is not finite. Errors: those of the samples and of the runs.
Result<std::vector<std::vector<float>>> observed_magnitudes(const Graph& graph,
                                                            const std::vector<ObservedValue>& values,
                                                            const SampleRuns& runs);

// Threads that work on samples: one per core, never more than samples.
int sample_workers(const Machine& machine, std::int64_t samples);

// One per worker.
Result<std::vector<Observation>> make_observations(const std::function<Result<Observation>()>& make, int workers);

// What the pass looks at.
struct Watch {
  std::vector<ValueId> ranges;
  std::vector<ObservedValue> means;        // with a channel axis
  std::vector<std::int64_t> mean_samples;  // ascending
  std::int64_t samples = 0;                // of all passes together, for whoever is told of them
};

// By index of Watch::means: the mean of each channel.
using ChannelMeans = std::vector<std::vector<float>>;

struct Statistics {
  std::vector<Observer> observers;             // by index of Watch::ranges
  std::map<std::int64_t, ChannelMeans> means;  // by sample
  std::int64_t samples = 0;                    // that were seen
};

// One thread computes the whole of a sample, and what is kept does not depend on who came first, so the statistics do
// not depend on how many threads there are; the kernels give the same bits everywhere, so nor do they on the machine.
// Goes on from `before`, what a pass over other samples saw of the same wires. Errors: those of the samples, and values
// that are not finite.
Result<Statistics> calibrate(const Graph& graph, const Watch& watch, const SampleSource& samples,
                             const QuantizeOptions& options, Statistics before = {});

}  // namespace octavo

#endif  // OCTAVO_QUANTIZE_CALIBRATOR_H_
