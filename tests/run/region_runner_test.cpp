// Regions against the references, over threads and numbers of images. Tests of run/region_runner.
#include <gtest/gtest.h>

#include <limits>

#include "ops/evaluate.h"
#include "support/small_graphs.h"

namespace octavo {
namespace {

using testing::add_or_die;
using testing::compile_graphs;
using testing::random_bytes;
using testing::random_inputs;
using testing::run_once;

// Images of 3 x 37 bytes: the input is also read late, one result is an output and read, two live on after the loop,
// which a reshape ends.
Graph loop_graph(std::int64_t images) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::u8, Shape{images, 3, 37});
  const ValueId table = graph.add_constant("table", random_bytes(Shape{256}, 1));
  const auto through_table = [&](ValueId value, const std::string& name) {
    return add_or_die(graph, kTable, NoAttrs{}, {value, table}, name);
  };
  const ValueId first = through_table(x, "first");
  const ValueId sum = add_or_die(graph, kQuantizedElementwise, testing::weighted_sum(), {first, x}, "sum");
  const ValueId joined = add_or_die(graph, kConcat, ConcatAttrs{.axis = 2}, {sum, first}, "joined");
  const ValueId kept = through_table(joined, "kept");
  const auto flat = [&](ValueId value, const std::string& name) {
    return add_or_die(graph, kReshape, ReshapeAttrs{{graph.fact(value).shape.elements()}}, {value}, name);
  };
  const ValueId ends =
      add_or_die(graph, kConcat, ConcatAttrs{.axis = 0}, {flat(kept, "flat kept"), flat(sum, "flat sum")}, "ends");
  graph.add_output(through_table(joined, "straight"), "straight");
  graph.add_output(sum, "sum");
  graph.add_output(through_table(ends, "last"), "y");
  return graph;
}

CompiledModel compiled(const Graph& graph, std::int64_t images, BatchOrder order) {
  return compile_graphs({&graph}, host_machine(), {.batch = images, .allow_reference = true, .batch_order = order});
}

std::shared_ptr<const Model> region_runner_load(CompiledModel model, int threads) {
  auto loaded = load_model(std::move(model), {.threads = threads});
  if (!loaded) ADD_FAILURE() << to_string(loaded.errors());
  return loaded ? *loaded : nullptr;
}

TEST(RegionRunner, EveryNumberOfImagesAndThreadsGivesTheReferencesAnswers) {
  for (std::int64_t images = 2; images <= 9; ++images) {
    const Graph graph = loop_graph(images);
    const std::vector<Tensor> inputs = random_inputs(graph, static_cast<unsigned>(images));
    const auto expected = evaluate(graph, inputs);
    ASSERT_TRUE(expected) << to_string(expected.errors());
    for (const int threads : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(std::to_string(images) + " images, " + std::to_string(threads) + " threads");
      const auto model = region_runner_load(compiled(graph, images, BatchOrder::images), threads);
      ASSERT_NE(model, nullptr);
      ASSERT_EQ(model->plans()[0].regions.size(), 1u);
      EXPECT_GE(model->plans()[0].regions[0].steps, 5);
      EXPECT_LT(model->plans()[0].regions[0].steps, static_cast<std::int64_t>(model->plans()[0].steps.size()));
      auto context = Context::create(model, {.executor = std::make_shared<ThreadPool>(threads)});
      ASSERT_TRUE(context);
      EXPECT_EQ(run_once(*context, inputs), *expected);
      EXPECT_EQ(run_once(*context, inputs), *expected) << "a second run in the same memory";
    }
  }
}

TEST(RegionRunner, AHookIsToldOfWholeBatches) {
  const Graph graph = loop_graph(5);
  const std::vector<Tensor> inputs = random_inputs(graph, 3);
  for (const int threads : {1, 2, 4}) {
    std::vector<Tensor> seen[2];
    for (const BatchOrder order : {BatchOrder::steps, BatchOrder::images}) {
      auto context = Context::create(region_runner_load(compiled(graph, 5, order), threads),
                                     {.executor = std::make_shared<ThreadPool>(threads)});
      ASSERT_TRUE(context);
      std::size_t next = 0;
      context->set_step_hook([&](const StepEvent& event) {
        EXPECT_EQ(event.index, next++);
        EXPECT_GE(event.elapsed_ns, 0);
        for (const TensorView& output : event.outputs)
          seen[order == BatchOrder::images].push_back(Tensor::copy_of(output));
      });
      const auto answers = run_once(*context, inputs);
      EXPECT_EQ(next, context->plan().steps.size());
      context->set_step_hook([](const StepEvent&) {}, false);
      EXPECT_EQ(run_once(*context, inputs), answers) << "without values";
      context->set_step_hook({});
      EXPECT_EQ(run_once(*context, inputs), answers) << "without a hook";
    }
    EXPECT_EQ(seen[0], seen[1]);
  }
}

struct RegionRunnerLie {
  const char* what;
  void (*tell)(Plan& plan);
  const char* message;
  ErrorKind kind = ErrorKind::invalid_input;
};

const RegionRunnerLie kRegionRunnerLies[] = {
    {"more steps than there are", [](Plan& plan) { plan.regions[0].steps = 1000; }, "a region of 1000 steps"},
    {"negative steps", [](Plan& plan) { plan.regions[0].steps = -1; }, "a region of -1 steps"},
    {"no steps", [](Plan& plan) { plan.regions[0].steps = 0; }, "a region of 0 steps"},
    {"a step before the first", [](Plan& plan) { plan.regions[0].first_step = -1; }, "steps from step -1"},
    {"a step after the last", [](Plan& plan) { plan.regions[0].first_step = std::numeric_limits<std::int64_t>::max(); },
     "steps from step 9223"},
    {"two regions of one step", [](Plan& plan) { plan.regions.push_back(plan.regions[0]); }, "a region of"},
    {"no slices", [](Plan& plan) { plan.regions[0].slices = 0; }, "a region of 0 slices"},
    {"too many slices", [](Plan& plan) { plan.regions[0].slices = std::int64_t{1} << 62; }, "slices, expected"},
    {"slices that the input has not", [](Plan& plan) { plan.regions[0].slices = 4; }, "the type and size of 'x'"},
    {"a region that ends early", [](Plan& plan) { plan.regions[0].steps = 1; }, "region"},
    {"no region at all", [](Plan& plan) { plan.regions.clear(); }, "step"},
    {"a small arena of a slice", [](Plan& plan) { plan.regions[0].arena_bytes = 64; },
     "a place inside the arena of a slice"},
    {"a huge arena of a slice", [](Plan& plan) { plan.regions[0].arena_bytes = ~std::uint64_t{0}; }, "an arena of",
     ErrorKind::resource},
    {"an arena for fewer slices", [](Plan& plan) { plan.arena_bytes = 512; }, "a place inside the arena"},
};

TEST(RegionRunner, LiesAreRefused) {
  const Graph graph = loop_graph(5);
  for (const RegionRunnerLie& lie : kRegionRunnerLies) {
    SCOPED_TRACE(lie.what);
    CompiledModel model = compiled(graph, 5, BatchOrder::images);
    lie.tell(model.plans[0]);
    const auto loaded = load_model(std::move(model), {.threads = 2});
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.errors()[0].kind, lie.kind);
    EXPECT_NE(loaded.errors()[0].message().find(lie.message), std::string::npos) << loaded.errors()[0].message();
  }
}

}  // namespace
}  // namespace octavo
