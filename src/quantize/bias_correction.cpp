// Means of channels before and after rounding. Part of quantize/.
#include "quantize/bias_correction.h"

#include <algorithm>

#include "lower/rules/fold_constants.h"
#include "ops/list.h"
#include "quantize/node_runner.h"
#include "quantize/observed_network.h"

namespace octavo {
namespace {

std::size_t at(NodeId id) { return static_cast<std::size_t>(id.index); }

// A result whose bias is a constant of the graph.
struct Biased {
  ValueId result;
  int axis = 1;  // of the channels
};

std::vector<Biased> biased_results(const Graph& graph, const Placement& placement) {
  std::vector<Biased> biased;
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

// Sums of f32 values per channel, in f64.
void add_channels(std::vector<double>& sums, const ConstTensorView& values, int axis) {
  const std::int64_t channels = values.shape[axis], inner = values.shape.elements(axis + 1, values.shape.rank());
  sums.resize(static_cast<std::size_t>(channels));
  const auto all = values.span<float>();
  for (std::size_t i = 0; i < all.size(); ++i) sums[i / static_cast<std::size_t>(inner) % sums.size()] += static_cast<double>(all[i]);
}

void add_to_channels(Tensor& values, const std::vector<float>& shift, int axis) {
  const auto inner = static_cast<std::size_t>(values.shape().elements(axis + 1, values.shape().rank()));
  const auto all = values.span<float>();
  for (std::size_t i = 0; i < all.size(); ++i) all[i] += shift[i / inner % shift.size()];
}

// As many samples as fit: all values that wait for a reader are kept of each.
Result<std::vector<SampleTensors>> read_samples(const Graph& graph, const SampleSource& source) {
  constexpr std::int64_t kMost = 64, kLeast = 8, kBytes = 48 << 20;
  std::int64_t largest = 1;
  for (int i = 0; i < graph.value_count(); ++i) {
    const Fact& fact = graph.fact({i});
    if (!fact.is_constant()) largest = std::max(largest, fact.shape.elements() * static_cast<std::int64_t>(size_of(fact.dtype)));
  }
  const std::int64_t count = std::min(source.size(), std::clamp(kBytes / largest, kLeast, kMost));
  std::vector<SampleTensors> samples;
  for (std::int64_t i = 0; i < count; ++i) {
    auto sample = source.sample(i * source.size() / count);
    if (!sample) return sample.errors();
    samples.push_back(std::move(*sample));
  }
  return samples;
}

// By index of `biased`: sums over the samples in f32.
Result<std::vector<std::vector<double>>> original_sums(const Graph& graph, const std::vector<Biased>& biased,
                                                       const std::vector<SampleTensors>& samples) {
  std::vector<ValueId> results;
  for (const Biased& b : biased) results.push_back(b.result);
  const auto network = ObservedNetwork::compile(graph, results);
  if (!network) return network.errors();
  auto observation = Observation::create(*network);
  if (!observation) return observation.errors();
  std::vector<std::vector<double>> sums(biased.size());
  for (const SampleTensors& sample : samples) {
    const Status done = observation->run(sample, [&](std::size_t k, const ConstTensorView& value) { add_channels(sums[k], value, biased[k].axis); });
    if (!done) return done.errors();
  }
  return sums;
}

}  // namespace

Result<BiasCorrections> correct_biases(const Graph& graph, const Placement& placement, const Graph& quantized, const SampleSource& source) {
  const std::vector<Biased> biased = biased_results(graph, placement);
  const auto samples = read_samples(graph, source);
  if (!samples) return samples.errors();
  const auto wanted = original_sums(graph, biased, *samples);
  if (!wanted) return wanted.errors();
  std::map<std::string, std::size_t> index;  // by name of the result
  for (std::size_t k = 0; k < biased.size(); ++k) index[graph.value(biased[k].result).name] = k;
  Graph simulated = quantized;
  rewrite(simulated, "fold_all_constants", fold_all_constants);  // dequantized weights
  BiasCorrections corrections;
  const auto ran = run_nodes(simulated, *samples, [&](const Node& node, std::vector<SampleTensors>& outputs) {
    const auto found = index.find(simulated.value(node.outputs[0]).name);
    if (found == index.end()) return ok_status();
    const int axis = biased[found->second].axis;
    std::vector<double> sums;
    for (const SampleTensors& of_sample : outputs) add_channels(sums, of_sample[0].view(), axis);
    const Tensor& first = outputs[0][0];
    const auto count = static_cast<double>(first.elements() / first.shape()[axis]) * static_cast<double>(outputs.size());
    std::vector<float>& shift = corrections[found->first];
    for (std::size_t c = 0; c < sums.size(); ++c) shift.push_back(static_cast<float>(((*wanted)[found->second][c] - sums[c]) / count));
    for (SampleTensors& of_sample : outputs) add_to_channels(of_sample[0], shift, axis);
    return ok_status();
  });
  if (!ran) return ran.errors();
  return corrections;
}

}  // namespace octavo
