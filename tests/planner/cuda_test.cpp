// What is chosen for CUDA devices, wherever this runs. Tests of planner/.
#include <gtest/gtest.h>

#include "ops/cumsum/cumsum.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/unary/unary.h"
#include "planner/planner.h"
#include "planner/select.h"
#include "support/small_graphs.h"

namespace octavo {
namespace {

// A convolution over `size` x `size` pixels in `images`.
std::string chosen_for(std::int64_t images, std::int64_t size, std::int64_t channels, std::int64_t groups = 1) {
  QuantizedConvAttrs conv;
  conv.groups = groups;
  conv.window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  conv.epilogue = {{Scale{}, Round{.after = 0, .lowest = 0, .highest = 255}}, DType::u8};
  const Attrs attrs = conv;
  const auto constant = [](DType type, Shape shape) {
    Fact fact{.dtype = type, .shape = shape};
    fact.constant = std::make_shared<Tensor>(type, std::move(shape));
    return fact;
  };
  const Fact x{.dtype = DType::u8, .shape = {images, size, size, channels}};
  const Fact w = constant(DType::s8, {channels, 3, 3, channels / groups}), bias = constant(DType::s32, {channels}),
             multiplier = constant(DType::f32, {channels});
  const OpCall call{.spec = &kQuantizedConv,
                    .attrs = &attrs,
                    .inputs = {&x, &w, &bias, nullptr, &multiplier},
                    .outputs = {{.dtype = DType::u8, .shape = {images, size, size, channels}}}};
  const auto selection = choose(call, *machine_for_target("cuda"), {});
  return selection ? std::string(selection->kernel->code.name) : to_string(selection.errors());
}

TEST(CudaPlans, TilesFillTheDevice) {
  EXPECT_EQ(chosen_for(32, 56, 128), "conv_u8s8_128x128_cuda") << "many large ones";
  EXPECT_EQ(chosen_for(1, 7, 512), "conv_u8s8_32x32_cuda") << "few pixels: small ones, for more multiprocessors";
  EXPECT_EQ(chosen_for(1, 28, 96, 96), "depthwise_u8s8_cuda");
}

TEST(CudaPlans, ADeviceRunsNothingOfProcessors) {
  EXPECT_EQ(machine_for_target("cuda")->isa.to_string(), "scalar cuda");
  Graph graph;
  const ValueId x = graph.add_input("x", DType::f32, Shape{1, 4});
  graph.add_output(testing::add_or_die(graph, kCumsum, CumsumAttrs{.axis = 1}, {x}, "sums"), "y");
  ConstantPool pool;
  const auto plan = make_plan(graph, *machine_for_target("cuda"), {.allow_reference = true}, pool);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.errors()[0].kind, ErrorKind::unsupported);
  EXPECT_NE(to_string(plan.errors()).find("node 'sums'"), std::string::npos) << to_string(plan.errors());
  EXPECT_NE(to_string(plan.errors()).find("reference: runs on the host"), std::string::npos);
}

// Only what the device has no kernel for, at what going there and back takes.
TEST(CudaPlans, TheHostStandsInWhereItMay) {
  Machine machine = *machine_for_target("cuda");
  machine.isa.add(Isa::avx2);
  Graph graph;
  const ValueId x = graph.add_input("x", DType::f32, Shape{1, 1000});
  const ValueId sums = testing::add_or_die(graph, kCumsum, CumsumAttrs{.axis = 1}, {x}, "sums");
  graph.add_output(testing::add_or_die(graph, kUnary, UnaryAttrs{.kind = UnaryKind::neg}, {sums}, "less"), "y");
  ConstantPool pool;
  const auto plan = make_plan(graph, machine, {.allow_reference = true}, pool);
  ASSERT_TRUE(plan.ok()) << to_string(plan.errors());
  ASSERT_EQ(plan->steps.size(), 2u);
  EXPECT_EQ(plan->steps[0].kernel, "plain_cumsum_portable");
  EXPECT_EQ(plan->steps[1].kernel, "unary_f32_cuda");
  EXPECT_GT(plan->steps[0].predicted_ns, 20'000 + 2 * 4000 / 25) << "two copies of 4000 bytes";
  EXPECT_LT(plan->steps[0].predicted_ns, 60'000);
  EXPECT_EQ(plan->needs.to_string(), "scalar cuda") << "what its kernels need, and no more";
  EXPECT_EQ(host_beside(machine)->isa.to_string(), "scalar avx2");
  EXPECT_FALSE(host_beside(*machine_for_target("cuda")).has_value());
  EXPECT_FALSE(host_beside(*machine_for_target("avx2")).has_value());
}

TEST(CudaPlans, ABatchIsOneStepEach) {
  const Graph graph = testing::chain_graph();
  ConstantPool pool;
  const auto plan =
      make_plan(graph, *machine_for_target("cuda"), {.batch = 2, .batch_order = BatchOrder::images}, pool);
  ASSERT_TRUE(plan.ok()) << to_string(plan.errors());
  EXPECT_TRUE(plan->regions.empty());
  EXPECT_EQ(plan->machine.cores, 132) << "which tiles are best depends on them";
  EXPECT_TRUE(plan->needs.has(Isa::cuda));
}

}  // namespace
}  // namespace octavo
