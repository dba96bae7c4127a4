// Whole models compiled for AMX, on real or emulated tile instructions and several threads, against the scalar target.
// Part of the tests of whole models.
#include <gtest/gtest.h>

#include <algorithm>

#include "bits/same_bits.h"
#include "planner/choice_list.h"
#include "run/access.h"
#include "support/amx_emulator.h"

namespace octavo::testing {
namespace {

constexpr std::string_view kAmx = "conv_u8s8_16x16_amx_int8";

// Channels enough for AMX to be chosen: strided, residual, dilated, grouped, with a table behind it, a classifier.
ModelBuilder wide() {
  Net net(11);
  std::string x =
      net.op("Relu", {net.conv(net.input("x", DType::f32, {3, 23, 21}), {.in = 3, .out = 64, .kernel = 3})});
  x = net.op("Relu", {net.conv(x, {.in = 64, .out = 96, .kernel = 3, .stride = 2})});
  x = net.op("Relu", {net.op("Add", {x, net.conv(x, {.in = 96, .out = 96, .kernel = 3, .dilation = 2})})});
  const std::string y = net.conv(x, {.in = 96, .out = 160});
  x = net.op("Mul", {y, net.op("Sigmoid", {y})});
  x = net.op("Relu", {net.conv(x, {.in = 160, .out = 160, .kernel = 3, .stride = 2, .groups = 2})});
  x = net.op("Flatten", {net.op("GlobalAveragePool", {x})});
  net.output(net.op("Gemm", {x, net.random({160, 70}, 0.5f), net.random({70}, 0.5f)}));
  return net.builder();
}

// The records of this build, where those that are emulated need what is here.
std::vector<const KernelCode*> kernels_with_amx() {
  static const KernelCode amx = [] {
    KernelCode kernel = find_choice(kAmx)->code;
    if (AmxEmulation::is_needed()) kernel.needs = Isa::avx512vnni;
    return kernel;
  }();
  std::vector<const KernelCode*> kernels(all_codes().begin(), all_codes().end());
  std::replace_if(
      kernels.begin(), kernels.end(), [](const KernelCode* kernel) { return kernel->name == kAmx; }, &amx);
  return kernels;
}

// What was compiled for AMX, made to load here: the target's other instructions are replaced by those of this machine.
CompiledModel adapted(CompiledModel model) {
  for (Plan& plan : model.plans) {
    plan.needs = host_machine().isa;
    for (PlanStep& step : plan.steps) {
      if (step.kernel == "table_avx512vbmi" && !host_machine().isa.has(Isa::avx512vbmi)) step.kernel = "table_avx512";
    }
  }
  return model;
}

std::vector<Tensor> run_loaded(const std::shared_ptr<const octavo::Model>& model, const std::vector<Tensor>& inputs) {
  auto context = octavo::Context::create(model, {.executor = std::make_shared<octavo::ThreadPool>(model->threads())});
  if (!context) ADD_FAILURE() << to_string(context.errors());
  std::vector<ConstTensorView> from;
  std::vector<Tensor> outputs;
  std::vector<TensorView> to;
  for (const Tensor& input : inputs) from.push_back(input.view());
  for (std::size_t i = 0; i < context->plan().outputs.size(); ++i)
    outputs.emplace_back(context->plan().output(i).dtype, Shape(context->plan().output(i).shape));
  for (Tensor& output : outputs) to.push_back(output.view());
  const Status status = context->run(from, to);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : to_string(status.errors()));
  return outputs;
}

void expect_scalar_bits(const std::string& path, std::int64_t batch, std::int64_t fewest_amx_steps) {
  v1::CompileOptions options{
      .precision = Precision::int8, .target = "amx", .batches = {batch}, .samples = random_samples(4)};
  const auto compiled = v1::compile(path, options);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.errors());
  auto steps = compiled->info().plans[0].kernels;
  EXPECT_GE(steps[std::string(kAmx)], fewest_amx_steps) << path;
  options.target = "scalar";
  const auto scalar = v1::compile(path, options);
  ASSERT_TRUE(scalar.ok()) << to_string(scalar.errors());
  const auto scalar_model = v1::Model::load(*scalar, {.threads = 1});
  ASSERT_TRUE(scalar_model.ok()) << to_string(scalar_model.errors());
  const std::vector<Tensor> inputs = random_inputs(scalar_model->info().plans[0].inputs, 5);
  const std::vector<Tensor> expected = run(*scalar_model, 0, inputs);
  const std::vector<const KernelCode*> kernels = kernels_with_amx();
  for (const int threads : {1, 2, 4}) {
    const AmxEmulation emulation;
    const std::uint64_t before = AmxEmulation::trapped();
    const auto model = load_model(adapted(v1::Access::of(*compiled)), {.threads = threads, .kernels = kernels});
    ASSERT_TRUE(model.ok()) << to_string(model.errors());
    EXPECT_TRUE(run_loaded(*model, inputs) == expected) << path << ", batch " << batch << ", " << threads << " threads";
    EXPECT_TRUE(!AmxEmulation::is_needed() || AmxEmulation::trapped() > before) << "no tile instruction was executed";
  }
}

TEST(BitsAmx, WholeNetworks) {
  if (!AmxEmulation::is_possible()) GTEST_SKIP() << "needs avx512vnni: no model's bits were compared on AMX";
  const ModelFile file(wide());
  for (const std::int64_t batch : {1, 3}) expect_scalar_bits(file.path(), batch, 3);
  expect_scalar_bits(OCTAVO_SOURCE_DIR "/examples/digits/digits.onnx", 5, 1);
  EXPECT_TRUE(!AmxEmulation::is_needed() || AmxEmulation::threads() >= 2) << "no worker executed a tile instruction";
}

}  // namespace
}  // namespace octavo::testing
