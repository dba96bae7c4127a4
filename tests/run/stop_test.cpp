// Runs that another thread ends. Tests of run/.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>

#include "octavo/compile.h"
#include "octavo/run.h"
#include "ops/evaluate.h"
#include "support/control_flow.h"
#include "support/small_graphs.h"

namespace octavo {
namespace {

using testing::chain_graph;
using testing::compile_graphs;
using testing::random_inputs;
using testing::run_once;

std::shared_ptr<const Model> stop_load(CompiledModel compiled, int threads) {
  auto model = load_model(std::move(compiled), {.threads = threads});
  if (!model) ADD_FAILURE() << to_string(model.errors());
  return model ? *model : nullptr;
}

Status run(Context& context, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
           const std::stop_token& stop) {
  std::vector<ConstTensorView> in;
  std::vector<TensorView> out;
  for (const Tensor& input : inputs) in.push_back(input.view());
  for (Tensor& output : outputs) out.push_back(output.view());
  return context.run(in, out, stop);
}

void expect_cancelled(const Status& done) {
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.errors()[0].kind, ErrorKind::cancelled) << to_string(done.errors());
}

TEST(Stop, EndsARunBetweenTwoSteps) {
  const Graph graph = chain_graph();
  const std::vector<Tensor> inputs = random_inputs(graph, 3);
  std::vector<Tensor> outputs = *evaluate(graph, inputs);
  const std::vector<Tensor> expected = outputs;
  auto context = Context::create(stop_load(compile_graphs({&graph}), 1));
  ASSERT_TRUE(context);
  std::stop_source stop;
  std::size_t steps = 0;
  context->set_step_hook([&](const StepEvent&) {
    ++steps;
    stop.request_stop();
  });
  expect_cancelled(run(*context, inputs, outputs, stop.get_token()));
  EXPECT_EQ(steps, 1u);
  expect_cancelled(run(*context, inputs, outputs, stop.get_token()));
  EXPECT_EQ(steps, 1u) << "a run that was stopped before begins no step";
  EXPECT_EQ(run_once(*context, inputs), expected) << "the next run is as good as any";
  context->set_step_hook({});
  std::stop_source unused;
  ASSERT_TRUE(run(*context, inputs, outputs, unused.get_token()).ok());
  EXPECT_EQ(outputs, expected);
}

// Is told to stop when threads are to begin.
struct StoppedExecutor final : Executor {
  std::stop_source stop;
  int threads() const override { return 2; }
  bool try_acquire() override { return true; }
  void release() override {}
  void run(int parts, PartBody body) override {
    stop.request_stop();
    for (int part = 0; part < parts; ++part) body(part);
  }
};

TEST(Stop, EndsARunBetweenImages) {
  constexpr std::int64_t images = 6;
  Graph graph;
  const ValueId x = graph.add_input("x", DType::u8, Shape{images, 3, 37});
  const ValueId table = graph.add_constant("table", testing::random_bytes(Shape{256}, 1));
  ValueId value = x;
  for (const char* name : {"first", "second", "third"})
    value = testing::add_or_die(graph, kTable, NoAttrs{}, {value, table}, name);
  graph.add_output(value, "y");
  const std::vector<Tensor> inputs = random_inputs(graph, 3);
  const auto model =
      stop_load(compile_graphs({&graph}, host_machine(),
                               {.batch = images, .allow_reference = true, .batch_order = BatchOrder::images}),
                2);
  ASSERT_EQ(model->plans()[0].regions.size(), 1u);
  const auto executor = std::make_shared<StoppedExecutor>();
  auto context = Context::create(model, {.executor = executor});
  ASSERT_TRUE(context);
  std::vector<Tensor> outputs;
  outputs.emplace_back(DType::u8, Shape{images, 3, 37});
  const Tensor before = outputs[0];
  expect_cancelled(run(*context, inputs, outputs, executor->stop.get_token()));
  EXPECT_EQ(outputs[0], before) << "no image was begun";
  EXPECT_EQ(run_once(*context, inputs), *evaluate(graph, inputs));
}

TEST(Stop, EndsALoopWithoutEnd) {
  using testing::ModelBuilder;
  ModelBuilder body(17), model(17);
  body.input("i", DType::s64, {}).input("go", DType::boolean, {}).input("sum", DType::f32, {1});
  body.output("go2").output("more");
  body.node({"Identity", {"go"}, {"go2"}}).node({"Add", {"sum", "sum"}, {"more"}});
  model.input("x", DType::f32, {1}).input("trips", DType::s64, {}).output("y");
  testing::add_loop(model, {"trips", "", "x"}, {"y"}, body);
  const std::string bytes = model.bytes();
  const auto compiled = v1::compile(std::as_bytes(std::span(bytes)), "loop.onnx", {.precision = Precision::fp32});
  ASSERT_TRUE(compiled) << to_string(compiled.errors());
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  auto program = v1::Program::load(*compiled, {.threads = 1, .max_iterations = most});
  ASSERT_TRUE(program) << to_string(program.errors());
  const float one = 1.0f;
  const auto run_trips = [&](std::int64_t trips, const std::stop_token& stop) {
    const std::vector<std::int64_t> shape = {1};
    const v1::ConstTensorRef inputs[] = {{DType::f32, shape, &one}, {DType::s64, {}, &trips}};
    return program->run(inputs, stop);
  };
  std::stop_source stop;
  const std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  expect_cancelled(run_trips(most, stop.get_token()));
  EXPECT_TRUE(program->outputs().empty());
  ASSERT_TRUE(run_trips(3, {}).ok());
  EXPECT_EQ(*static_cast<const float*>(program->outputs()[0].data), 8.0f);
}

}  // namespace
}  // namespace octavo
