// Means of channels before and after rounding. Part of quantize/.
#include "quantize/bias_correction.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <future>
#include <new>
#include <system_error>
#include <thread>

#include "ops/list.h"
#include "quantize/channels.h"
#include "quantize/simulated_network.h"

namespace octavo {
namespace {

std::size_t at(NodeId id) { return static_cast<std::size_t>(id.index); }

// All samples walk through the network together, each on a thread of its own, and meet at every product: what it lacks is the mean over all of them,
// and each goes on with the product corrected. Nearly all of the threads wait nearly all of the time; what they compute does not depend on it.
class Walk {
 public:
  Walk(const SimulatedNetwork& network, std::vector<const ChannelMeans*> wanted)
      : network_(network), wanted_(std::move(wanted)), lacks_(wanted_.size()), meeting_(static_cast<std::ptrdiff_t>(wanted_.size()), Average{this}) {
    for (const auto& channels : *wanted_.front()) shifts_.emplace_back(channels.size(), 0.0f);
  }

  // One set of inputs per sample. By product: what is to be added to each channel; empty where nothing is known.
  Result<std::vector<std::vector<float>>> run(std::vector<std::vector<Tensor>> inputs) {
    std::vector<Observation> observations;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      auto observation = network_.observe();
      if (!observation) return observation.errors();
      observations.push_back(std::move(*observation));
    }
    std::vector<Status> done(inputs.size(), ok_status());
    std::promise<bool> start;  // false where not all threads could be had
    const std::shared_future<bool> started = start.get_future().share();
    std::vector<std::jthread> threads;
    try {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        threads.emplace_back([&, i] {
          if (started.get()) done[i] = walk(observations[i], i, std::move(inputs[i]));
        });
      }
    } catch (const std::system_error& error) {
      start.set_value(false);
      return Error{.kind = ErrorKind::resource, .where = "bias correction", .found = error.what(), .expected = "a thread per sample"};
    }
    start.set_value(true);
    threads.clear();  // joins
    for (const Status& of_sample : done) {
      if (!of_sample) return of_sample.errors();
    }
    return std::move(shifts_);
  }

 private:
  struct Average {
    Walk* walk;
    void operator()() noexcept { walk->average(); }
  };

  Status walk(Observation& observation, std::size_t sample, std::vector<Tensor> inputs) {
    Status done = ok_status();
    try {
      done = network_.run(observation, std::move(inputs), [&](std::size_t k, const TensorView& value) { meet(sample, k, value); });
    } catch (const std::bad_alloc&) {
      done = Error{.kind = ErrorKind::resource, .where = "bias correction", .found = "not enough memory"};
    }
    if (!done) meeting_.arrive_and_drop();  // the others need not wait
    return done;
  }

  void meet(std::size_t sample, std::size_t k, const TensorView& value) {
    const std::vector<float>& wanted = (*wanted_[sample])[k];
    const int axis = network_.channel_axis(k);
    if (wanted.empty() || axis < 0) return;
    std::vector<float> lacks = channel_means(value, axis);
    for (std::size_t c = 0; c < wanted.size(); ++c) lacks[c] = wanted[c] - lacks[c];
    lacks_[sample] = std::move(lacks);
    product_ = k;
    meeting_.arrive_and_wait();
    add_to_channels(value, axis, shifts_[k]);
  }

  // In the order of the samples.
  void average() {
    std::vector<float>& shift = shifts_[product_];
    for (std::size_t c = 0; c < shift.size(); ++c) {
      double sum = 0.0;
      for (const auto& of_sample : lacks_) sum += c < of_sample.size() ? static_cast<double>(of_sample[c]) : 0.0;  // fewer: of one that failed
      shift[c] = static_cast<float>(sum / static_cast<double>(lacks_.size()));
    }
  }

  const SimulatedNetwork& network_;
  std::vector<const ChannelMeans*> wanted_;  // by sample
  std::vector<std::vector<float>> lacks_;    // by sample: of the product at which they meet
  std::vector<std::vector<float>> shifts_;   // by product
  std::atomic<std::size_t> product_ = 0;     // at which they meet
  std::barrier<Average> meeting_;
};

}  // namespace

std::vector<ObservedValue> biased_results(const Graph& graph, const Placement& placement) {
  std::vector<ObservedValue> biased;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const ValueId result = node.outputs[0];
    const int rank = graph.fact(result).shape.rank();
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2].exists() && graph.fact(node.inputs[2]).is_constant();
    if (placement.is_bias[at(id)]) biased.push_back({result, rank - 1});
    else if (node.spec == &kConv && placement.is_8bit[at(id)] && has_bias)
      biased.push_back({result, node.attrs.as<ConvAttrs>().layout == Layout::channels_last ? rank - 1 : 1});
  }
  return biased;
}

std::vector<std::int64_t> correction_samples(const Graph& graph, std::int64_t size) {
  constexpr std::int64_t kMost = 64, kLeast = 8, kBytes = 128 << 20;
  std::int64_t largest = 1;
  for (int i = 0; i < graph.value_count(); ++i) {
    const Fact& fact = graph.fact({i});
    if (!fact.is_constant()) largest = std::max(largest, fact.shape.elements() * static_cast<std::int64_t>(size_of(fact.dtype)));
  }
  const std::int64_t count = std::min(size, std::clamp(kBytes / largest, kLeast, kMost));
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) indices.push_back(i * size / count);
  return indices;
}

Result<BiasCorrections> correct_biases(const Graph& graph, const Placement& placement, const std::vector<ActivationScale>& scales,
                                       const Calibrated& calibrated, const std::map<std::int64_t, ChannelMeans>& means, const SampleSource& samples) {
  const std::vector<ObservedValue> biased = biased_results(graph, placement);
  if (biased.empty() || means.empty()) return BiasCorrections{};
  const auto network = SimulatedNetwork::compile(graph, placement, scales, calibrated, biased);
  if (!network) return network.errors();
  std::vector<std::vector<Tensor>> inputs;
  std::vector<const ChannelMeans*> wanted;
  for (const auto& [index, of_sample] : means) {
    auto sample = checked_sample(graph, samples, index);
    if (!sample) return sample.errors();
    inputs.push_back(std::move(*sample));
    wanted.push_back(&of_sample);
  }
  const auto shifts = Walk(*network, std::move(wanted)).run(std::move(inputs));
  if (!shifts) return shifts.errors();
  BiasCorrections corrections;
  for (std::size_t k = 0; k < shifts->size(); ++k) {
    if (!(*shifts)[k].empty()) corrections[graph.value(biased[k].id).name] = (*shifts)[k];
  }
  return corrections;
}

}  // namespace octavo
