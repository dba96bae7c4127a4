// Samples of a program's networks. Part of api/.
#include "api/program_samples.h"

#include <algorithm>

#include "run/access.h"

namespace octavo::v1 {
namespace {

constexpr std::int64_t kMostSamples = 32;

class KeptSamples final : public SampleSource {
 public:
  explicit KeptSamples(std::vector<std::vector<Tensor>> samples) : samples_(std::move(samples)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(samples_.size()); }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    std::vector<Tensor> copies;
    for (const Tensor& tensor : samples_[static_cast<std::size_t>(index)])
      copies.push_back(Tensor::borrowed(tensor.view()));
    return copies;
  }

 private:
  std::vector<std::vector<Tensor>> samples_;
};

using Calls = std::vector<std::vector<Tensor>>;

// Of those in which there was anything.
void keep(Calls& calls, std::span<const ConstTensorView> inputs) {
  const bool is_empty =
      std::all_of(inputs.begin(), inputs.end(), [](const auto& input) { return input.shape.elements() == 0; });
  if (is_empty || static_cast<std::int64_t>(calls.size()) == kMostSamples) return;
  std::vector<Tensor>& call = calls.emplace_back();
  for (const ConstTensorView& input : inputs) call.push_back(Tensor::copy_of(input));
}

}  // namespace

Result<std::vector<NetworkSamples>> samples_of_networks(const CompiledModel& program, std::size_t networks,
                                                        const SampleSource& samples, const Monitor& monitor) {
  auto loaded = Program::load(program);
  if (!loaded) return loaded.errors();
  std::vector<Calls> calls(networks);
  ProgramContext& context = Access::of(*loaded).context;
  context.observe([&](std::int32_t network, std::span<const ConstTensorView> inputs) {
    keep(calls[static_cast<std::size_t>(network)], inputs);
  });
  const std::int64_t runs = std::min(samples.size(), kMostSamples);
  for (std::int64_t run = 0; run < runs; ++run) {
    if (const Status begun = monitor.at(Phase::calibrating, run, runs); !begun) return begun.errors();
    const auto sample = samples.sample(run * samples.size() / runs);
    if (!sample) return sample.errors();
    std::vector<ConstTensorView> inputs;
    for (const Tensor& tensor : *sample) inputs.push_back(tensor.view());
    if (const Status done = context.run(inputs); !done) return done.errors();
  }
  std::vector<NetworkSamples> found(networks);
  for (std::size_t i = 0; i < networks; ++i) {
    if (!calls[i].empty()) found[i] = std::make_shared<const KeptSamples>(std::move(calls[i]));
  }
  return found;
}

bool has_products(const Graph& graph) {
  return std::any_of(graph.order().begin(), graph.order().end(), [&](const NodeId id) {
    const Node& node = graph.node(id);
    return node.spec->weight_axis >= 0 && node.inputs.size() > 1 && graph.fact(node.inputs[1]).is_constant() &&
           graph.fact(node.inputs[1]).dtype == DType::f32;
  });
}

}  // namespace octavo::v1
