// What a step, a hook or a caller's threads fail at ends one run and harms no other. Tests of run/.
#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <stdexcept>

#include "kernels/reference/reference.h"
#include "ops/evaluate.h"
#include "support/small_graphs.h"

namespace octavo {
namespace {

using testing::chain_graph;
using testing::compile_graphs;
using testing::random_inputs;
using testing::run_once;

std::shared_ptr<const Model> failure_load(CompiledModel compiled, const LoadOptions& options) {
  auto model = load_model(std::move(compiled), options);
  if (!model) ADD_FAILURE() << to_string(model.errors());
  return model ? *model : nullptr;
}

bool is_free(Executor& executor) {
  const AcquiredExecutor acquired(&executor);
  return acquired.get() != nullptr;
}

TEST(Failure, AHookThatThrowsGivesThePoolBack) {
  const Graph graph = chain_graph();
  const auto pool = std::make_shared<ThreadPool>(2);
  auto context = Context::create(failure_load(compile_graphs({&graph}), {.threads = 2}), {.executor = pool});
  ASSERT_TRUE(context);
  const std::vector<Tensor> inputs = random_inputs(graph, 3);
  context->set_step_hook([](const StepEvent& event) {
    if (event.index == 1) throw std::runtime_error("a hook's own");
  });
  EXPECT_THROW(run_once(*context, inputs), std::runtime_error);
  EXPECT_TRUE(is_free(*pool));
  context->set_step_hook({});
  EXPECT_EQ(run_once(*context, inputs), *evaluate(graph, inputs));
}

// Throws instead of working while it is told to.
struct ThrowingExecutor final : Executor {
  bool throws = true, is_held = false;
  int threads() const override { return 2; }
  bool try_acquire() override { return !std::exchange(is_held, true); }
  void release() override { is_held = false; }
  void run(int parts, PartBody body) override {
    if (throws) throw std::runtime_error("a caller's own");
    for (int part = 0; part < parts; ++part) body(part);
  }
};

TEST(Failure, AThrowingParallelForGivesThePoolBack) {
  const Graph graph = chain_graph(2000);  // steps long enough for two threads
  const auto executor = std::make_shared<ThrowingExecutor>();
  auto context = Context::create(failure_load(compile_graphs({&graph}), {.threads = 2}), {.executor = executor});
  ASSERT_TRUE(context);
  const std::vector<Tensor> inputs = random_inputs(graph, 3);
  EXPECT_THROW(run_once(*context, inputs), std::runtime_error);
  EXPECT_TRUE(is_free(*executor));
  executor->throws = false;
  EXPECT_EQ(run_once(*context, inputs), *evaluate(graph, inputs));
}

// A table lookup whose memory is refused in items from `fails_from` on.
std::atomic<std::int64_t> fails_from{0};
struct FailingStep final : Step {
  std::int64_t items() const override { return 2; }
  void run(const StepBuffers& buffers, ItemRange range) const noexcept override {
    if (range.end > fails_from) buffers.failure->set("not enough memory");
  }
};

constexpr KernelChoice kFailing{.code = {.name = "failing",
                                         .op = "*",
                                         .prepare = [](const StepSpec&) -> Result<std::unique_ptr<Step>> {
                                           return std::unique_ptr<Step>(std::make_unique<FailingStep>());
                                         }},
                                .refusal = [](const OpCall&) { return std::string(); },
                                .cost = [](const OpCall&, const Machine&) { return 1e6; }};
const std::vector<const KernelChoice*> kKernels = {&kFailing};
const std::vector<const KernelCode*> kCodes = {&kFailing.code};

std::string failure_of(Context& context, const Graph& graph) {
  const std::vector<Tensor> inputs = random_inputs(graph, 3);
  std::vector<ConstTensorView> in;
  for (const Tensor& tensor : inputs) in.push_back(tensor.view());
  std::vector<Tensor> outputs;
  std::vector<TensorView> out;
  for (std::size_t i = 0; i < context.plan().outputs.size(); ++i)
    outputs.emplace_back(context.plan().output(i).dtype, Shape(context.plan().output(i).shape));
  for (Tensor& tensor : outputs) out.push_back(tensor.view());
  const Status status = context.run(in, out);
  if (status) return {};
  EXPECT_EQ(status.errors()[0].kind, ErrorKind::resource);
  return status.errors()[0].message();
}

void expect_failures(const Graph& graph, BatchOrder order, std::int64_t batch) {
  ConstantPool constants;
  auto plan =
      make_plan(graph, *machine_for_target("avx2"),
                {.batch = batch, .allow_reference = true, .batch_order = order, .kernels = kKernels}, constants);
  ASSERT_TRUE(plan) << to_string(plan.errors());
  EXPECT_EQ(!plan->regions.empty(), order == BatchOrder::images);
  CompiledModel compiled;
  compiled.plans.push_back(std::move(*plan));
  adopt_constants(compiled, constants);
  const auto model = failure_load(std::move(compiled), {.threads = 3, .kernels = kCodes});
  ASSERT_NE(model, nullptr);
  for (const int threads : {1, 3}) {
    auto context = Context::create(model, {.executor = std::make_shared<ThreadPool>(threads)});
    ASSERT_TRUE(context);
    fails_from = 1;  // another thread's part, where there are two
    EXPECT_EQ(failure_of(*context, graph),
              "step 'first' (failing): found not enough memory. the outputs of this run are undefined");
    fails_from = 2;
    EXPECT_EQ(failure_of(*context, graph), "") << "a failure of an earlier run";
  }
}

TEST(Failure, AStepThatLacksMemoryIsAnError) { expect_failures(chain_graph(), BatchOrder::steps, 1); }

TEST(Failure, AStepOfAnImageLoopThatLacksMemoryIsAnError) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::u8, Shape{5, 64});
  const ValueId table = graph.add_constant("table", testing::random_bytes(Shape{256}, 1));
  const ValueId first = testing::add_or_die(graph, kTable, NoAttrs{}, {x, table}, "first");
  graph.add_output(testing::add_or_die(graph, kTable, NoAttrs{}, {first, table}, "last"), "y");
  expect_failures(graph, BatchOrder::images, 5);
}

TEST(Failure, AReferenceThatLacksMemorySaysSo) {
  OpSpec spec = kTable;
  spec.reference = [](const Attrs&, std::span<const ConstTensorView>, std::span<const TensorView>) {
    throw std::bad_alloc();
  };
  const Attrs attrs = NoAttrs{};
  const auto step = reference_codes()[0].prepare({.spec = &spec, .attrs = &attrs, .outputs = {{.shape = Shape{4}}}});
  ASSERT_TRUE(step);
  Tensor y(DType::f32, Shape{4}), scratch(DType::u8, {static_cast<std::int64_t>((*step)->scratch_bytes())});
  std::byte* outputs[] = {y.data()};
  StepFailure failure;
  (*step)->run({{}, outputs, scratch.data(), &failure}, {0, 1});
  EXPECT_STREQ(failure.take(), "not enough memory");
}

}  // namespace
}  // namespace octavo
