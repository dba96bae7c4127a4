// Samples of a program's networks. Part of api/.
#include "api/program_samples.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "api/quantizer.h"
#include "quantize/sample_sizes.h"
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

// Of the shapes of the first call of a network in which there was anything.
void keep(Calls& calls, std::span<const ConstTensorView> inputs) {
  const bool is_empty =
      std::all_of(inputs.begin(), inputs.end(), [](const auto& input) { return input.shape.elements() == 0; });
  if (is_empty || static_cast<std::int64_t>(calls.size()) == kMostSamples) return;
  std::vector<Tensor> call;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!calls.empty() && calls[0][i].shape() != inputs[i].shape) return;
    call.push_back(Tensor::copy_of(inputs[i]));
  }
  calls.push_back(std::move(call));
}

// "224"; of anything else, which is a size that is open, 1 where it is the batch.
std::optional<std::int64_t> extent_of(const std::string& text, std::size_t axis) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return number;
  return axis == 0 ? std::optional<std::int64_t>(1) : std::nullopt;
}

}  // namespace

Result<Graph> inputs_of_program(const octavo::Program& program, const std::string& path) {
  Graph graph;
  Errors errors;
  for (std::size_t i = 0; i < program.blocks[0].inputs.size(); ++i) {
    const std::int32_t index = program.blocks[0].inputs[i];
    if (index == kNoIndex) {
      errors.push_back(usage(path + ": input " + std::to_string(i), "one that nobody reads", "no samples of it"));
      continue;
    }
    const ProgramValue& value = program.values[static_cast<std::size_t>(index)];
    std::vector<Dim> dims;
    for (std::size_t axis = 0; axis < value.shape.size(); ++axis) {
      const auto extent = extent_of(value.shape[axis], axis);
      if (!extent)
        errors.push_back(usage(path + ": input '" + value.name + "', dimension " + std::to_string(axis),
                               "a size that is open (" + value.shape[axis] + "), of a model of several parts",
                               "a number, for calibration", "Give the whole shape with --shape"));
      dims.emplace_back(extent.value_or(1));
    }
    graph.add_input(value.name, value.dtype, OpenShape(dims));
  }
  if (!errors.empty()) return errors;
  return graph;
}

Result<std::vector<NetworkSamples>> samples_of_networks(const CompiledModel& program,
                                                        const std::vector<Graph>& networks, const SampleSource& samples,
                                                        const Monitor& monitor) {
  auto loaded = Program::load(program);
  if (!loaded) return loaded.errors();
  std::vector<Calls> calls(networks.size());
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
  std::vector<NetworkSamples> found(networks.size());
  for (std::size_t i = 0; i < networks.size(); ++i) {
    if (calls[i].empty()) continue;
    std::vector<Shape> shapes;
    for (const Tensor& tensor : calls[i][0]) shapes.push_back(tensor.shape());
    auto sizes = sizes_at(networks[i], shapes);
    if (!sizes) return sizes.errors();
    found[i] = {std::make_shared<const KeptSamples>(std::move(calls[i])), std::move(*sizes)};
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
