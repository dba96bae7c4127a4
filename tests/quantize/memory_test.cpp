// What keeps the quantizer's memory small and must not change what it finds: runs in pieces.
// Part of tests/quantize/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "ops/binary/binary.h"
#include "ops/matmul/matmul.h"
#include "quantize/live_memory.h"
#include "quantize/observed_network.h"

namespace octavo {
namespace {

Tensor noise(Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor tensor(DType::f32, std::move(shape));
  for (float& value : tensor.span<float>()) value = normal(random);
  return tensor;
}

ValueId memory_added(Graph& graph, const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs,
                     const std::string& name) {
  const auto id = graph.add(spec, std::move(attrs), std::move(inputs), name);
  EXPECT_TRUE(id) << to_string(id.errors());
  return id ? *id : ValueId{};
}

// Two products with biases over `size` values, and the input once more behind them.
Graph products(std::int64_t size) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::f32, Shape{1, size});
  ValueId value = x;
  for (const std::string name : {"first", "second"}) {
    const ValueId w = graph.add_constant(name + ".w", noise(Shape{size, size}, name == "first" ? 100 : 101));
    const ValueId b = graph.add_constant(name + ".b", noise(Shape{size}, 102));
    value = memory_added(graph, kMatmul, NoAttrs{}, {value, w}, name);
    value = memory_added(graph, kBinary, BinaryAttrs{.kind = BinaryKind::add}, {value, b}, name + "/bias");
  }
  value = memory_added(graph, kBinary, BinaryAttrs{.kind = BinaryKind::add}, {value, x}, "sum");
  graph.add_output(value, "y");
  return graph;
}

PlanValue in_arena(std::uint64_t offset, std::int64_t bytes) {
  return {.place = Place::arena, .dtype = DType::u8, .shape = {bytes}, .offset = offset};
}

TEST(LiveMemory, IsWhatLaterStepsRead) {
  Plan plan;
  plan.values = {{.place = Place::input, .dtype = DType::u8, .shape = {8}},
                 in_arena(0, 64),
                 in_arena(64, 64),
                 in_arena(64, 64),  // where the one before was
                 in_arena(32, 32),  // over a part of what is dead
                 {.place = Place::output, .dtype = DType::u8, .shape = {8}}};
  plan.steps.resize(5);
  plan.steps[0].inputs = {0}, plan.steps[0].outputs = {1};
  plan.steps[1].inputs = {1}, plan.steps[1].outputs = {2};     // both live on
  plan.steps[2].inputs = {2, 0}, plan.steps[2].outputs = {3};  // in place
  plan.steps[3].inputs = {3, 1}, plan.steps[3].outputs = {4};
  plan.steps[4].inputs = {4}, plan.steps[4].outputs = {5};
  const auto live = live_memory(plan);
  using Ranges = std::vector<ByteRange>;
  EXPECT_EQ(live[0].arena, (Ranges{{0, 64}}));
  EXPECT_EQ(live[1].arena, (Ranges{{0, 128}}));
  EXPECT_EQ(live[2].arena, (Ranges{{0, 128}}));
  EXPECT_EQ(live[3].arena, (Ranges{{32, 64}}));
  EXPECT_EQ(live[4].arena, Ranges{});
  EXPECT_TRUE(live[0].has_inputs && live[1].has_inputs);
  EXPECT_FALSE(live[2].has_inputs);
  EXPECT_EQ(live[1].arena_bytes(), 128u);
}

// Two runs that take turns in one memory, with nothing kept but what is live.
TEST(Observation, InPiecesItIsTheSameRun) {
  const Graph graph = products(48);
  std::vector<ObservedValue> chosen;
  for (const NodeId id : graph.order()) chosen.push_back({graph.node(id).outputs[0]});
  chosen.pop_back();  // what the caller gets is not in the arena
  const auto network = ObservedNetwork::compile(graph, chosen);
  ASSERT_TRUE(network) << to_string(network.errors());
  auto observation = Observation::create(*network);
  ASSERT_TRUE(observation);
  const auto nothing = [](std::size_t, const TensorView&) {};
  std::vector<std::vector<Tensor>> inputs, expected;
  for (unsigned seed : {1u, 2u}) {
    inputs.push_back({noise(Shape{1, 48}, seed)});
    ASSERT_TRUE(observation->run(inputs.back(), nothing));
    expected.push_back({Tensor::copy_of(std::as_const(observation->outputs()[0]).view())});
  }
  const auto live = live_memory(network->plan());
  const auto sightings = network->sightings();
  ASSERT_GE(sightings.size(), 3u);
  std::vector<Tensor> kept(2);
  std::size_t shown = 0;
  for (std::size_t s = 0; s <= sightings.size(); ++s) {
    const auto from = s == 0 ? std::nullopt : std::optional(sightings[s - 1]);
    const auto to = s == sightings.size() ? std::nullopt : std::optional(sightings[s]);
    for (std::size_t run = 0; run < 2; ++run) {
      if (!from) observation->start(inputs[run], nothing);
      else live[from->step].put_back(kept[run], observation->arena());
      const Status done = observation->advance(inputs[run], from, to, [&](std::size_t k, const TensorView&) {
        ++shown;
        EXPECT_TRUE(to && k == to->chosen);
      });
      ASSERT_TRUE(done) << to_string(done.errors());
      if (to) {
        live[to->step].keep(observation->arena(), kept[run]);
      } else {
        EXPECT_TRUE(observation->outputs()[0] == expected[run][0]) << run;
      }
      std::memset(observation->arena(), 0xff, network->plan().arena_bytes);
    }
  }
  EXPECT_EQ(shown, 2 * sightings.size());
}

}  // namespace
}  // namespace octavo
