// The whole way from a graph to answers. Part of the conformance runner.
#include "conformance/pipeline.h"

#include <algorithm>

#include "artifact/artifact.h"
#include "planner/open_planner.h"
#include "planner/planner.h"
#include "run/model.h"
#include "run/program.h"

namespace octavo::conformance {

std::vector<Way> all_ways(bool is_quantized) {
  std::vector<Way> ways;
  for (const char* target : {"scalar", "host"}) {
    const auto machine = machine_for_target(target);
    ways.push_back({std::string(target) + " int8", *machine, Precision::int8});
    if (!is_quantized) ways.push_back({std::string(target) + " fp32", *machine, Precision::fp32});
  }
  return ways;
}

Result<std::vector<Tensor>> run_compiled(Graph graph, const Way& way, const std::vector<Tensor>& inputs,
                                         int& reference_steps) {
  if (auto lowered = lower(graph, {.precision = way.precision}); !lowered) return lowered.errors();
  ConstantPool constants;
  auto plan = make_plan(graph, way.machine, {.precision = way.precision, .allow_reference = true}, constants);
  if (!plan) return plan.errors();
  reference_steps += static_cast<int>(std::count_if(plan->steps.begin(), plan->steps.end(), [](const PlanStep& step) {
    return step.kernel.find("reference") != std::string::npos;
  }));
  CompiledModel compiled;
  compiled.plans.push_back(*std::move(plan));
  adopt_constants(compiled, constants);
  auto model = load_model(std::move(compiled), {.threads = 1});
  if (!model) return model.errors();
  auto context = Context::create(*model);
  if (!context) return context.errors();
  std::vector<ConstTensorView> in;
  for (const Tensor& input : inputs) in.push_back(input.view());
  std::vector<Tensor> outputs;
  std::vector<TensorView> out;
  for (std::size_t i = 0; i < context->plan().outputs.size(); ++i)
    outputs.emplace_back(context->plan().output(i).dtype, Shape(context->plan().output(i).shape));
  for (Tensor& output : outputs) out.push_back(output.view());
  if (auto status = context->run(in, out); !status) return status.errors();
  return outputs;
}

namespace {

Result<CompiledModel> compile_network(Graph graph, const Way& way, int& reference_steps) {
  const auto report = lower(graph, {.precision = way.precision});
  if (!report) return report.errors();
  ConstantPool constants;
  CompiledModel compiled;
  if (graph.sizes() != nullptr) {
    compiled.network.emplace().graph = stored_graph(graph, constants);
    compiled.network->weight_bytes = constants.seal();
    compiled.network->precision = way.precision;
    compiled.network->machine = way.machine;
    compiled.network->allow_reference = true;
    compiled.network->waits_for_sizes = report->waits_for_sizes;
  } else {
    auto plan = make_plan(graph, way.machine, {.precision = way.precision, .allow_reference = true}, constants);
    if (!plan) return plan.errors();
    reference_steps += static_cast<int>(std::count_if(plan->steps.begin(), plan->steps.end(), [](const PlanStep& step) {
      return step.kernel.find("reference") != std::string::npos;
    }));
    compiled.plans.push_back(*std::move(plan));
  }
  adopt_constants(compiled, constants);
  return compiled;
}

}  // namespace

Result<std::vector<Tensor>> run_program(const ImportedProgram& program, const Way& way,
                                        const std::vector<Tensor>& inputs, int& reference_steps) {
  CompiledModel compiled{.program = program.program};
  for (const Graph& graph : program.networks) {
    auto network = compile_network(graph, way, reference_steps);
    if (!network) return network.errors();
    compiled.networks.push_back(std::move(*network));
  }
  // As a file, too.
  auto read = parse_artifact(encode_artifact(compiled), "program");
  if (!read) return read.errors();
  auto model = load_program(std::move(*read), {.threads = 1});
  if (!model) return model.errors();
  ProgramContext context(*model, nullptr);
  std::vector<ConstTensorView> in;
  for (const Tensor& input : inputs) in.push_back(input.view());
  // Twice: a run leaves nothing behind.
  for (int i = 0; i < 2; ++i) {
    if (Status done = context.run(in); !done) return done.errors();
  }
  std::vector<Tensor> outputs;
  for (const ConstTensorView& output : context.outputs()) outputs.push_back(Tensor::copy_of(output));
  return outputs;
}

}  // namespace octavo::conformance
