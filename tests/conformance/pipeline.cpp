// The whole way from a graph to answers. Part of the conformance runner.
#include "conformance/pipeline.h"

#include <algorithm>

#include "artifact/artifact.h"
#include "planner/planner.h"
#include "run/model.h"

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

}  // namespace octavo::conformance
