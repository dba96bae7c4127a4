// Steps of a device's plan that its host computes, by a pretended driver: bits, failures, instructions.
#include "cuda/host_step.h"

#include <gtest/gtest.h>

#include <atomic>

#include "cuda/pretended.h"
#include "ops/gather_elements/gather_elements.h"
#include "support/child.h"

namespace octavo {
namespace {

using testing::answer;
using testing::answer_on;
using testing::answer_there;
using testing::are_equal;
using testing::expect_said;
using testing::Fake;
using testing::kX;
using testing::Outcome;
using testing::ScratchFolder;

// x -> table -> rows in another order -> sum with x: the device has no kernel for the one in the middle.
Graph graph_with_host_step() {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::u8, Shape{1, 8, 64});
  const ValueId table = graph.add_constant("table", testing::random_bytes(Shape{256}, 1));
  Tensor order(DType::s64, Shape{1, 8, 64});
  for (std::int64_t i = 0; i < 8 * 64; ++i)
    order.span<std::int64_t>()[static_cast<std::size_t>(i)] = (i * 5 + i / 64) % 8;
  const ValueId first = testing::add_or_die(graph, kTable, NoAttrs{}, {x, table}, "first");
  const ValueId moved = testing::add_or_die(graph, kGatherElements, GatherElementsAttrs{.axis = 1},
                                            {first, graph.add_constant("order", order)}, "moved");
  graph.add_output(testing::add_or_die(graph, kQuantizedElementwise, testing::weighted_sum(), {moved, x}, "sum"), "y");
  return graph;
}

Machine device_with_host() {
  Machine machine = *machine_for_target("cuda");
  machine.isa.bits |= host_machine().isa.bits;
  return machine;
}

Result<std::shared_ptr<const Model>> load_with_host(const Graph& graph, const LoadOptions& options = {.threads = 1}) {
  return load_model(testing::compile_graphs({&graph}, device_with_host()), options);
}

TEST(CudaHostStep, TheHostComputesWhatThereIsNoKernelFor) {
  const Fake fake;
  const Graph graph = graph_with_host_step();
  const auto model = load_with_host(graph);
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  for (unsigned seed = 0; seed < 3; ++seed) {
    const Tensor x = testing::random_bytes(Shape{1, 8, 64}, seed);
    const auto y = answer(*context, x), there = answer_there(*context, x);
    ASSERT_TRUE(y.ok() && there.ok());
    EXPECT_TRUE(are_equal(*y, *answer_on("scalar", graph, x)) && are_equal(*y, *there)) << seed;
  }
  std::vector<std::string> kernels;
  context->set_step_hook([&](const StepEvent& event) { kernels.push_back(event.step->kernel); });
  EXPECT_TRUE(are_equal(*answer(*context, kX), *answer_on("scalar", graph, kX)));
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0], "table_cuda");
  EXPECT_EQ(kernels[1].find("cuda"), std::string::npos) << kernels[1];
  EXPECT_EQ(kernels[2], "pairs_q8_cuda");
}

TEST(CudaHostStep, EveryCallMayFailWithStepsOfTheHost) {
  const Graph graph = graph_with_host_step();
  bool is_over = false;
  for (int call = 0; !is_over; ++call) {
    const Fake fake;
    fake->fail_at = call;
    const auto model = load_with_host(graph);
    auto context = model ? Context::create(*model) : Result<Context>(model.errors());
    const auto y = context ? answer(*context, kX) : Result<Tensor>(context.errors());
    is_over = fake->calls <= call;
    EXPECT_EQ(y.ok(), is_over) << call;
    fake->fail_at = -1;  // what gives back has nobody to tell
  }
}

std::atomic<bool> lacks_memory{false};
struct FailingStep final : Step {
  std::int64_t items() const override { return 1; }
  void run(const StepBuffers& buffers, ItemRange) const noexcept override {
    if (lacks_memory) buffers.failure->set("not enough memory");
  }
};

// What a step of the host lacks is the run's error, and the next run is as good as any.
TEST(CudaHostStep, StepsOfTheHostMayFail) {
  static constexpr KernelCode kFailing{
      .name = "failing", .op = "gather_elements", .prepare = [](const StepSpec&) -> Result<std::unique_ptr<Step>> {
        return std::unique_ptr<Step>(std::make_unique<FailingStep>());
      }};
  const Fake fake;
  const Graph graph = graph_with_host_step();
  CompiledModel compiled = testing::compile_graphs({&graph}, device_with_host());
  compiled.plans[0].steps[1].kernel = "failing";
  std::vector<const KernelCode*> codes(all_codes().begin(), all_codes().end());
  codes.push_back(&kFailing);
  const auto model = load_model(std::move(compiled), {.threads = 1, .kernels = codes});
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  auto context = Context::create(*model);
  ASSERT_TRUE(context.ok());
  for (const bool lacks : {true, false, true}) {
    lacks_memory = lacks;
    const auto y = answer(*context, kX);
    EXPECT_EQ(y.ok(), !lacks);
    if (!lacks) continue;
    EXPECT_EQ(y.errors()[0].kind, ErrorKind::resource);
    expect_said(to_string(y.errors()), "step 'moved' (failing), on the host: found not enough memory");
  }
}

TEST(CudaHostStep, StepsOfTheHostNeedItsInstructions) {
  const Fake fake;
  const Graph graph = graph_with_host_step();
  CompiledModel compiled = testing::compile_graphs({&graph}, device_with_host());
  compiled.plans[0].needs.add(Isa::amx_int8);
  compiled.plans[0].needs.add(Isa::neon);
  const auto model = load_model(std::move(compiled), {.threads = 1});
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.errors()[0].kind, ErrorKind::usage);
  expect_said(to_string(model.errors()), "a file for another processor");
}

// A network whose LSTM is the host's.
TEST(CudaHostStep, TheProgramHasTheBitsOfThisMachine) {
  if (!testing::has_program()) GTEST_SKIP() << "needs the program";
  const ScratchFolder folder;
  const std::string model = OCTAVO_SOURCE_DIR "/tests/import/litert_builtins/lstm_integer.tflite ";
  const Outcome refused = testing::run_program(folder, "compile " + model + "--target cuda -o device.octv");
  EXPECT_EQ(refused.exit_code, 4);
  expect_said(refused.text, "The host can stand in where it is allowed (--allow-host)");
  const Outcome none = testing::run_program(folder, "compile " + model + "--target host --allow-host -o device.octv");
  EXPECT_EQ(none.exit_code, 2);
  expect_said(none.text, "--allow-host: found the target host, expected cuda");
  ASSERT_EQ(testing::run_program(folder, "compile " + model + "--target cuda --allow-host -o device.octv").exit_code,
            0);
  ASSERT_EQ(testing::run_program(folder, "compile " + model + "-o host.octv").exit_code, 0);
  const Outcome explained = testing::run_program(folder, "explain device.octv");
  EXPECT_EQ(explained.exit_code, 0);
  expect_said(explained.text, "on the host, where the device has no kernel: 1 step");
  const Outcome compared =
      testing::run_command(folder, "LD_LIBRARY_PATH=" OCTAVO_FAKE_CUDA " octavo compare device.octv host.octv");
  EXPECT_EQ(compared.exit_code, 0) << compared.text;
  expect_said(compared.text, "identical");
}

}  // namespace
}  // namespace octavo
