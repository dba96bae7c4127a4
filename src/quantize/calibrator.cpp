// Running the samples, in rounds. Part of quantize/.
#include "quantize/calibrator.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include "quantize/channels.h"
#include "quantize/parallel.h"

namespace octavo {
namespace {

// Samples between two meetings of the threads, where what depends on their order is merged.
constexpr std::int64_t kRound = 16;

// By watched value; nothing where it had no elements.
using RangesOfSample = std::vector<std::optional<TensorRange>>;

class Calibrator {
 public:
  Calibrator(const Graph& graph, const Watch& watch, const SampleSource& samples, const QuantizeOptions& options,
             Statistics before)
      : graph_(graph),
        watch_(watch),
        samples_(samples),
        options_(options),
        statistics_(std::move(before)),
        locks_(watch.ranges.size()) {
    statistics_.observers.resize(watch.ranges.size(), Observer(options.calibration));
    for (const std::int64_t sample : watch.mean_samples) statistics_.means[sample].resize(watch.means.size());
  }

  Result<Statistics> run() {
    std::vector<ObservedValue> chosen;
    for (const ValueId id : watch_.ranges) chosen.push_back({id});
    chosen.insert(chosen.end(), watch_.means.begin(), watch_.means.end());
    auto network = ObservedNetwork::compile(graph_, chosen, options_.machine);
    if (!network) return network.errors();
    network_ = std::move(*network);
    const int workers = sample_workers(options_.machine, samples_.size());
    auto observations = make_observations([&] { return Observation::create(network_); }, workers);
    if (!observations) return observations.errors();
    observations_ = std::move(*observations);
    for (std::int64_t begin = 0; begin < samples_.size(); begin += kRound) {
      const std::int64_t end = std::min(begin + kRound, samples_.size());
      of_round_.assign(static_cast<std::size_t>(end - begin), RangesOfSample(watch_.ranges.size()));
      const Status done = for_each_index(begin, end, workers, [&](int worker, std::int64_t index) {
        return observe(observations_[static_cast<std::size_t>(worker)], index,
                       of_round_[static_cast<std::size_t>(index - begin)]);
      });
      if (!done) return done.errors();
      for (const auto& of_sample : of_round_) {
        for (std::size_t k = 0; k < of_sample.size(); ++k) {
          if (of_sample[k]) statistics_.observers[k].add_to_average(*of_sample[k]);
        }
      }
    }
    return std::move(statistics_);
  }

 private:
  Result<std::vector<Tensor>> sample(std::int64_t index) {
    const std::lock_guard lock(mutex_);
    const Status going_on = options_.monitor.at(Phase::calibrating, statistics_.samples++, watch_.samples);
    if (!going_on) return going_on.errors();
    return checked_sample(graph_, samples_, index);
  }

  Status observe(Observation& observation, std::int64_t index, RangesOfSample& ranges) {
    auto inputs = sample(index);
    if (!inputs) return inputs.errors();
    const auto means = statistics_.means.find(index);
    std::size_t bad = watch_.ranges.size();
    const Status done = observation.run(*inputs, [&](std::size_t k, const TensorView& value) {
      if (k < watch_.ranges.size()) {
        const auto values = ConstTensorView(value).span<float>();
        const std::lock_guard lock(locks_[k]);
        ranges[k] = statistics_.observers[k].add(values);
        if (!ranges[k] && !values.empty()) bad = std::min(bad, k);
      } else if (means != statistics_.means.end() && network_.channel_axis(k) >= 0) {
        means->second[k - watch_.ranges.size()] = channel_means(value, network_.channel_axis(k));
      }
    });
    if (!done) return done;
    if (bad == watch_.ranges.size()) return ok_status();
    return Error{.kind = ErrorKind::invalid_input,
                 .where = samples_.name(index) + ", value '" + graph_.value(watch_.ranges[bad]).name + "'",
                 .found = "a value that is not finite",
                 .expected = "finite activations"};
  }

  const Graph& graph_;
  const Watch& watch_;
  const SampleSource& samples_;
  const QuantizeOptions& options_;
  ObservedNetwork network_;
  std::vector<Observation> observations_;  // by worker
  Statistics statistics_;
  std::vector<std::mutex> locks_;         // by observer
  std::vector<RangesOfSample> of_round_;  // by sample of the round
  std::mutex mutex_;                      // of the source
};

}  // namespace

int sample_workers(const Machine& machine, std::int64_t samples) {
  return static_cast<int>(
      std::clamp<std::int64_t>(machine.cores, 1, std::max<std::int64_t>(1, std::min(kRound, samples))));
}

Result<std::vector<Observation>> make_observations(const std::function<Result<Observation>()>& make, int workers) {
  std::vector<Observation> observations;
  for (int worker = 0; worker < workers; ++worker) {
    auto observation = make();
    if (!observation) return observation.errors();
    observations.push_back(std::move(*observation));
  }
  return observations;
}

Result<std::vector<Tensor>> checked_sample(const Graph& graph, const SampleSource& samples, std::int64_t index) {
  auto tensors = samples.sample(index);
  if (!tensors) return tensors;
  const std::string where = samples.name(index);
  const auto error = [&](std::string found, std::string expected) {
    return Error{
        .kind = ErrorKind::invalid_input, .where = where, .found = std::move(found), .expected = std::move(expected)};
  };
  if (tensors->size() != graph.inputs().size())
    return error(std::to_string(tensors->size()) + " tensors", std::to_string(graph.inputs().size()));
  for (std::size_t i = 0; i < tensors->size(); ++i) {
    const Tensor& tensor = (*tensors)[i];
    const Fact& fact = graph.fact(graph.inputs()[i]);
    if (tensor.dtype() == fact.dtype && tensor.shape() == fact.shape) continue;
    return error(std::string(name_of(tensor.dtype())) + "[" + tensor.shape().to_string() + "]",
                 std::string(name_of(fact.dtype)) + "[" + fact.shape.to_string() + "] for input '" +
                     graph.value(graph.inputs()[i]).name + "'");
  }
  return tensors;
}

Status observe_samples(const Graph& graph, const ObservedNetwork& network, const SampleRuns& runs, std::int64_t most,
                       const Observation::Visit& visit) {
  const SampleSource& samples = runs.samples;
  const std::int64_t count = std::min(most, samples.size());
  auto observations =
      make_observations([&] { return Observation::create(network); }, sample_workers(runs.machine, count));
  if (!observations) return observations.errors();
  std::mutex source;
  return for_each_index(0, count, static_cast<int>(observations->size()), [&](int worker, std::int64_t i) -> Status {
    auto inputs = [&] {
      const std::lock_guard lock(source);
      return checked_sample(graph, samples, i * samples.size() / count);
    }();
    if (!inputs) return inputs.errors();
    return (*observations)[static_cast<std::size_t>(worker)].run(*inputs, visit);
  });
}

Result<std::vector<std::vector<float>>> observed_magnitudes(const Graph& graph,
                                                            const std::vector<ObservedValue>& values,
                                                            const SampleRuns& runs) {
  constexpr std::int64_t kMost = 32;
  const auto network = ObservedNetwork::compile(graph, values, runs.machine);
  if (!network) return network.errors();
  std::vector<std::vector<float>> seen(values.size());
  std::mutex mutex;
  const Status done = observe_samples(graph, *network, runs, kMost, [&](std::size_t k, const TensorView& value) {
    if (network->channel_axis(k) < 0) return;
    const std::vector<float> own = channel_magnitudes(value, network->channel_axis(k));
    const std::lock_guard lock(mutex);
    seen[k].resize(own.size());
    for (std::size_t c = 0; c < own.size(); ++c) seen[k][c] = std::max(seen[k][c], own[c]);
  });
  if (!done) return done.errors();
  for (std::vector<float>& channels : seen) {
    if (!std::all_of(channels.begin(), channels.end(), [](float value) { return std::isfinite(value); }))
      channels.clear();
  }
  return seen;
}

Result<Statistics> calibrate(const Graph& graph, const Watch& watch, const SampleSource& samples,
                             const QuantizeOptions& options, Statistics before) {
  return Calibrator(graph, watch, samples, options, std::move(before)).run();
}

}  // namespace octavo
