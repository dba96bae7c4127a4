// The executor against the references, over threads and contexts. Tests of run/.
#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <random>
#include <thread>

#include "ops/evaluate.h"
#include "ops/recurrence/recurrence.h"
#include "run/float_mode.h"
#include "support/small_graphs.h"
#include "support/thread_float_mode.h"

namespace octavo {
namespace {

using testing::chain_graph;
using testing::compile_graphs;
using testing::random_graph;
using testing::random_inputs;
using testing::run_once;

std::shared_ptr<const Model> context_load(CompiledModel compiled, int threads) {
  auto model = load_model(std::move(compiled), {.threads = threads});
  if (!model) ADD_FAILURE() << to_string(model.errors());
  return model ? *model : nullptr;
}

// The property that a plan is for: every graph gives the answers of the references, so no live tensor is ever
// overwritten.
Tensor noise(Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> small(-0.2f, 0.2f);
  Tensor tensor(DType::f32, std::move(shape));
  for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.as<float>()[i] = small(random);
  return tensor;
}

// x of two sequences, one shorter than the other, of four time steps.
Graph recurrent_graph() {
  constexpr std::int64_t kHidden = 160;
  Graph graph;
  const ValueId x = graph.add_input("x", DType::f32, Shape{4, 2, 4 * kHidden});
  const ValueId weights = graph.add_constant("w", noise({kHidden, 4 * kHidden}, 7));
  const ValueId lengths =
      graph.add_constant("lengths", Tensor::of<std::int32_t>(Shape{2}, std::vector<std::int32_t>{4, 3}));
  const RecurrenceAttrs attrs{
      .gate = {UnaryKind::sigmoid}, .candidate = {UnaryKind::tanh}, .output = {UnaryKind::tanh}};
  const auto made = graph.add_node(kRecurrence, attrs, {x, weights, {}, {}, {}, {}, lengths}, "layer");
  EXPECT_TRUE(made) << to_string(made.errors());
  graph.add_output(graph.node(*made).outputs[0], "y");
  graph.add_output(graph.node(*made).outputs[1], "last");
  return graph;
}

// Each time step is a round that reads what all threads wrote in the one before.
TEST(Context, RoundsAreTheSameForAnyNumberOfThreads) {
  const Graph graph = recurrent_graph();
  const std::vector<Tensor> inputs{noise({4, 2, 640}, 5)};
  const auto expected = evaluate(graph, inputs);
  ASSERT_TRUE(expected) << to_string(expected.errors());
  for (const int threads : {1, 2, 3, 4}) {
    auto context = Context::create(context_load(compile_graphs({&graph}), threads));
    ASSERT_TRUE(context) << to_string(context.errors());
    for (int repeat = 0; repeat < 5; ++repeat)
      EXPECT_EQ(run_once(*context, inputs), *expected) << threads << " threads";
  }
}

TEST(Context, RandomGraphsGiveTheReferencesAnswers) {
  const auto pool = std::make_shared<ThreadPool>(4);
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed, 40);
    const std::vector<Tensor> inputs = random_inputs(graph, seed);
    const auto expected = evaluate(graph, inputs);
    ASSERT_TRUE(expected) << to_string(expected.errors());
    for (const int threads : {1, 2, 4}) {
      const auto model = context_load(compile_graphs({&graph}), threads);
      ASSERT_NE(model, nullptr);
      auto context = Context::create(model, {.executor = pool});
      ASSERT_TRUE(context);
      EXPECT_EQ(run_once(*context, inputs), *expected) << threads << " threads";
      EXPECT_EQ(run_once(*context, inputs), *expected) << "a second run in the same arena";
    }
  }
}

TEST(Context, TheScalarTargetGivesTheSameBytes) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Graph graph = random_graph(seed, 30);
    const std::vector<Tensor> inputs = random_inputs(graph, seed);
    auto host = Context::create(context_load(compile_graphs({&graph}), 2));
    auto scalar = Context::create(context_load(compile_graphs({&graph}, *machine_for_target("scalar")), 1));
    ASSERT_TRUE(host && scalar);
    EXPECT_EQ(run_once(*host, inputs), run_once(*scalar, inputs));
  }
}

TEST(Context, ThreadsShareAModelAndAPool) {
  const Graph graph = chain_graph();
  const auto model = context_load(compile_graphs({&graph}), 2);
  const std::vector<Tensor> inputs = random_inputs(graph, 5);
  const auto expected = evaluate(graph, inputs);
  ASSERT_TRUE(expected);
  const auto pool = std::make_shared<ThreadPool>(2);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      auto context = Context::create(model, {.executor = pool});
      for (int run = 0; run < 10000 / 8; ++run) {
        if (run_once(*context, inputs) != *expected) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Context, TensorsOfTheWrongKindAreNamed) {
  const Graph graph = chain_graph();
  auto context = Context::create(context_load(compile_graphs({&graph}), 1));
  ASSERT_TRUE(context);
  Tensor x(DType::u8, Shape{1, 8, 64}), y(DType::u8, Shape{1, 8, 64}), wide(DType::u8, Shape{1, 8, 65}),
      floats(DType::f32, Shape{1, 8, 64});
  const auto message = [&](std::vector<ConstTensorView> in, std::vector<TensorView> out) {
    const Status status = context->run(in, out);
    if (status) return std::string();
    EXPECT_EQ(status.errors()[0].kind, ErrorKind::usage);
    return status.errors()[0].message();
  };
  EXPECT_EQ(message({x.view()}, {y.view()}), "");
  EXPECT_EQ(message({}, {y.view()}), "input: found 0 tensors, expected 1");
  EXPECT_EQ(message({wide.view()}, {y.view()}), "input 'x': found u8 1x8x65, expected u8 1x8x64");
  EXPECT_EQ(message({x.view()}, {floats.view()}), "output 'y': found f32 1x8x64, expected u8 1x8x64");
  EXPECT_EQ(message({{DType::u8, Shape{1, 8, 64}, nullptr}}, {y.view()}),
            "input 'x': found no memory, expected 512 bytes");
  EXPECT_EQ(message({x.view()}, {x.view()}),
            "output 'y': found memory that an input occupies, expected memory of its own");
  EXPECT_FALSE(Context::create(context_load(compile_graphs({&graph}), 1), {.plan = 1}));
}

TEST(Context, PlansAreFoundByBatch) {
  const Graph one = chain_graph(1), two = chain_graph(2);
  const auto model = context_load(compile_graphs({&one, &two}), 1);
  EXPECT_EQ(*model->find_plan(std::nullopt, 2), 1u);
  EXPECT_EQ(*model->find_plan(Precision::int8, std::nullopt), 0u);
  const auto missing = model->find_plan(Precision::int8, 3);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.errors()[0].kind, ErrorKind::usage);
  EXPECT_EQ(missing.errors()[0].message(),
            "test.onnx: found no plan for int8 batch 3, expected one of: int8 batch 1, int8 batch 2");
}

TEST(Context, AHookSeesEveryStepAndItsResults) {
  const Graph graph = chain_graph();
  const std::vector<Tensor> inputs = random_inputs(graph, 3);
  std::vector<Tensor> expected;
  ASSERT_TRUE(evaluate(graph, inputs, [&](ValueId id, const Tensor& tensor) {
    if (graph.producer(id) != nullptr) expected.push_back(tensor);
  }));
  auto context = Context::create(context_load(compile_graphs({&graph}), 2));
  std::vector<Tensor> seen;
  context->set_step_hook([&](const StepEvent& event) {
    EXPECT_EQ(event.index, seen.size());
    EXPECT_GE(event.elapsed_ns, 0);
    EXPECT_EQ(event.step->outputs.size(), event.outputs.size());
    for (const TensorView& output : event.outputs) seen.push_back(Tensor::copy_of(output));
  });
  run_once(*context, inputs);
  EXPECT_EQ(seen, expected);
  context->set_step_hook({});
  run_once(*context, inputs);
  EXPECT_EQ(seen, expected);
}

// A step that records the mode of the thread it runs on.
struct ModeStep final : Step {
  std::int64_t items() const override { return 4; }
  void run(const StepBuffers& buffers, ItemRange range) const noexcept override {
    for (std::int64_t i = range.begin; i < range.end; ++i)
      reinterpret_cast<std::uint32_t*>(buffers.outputs[0])[i] = testing::thread_float_mode();
  }
};

// Writes the first byte of its schedule.
struct ScheduleStep final : Step {
  explicit ScheduleStep(std::byte schedule_) : schedule(schedule_) {}
  std::byte schedule;
  std::int64_t items() const override { return 1; }
  void run(const StepBuffers& buffers, ItemRange) const noexcept override { buffers.outputs[0][0] = schedule; }
};

TEST(Context, AStepRunsByTheScheduleThatWasTuned) {
  static constexpr std::string_view kKnobs[] = {"number"};
  Graph graph;
  const ValueId x = graph.add_input("x", DType::u8, Shape{1});
  const ValueId once = testing::add_or_die(graph, kUnary, UnaryAttrs{}, {x}, "reads the caller's");
  graph.add_output(testing::add_or_die(graph, kUnary, UnaryAttrs{}, {once}, "scheduled"), "y");
  const KernelChoice kernel{
      .code = {.name = "scheduled",
               .op = "unary",
               .knobs = kKnobs,
               .prepare = [](const StepSpec& spec) -> Result<std::unique_ptr<Step>> {
                 return std::unique_ptr<Step>(
                     std::make_unique<ScheduleStep>(spec.schedule.empty() ? std::byte{1} : spec.schedule[0]));
               }},
      .refusal = [](const OpCall&) { return std::string(); },
      .schedule_refusal = [](const OpCall&, const Machine&, std::span<const std::byte>) { return std::string(); }};
  const std::vector<const KernelChoice*> kernels = {&kernel};
  int told = 0;
  PlanOptions options{.threads = 3, .kernels = kernels};
  options.tuned = [](const OpCall&, int threads) {
    return threads == 3 ? std::vector<TunedWay>{{"scheduled", "number=7", 1.0}} : std::vector<TunedWay>();
  };
  options.on_step = [&](const OpCall& call, const SelectOptions& of, std::int64_t calls) {
    EXPECT_EQ(call.spec, &kUnary);
    EXPECT_EQ(of.threads, 3);
    EXPECT_EQ(calls, 1);
    ++told;
  };
  ConstantPool pool;
  auto plan = make_plan(graph, *machine_for_target("avx2"), options, pool);
  ASSERT_TRUE(plan) << to_string(plan.errors());
  EXPECT_TRUE(plan->steps[0].schedule.empty()) << "a caller's tensor is not padded as those of trials are";
  EXPECT_EQ(told, 1);
  CompiledModel compiled;
  compiled.plans.push_back(std::move(*plan));
  adopt_constants(compiled, pool);
  const std::vector<const KernelCode*> codes = {&kernel.code};
  auto model = load_model(compiled, {.threads = 1, .kernels = codes});
  ASSERT_TRUE(model) << to_string(model.errors());
  auto context = Context::create(*model);
  ASSERT_TRUE(context);
  std::byte in{}, out{};
  const std::byte* inputs[] = {&in};
  std::byte* outputs[] = {&out};
  ASSERT_TRUE(context->run(inputs, outputs));
  EXPECT_EQ(out, std::byte{7});
}

TEST(Context, EveryThreadRoundsToNearestAndTheCallersModeComesBack) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::u32, Shape{4});
  graph.add_output(testing::add_or_die(graph, kUnary, UnaryAttrs{}, {x}, "mode"), "y");
  const KernelChoice kernel{.code = {.name = "mode",
                                     .op = "unary",
                                     .prepare = [](const StepSpec&) -> Result<std::unique_ptr<Step>> {
                                       return std::unique_ptr<Step>(std::make_unique<ModeStep>());
                                     }},
                            .refusal = [](const OpCall&) { return std::string(); }};
  const std::vector<const KernelChoice*> kernels = {&kernel};
  ConstantPool pool;
  auto plan = make_plan(graph, *machine_for_target("avx2"), {.kernels = kernels}, pool);
  ASSERT_TRUE(plan) << to_string(plan.errors());
  CompiledModel compiled;
  compiled.plans.push_back(*plan);
  const std::vector<const KernelCode*> codes = {&kernel.code};
  auto model = load_model(compiled, {.threads = 4, .kernels = codes});
  ASSERT_TRUE(model) << to_string(model.errors());
  // A caller's own thread, with another mode than ours, does a part of the work, too.
  const auto callers = executor_from(
      [](int parts, const PartBody& body) {
        std::thread other([&] {
          testing::set_thread_float_mode(testing::kOtherFloatMode);
          for (int part = 1; part < parts; ++part) body(part);
          EXPECT_EQ(testing::thread_float_mode(), testing::kOtherFloatMode);
        });
        body(0);
        other.join();
      },
      4);
  for (const std::shared_ptr<Executor>& executor :
       {std::shared_ptr<Executor>(std::make_shared<ThreadPool>(4)), callers}) {
    auto context = Context::create(*model, {.executor = executor});
    ASSERT_TRUE(context);
    const std::uint32_t before = testing::thread_float_mode();
    testing::set_thread_float_mode(testing::kOtherFloatMode);
    const auto outputs = run_once(*context, {Tensor(DType::u32, Shape{4})});
    const std::uint32_t after = testing::thread_float_mode();
    testing::set_thread_float_mode(before);
    EXPECT_EQ(after, testing::kOtherFloatMode);
    for (const std::uint32_t mode : outputs[0].span<std::uint32_t>()) EXPECT_EQ(mode, testing::kUsualFloatMode);
  }
}

}  // namespace
}  // namespace octavo
