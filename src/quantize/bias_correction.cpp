// Means of channels before and after rounding. Part of quantize/.
#include "quantize/bias_correction.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <mutex>

#include "ops/conv/conv.h"
#include "quantize/channels.h"
#include "quantize/live_memory.h"
#include "quantize/parallel.h"
#include "quantize/simulated_network.h"

namespace octavo {
namespace {

// 0 to count - 1 in an order in which every beginning is spread over all: by their bits from the lowest on.
std::vector<std::int64_t> spread_order(std::int64_t count) {
  std::vector<std::int64_t> order;
  const auto size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  for (std::int64_t i = 0; i < size; ++i) {
    std::int64_t reversed = 0;
    for (std::int64_t bit = 1; bit < size; bit *= 2) reversed = reversed * 2 + (i / bit) % 2;
    if (reversed < count) order.push_back(reversed);
  }
  return order;
}

// The samples walk through the network together and meet at every product: what it lacks is the mean over all of them,
// and each goes on with the product corrected. A few threads carry them from one meeting to the next, one after the
// other; of those that wait only what lies ahead of them is kept. Where that is much, fewer walk; who comes along later
// walks there from the start.
class Walk {
 public:
  // `means`: by sample, what each product gives in fp32.
  Walk(const Graph& graph, const SimulatedNetwork& network, const std::map<std::int64_t, ChannelMeans>& means,
       const SampleRuns& runs, const Monitor& monitor)
      : graph_(graph), network_(network), runs_(runs), monitor_(monitor), live_(live_memory(network.plan())) {
    std::vector<std::pair<std::int64_t, const ChannelMeans*>> wanted;
    for (const auto& [index, of_sample] : means) wanted.emplace_back(index, &of_sample);
    for (const std::int64_t i : spread_order(static_cast<std::int64_t>(wanted.size()))) {
      const auto& [index, of_sample] = wanted[static_cast<std::size_t>(i)];
      walkers_.push_back({.sample = index, .wanted = of_sample});
    }
    shifts_.resize(walkers_.front().wanted->size());
  }

  // By product: what is to be added to each channel; empty where nothing is known.
  Result<std::vector<std::vector<float>>> run() {
    const auto count = static_cast<std::int64_t>(walkers_.size());
    auto observations = make_observations([&] { return network_.observe(); }, sample_workers(runs_.machine, count));
    if (!observations) return observations.errors();
    std::optional<Sighting> last;
    const std::vector<Sighting> sightings = network_.sightings();
    for (const Sighting& next : sightings) {
      const Status going_on = monitor_.at(Phase::correcting, &next - sightings.data(), std::ssize(sightings));
      if (!going_on) return going_on.errors();
      if (network_.channel_axis(next.chosen) < 0 || walkers_.front().wanted->at(next.chosen).empty()) continue;
      const std::int64_t walking = std::min(count, fitting(next));
      const Status met =
          for_each_index(0, walking, static_cast<int>(observations->size()), [&](int worker, std::int64_t i) {
            return walk((*observations)[static_cast<std::size_t>(worker)], walkers_[static_cast<std::size_t>(i)], last,
                        next);
          });
      if (!met) return met.errors();
      for (std::int64_t i = walking; i < count; ++i) walkers_[static_cast<std::size_t>(i)].forget();
      shifts_[next.chosen] = average(walking);
      last = next;
    }
    return std::move(shifts_);
  }

 private:
  struct Walker {
    std::int64_t sample = 0;
    const ChannelMeans* wanted = nullptr;
    bool is_under_way = false;
    std::vector<Tensor> inputs;  // while somebody will read them
    Tensor memory;               // what lies ahead reads
    std::vector<float> lacks;    // at the product where they meet

    void forget() {
      is_under_way = false;
      inputs.clear();
      memory = Tensor();
    }
  };

  // Walkers whose memory fits.
  std::int64_t fitting(const Sighting& sighting) const {
    constexpr std::int64_t kBytes = 48 << 20, kLeast = 8;
    const LiveMemory& live = live_[sighting.step];
    std::int64_t bytes = static_cast<std::int64_t>(live.arena_bytes());
    const Plan& plan = network_.plan();
    for (std::size_t i = 0; live.has_inputs && i < plan.inputs.size(); ++i)
      bytes += static_cast<std::int64_t>(plan.input(i).bytes());
    return std::max(kLeast, kBytes / std::max<std::int64_t>(1, bytes));
  }

  Status walk(Observation& observation, Walker& walker, const std::optional<Sighting>& last, const Sighting& next) {
    const auto visit = [&](std::size_t k, const TensorView& value) {
      if (k == next.chosen) walker.lacks = missing(walker, k, value);
      else if (!shifts_[k].empty()) add_to_channels(value, network_.channel_axis(k), shifts_[k]);
    };
    Status done = ok_status();
    if (walker.is_under_way) {
      live_[last->step].put_back(walker.memory, observation.arena());
      add_to_channels(observation.value(*last), network_.channel_axis(last->chosen), shifts_[last->chosen]);
      done = network_.advance(observation, walker.inputs, last, next, visit);
    } else {
      if (Status begun = begin(walker); !begun) return begun;
      network_.start(observation, walker.inputs, visit);
      done = network_.advance(observation, walker.inputs, std::nullopt, next, visit);
    }
    if (!done) return done;
    live_[next.step].keep(observation.arena(), walker.memory);
    if (!live_[next.step].has_inputs) walker.inputs.assign(walker.inputs.size(), Tensor());
    return ok_status();
  }

  Status begin(Walker& walker) {
    const std::lock_guard lock(source_);
    auto inputs = checked_sample(graph_, runs_.samples, walker.sample);
    if (!inputs) return inputs.errors();
    walker.inputs.clear();
    for (const Tensor& input : *inputs)
      walker.inputs.push_back(Tensor::copy_of(input.view()));  // sources may share their tensors with others
    walker.is_under_way = true;
    return ok_status();
  }

  std::vector<float> missing(const Walker& walker, std::size_t k, const TensorView& value) const {
    std::vector<float> lacks = channel_means(value, network_.channel_axis(k));
    for (std::size_t c = 0; c < lacks.size(); ++c) lacks[c] = (*walker.wanted)[k][c] - lacks[c];
    return lacks;
  }

  // In the order of the walkers, whoever came first.
  std::vector<float> average(std::int64_t walking) const {
    std::vector<float> shift;
    for (std::size_t c = 0; c < walkers_.front().lacks.size(); ++c) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < walking; ++i)
        sum += static_cast<double>(walkers_[static_cast<std::size_t>(i)].lacks[c]);
      shift.push_back(static_cast<float>(sum / static_cast<double>(walking)));
    }
    return shift;
  }

  const Graph& graph_;
  const SimulatedNetwork& network_;
  const SampleRuns& runs_;
  const Monitor& monitor_;
  std::mutex source_;
  std::vector<LiveMemory> live_;            // by step
  std::vector<Walker> walkers_;             // any beginning is spread over all samples
  std::vector<std::vector<float>> shifts_;  // by product
};

}  // namespace

std::vector<ObservedValue> biased_results(const Graph& graph, const Placement& placement) {
  std::vector<ObservedValue> biased;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const ValueId result = node.outputs[0];
    const int rank = graph.fact(result).shape.rank();
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2].exists() && graph.fact(node.inputs[2]).is_constant();
    const auto* conv = node.attrs.get_if<ConvAttrs>();
    if (placement.is_bias[at(id)]) biased.push_back({result, rank - 1});
    else if (conv != nullptr && placement.is_8bit[at(id)] && has_bias)
      biased.push_back({result, conv->layout == Layout::channels_last ? rank - 1 : 1});
  }
  return biased;
}

std::vector<std::int64_t> correction_samples(std::int64_t size) {
  constexpr std::int64_t kMost = 64;
  const std::int64_t count = std::min(size, kMost);
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) indices.push_back(i * size / count);
  return indices;
}

Result<BiasCorrections> correct_biases(const Graph& graph, const Placement& placement,
                                       const std::vector<ActivationScale>& scales, const Calibrated& calibrated,
                                       const std::map<std::int64_t, ChannelMeans>& means, const SampleRuns& runs,
                                       const Monitor& monitor) {
  const std::vector<ObservedValue> biased = biased_results(graph, placement);
  if (biased.empty() || means.empty()) return BiasCorrections{};
  const auto simulated = SimulatedNetwork::compile(graph, placement, scales, calibrated, biased, runs.machine);
  if (!simulated) return simulated.errors();
  const auto shifts = Walk(graph, *simulated, means, runs, monitor).run();
  if (!shifts) return shifts.errors();
  BiasCorrections corrections;
  for (std::size_t k = 0; k < shifts->size(); ++k) {
    if (!(*shifts)[k].empty()) corrections[graph.value(biased[k].id).name] = (*shifts)[k];
  }
  return corrections;
}

}  // namespace octavo
