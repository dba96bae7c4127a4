// Compiling a graph with its inner values as outputs. Part of quantize/.
#include "quantize/observed_network.h"

#include <algorithm>

#include "base/machine.h"
#include "lower/lower.h"
#include "plan/plan.h"

namespace octavo {
namespace {

Result<std::shared_ptr<const Model>> compile_fp32(Graph graph) {
  if (const auto lowered = lower(graph, {.precision = Precision::fp32}); !lowered) return lowered.errors();
  ConstantPool constants;
  auto plan = make_plan(graph, host_machine(), {.precision = Precision::fp32, .allow_reference = true}, constants);
  if (!plan) return plan.errors();
  CompiledModel compiled{.source = "calibration", .machine = host_machine()};
  compiled.plans.push_back(std::move(*plan));
  adopt_constants(compiled, constants);
  return load_model(std::move(compiled), {.threads = 1});
}

}  // namespace

Result<ObservedNetwork> ObservedNetwork::compile(const Graph& graph, const std::vector<ValueId>& chosen) {
  ObservedNetwork network;
  Graph observed = graph;
  for (const ValueId id : chosen) {
    const auto input = std::find(graph.inputs().begin(), graph.inputs().end(), id);
    if (input != graph.inputs().end()) {
      network.source_.push_back(-1 - (input - graph.inputs().begin()));
      continue;
    }
    network.source_.push_back(static_cast<std::ptrdiff_t>(observed.outputs().size()));
    observed.add_output(id, "octavo/observed/" + std::to_string(id.index));
  }
  auto model = compile_fp32(std::move(observed));
  if (!model) return model.errors();
  network.model_ = std::move(*model);
  return network;
}

Result<Observation> Observation::create(const ObservedNetwork& network) {
  auto context = Context::create(network.model_);
  if (!context) return context.errors();
  Observation observation(std::move(*context));
  observation.source_ = network.source_;
  for (const PlanTensor& output : observation.context_.plan().outputs) observation.outputs_.emplace_back(output.dtype, Shape(output.shape));
  return observation;
}

Status Observation::run(const std::vector<Tensor>& inputs, const Visit& visit) {
  std::vector<ConstTensorView> in;
  std::vector<TensorView> out;
  for (const Tensor& input : inputs) in.push_back(input.view());
  for (Tensor& output : outputs_) out.push_back(output.view());
  if (Status done = context_.run(in, out); !done) return done;
  for (std::size_t k = 0; k < source_.size(); ++k)
    visit(k, source_[k] < 0 ? in[static_cast<std::size_t>(-1 - source_[k])] : ConstTensorView(out[static_cast<std::size_t>(source_[k])]));
  return ok_status();
}

}  // namespace octavo
