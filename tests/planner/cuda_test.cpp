// What is chosen for CUDA devices, wherever this runs. Tests of planner/.
#include <gtest/gtest.h>

#include "ops/cumsum/cumsum.h"
#include "ops/fused_conv/fused_conv.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/unary/unary.h"
#include "planner/planner.h"
#include "planner/select.h"
#include "support/small_graphs.h"

namespace octavo {
namespace {

// A convolution over `size` x `size` pixels in `images`.
std::string cuda_chosen_for(std::int64_t images, std::int64_t size, std::int64_t channels, std::int64_t groups = 1) {
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
  EXPECT_EQ(cuda_chosen_for(32, 56, 128), "conv_u8s8_128x128_cuda") << "many large ones";
  EXPECT_EQ(cuda_chosen_for(1, 7, 512), "conv_u8s8_32x32_cuda") << "few pixels: small ones, for more multiprocessors";
  EXPECT_EQ(cuda_chosen_for(1, 28, 96, 96), "depthwise_u8s8_cuda");
}

// Of f32, on a device whose plans may have calls of libraries, unless the machine says otherwise.
std::string float_conv_for(const FusedConvAttrs& conv, const Shape& x, const Shape& y, const SelectOptions& options,
                           bool has_libraries = true) {
  Machine machine = *machine_for_target("cuda");
  if (has_libraries) machine.isa.add(Isa::tf32);
  const Attrs attrs = conv;
  const Shape weights{y[3], conv.window.kernel[0].fixed(), conv.window.kernel[1].fixed(), x[3] / conv.groups};
  const Fact in{.dtype = DType::f32, .shape = x},
      w{.dtype = DType::f32, .shape = weights, .constant = std::make_shared<Tensor>(DType::f32, weights)};
  const OpCall call{.spec = &kFusedConv,
                    .attrs = &attrs,
                    .inputs = {&in, &w, nullptr, &in},
                    .outputs = {{.dtype = DType::f32, .shape = y}}};
  const auto selection = choose(call, machine, options);
  return selection ? std::string(selection->kernel->code.name) : to_string(selection.errors());
}

TEST(CudaPlans, LibrariesWinWhereTheyMayBeTaken) {
  const SelectOptions exact, fp32{.needs_exact = false};
  const FusedConvAttrs window{.window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      product{.window = unit_window({1, 1}), .activation = {.kind = UnaryKind::gelu}};
  const Shape image{1, 56, 56, 64}, tokens{1, 1, 128, 384}, wide{1, 1, 128, 1536};
  EXPECT_EQ(float_conv_for(window, image, image, fp32), "conv_tf32_cudnn");
  EXPECT_EQ(float_conv_for(product, tokens, wide, fp32), "product_tf32_cublaslt");
  EXPECT_EQ(float_conv_for(product, {1, 1, 1, 25088}, {1, 1, 1, 4096}, fp32), "product_tf32_cublaslt");
  const auto is_own = [](const std::string& kernel) { return kernel.starts_with("conv_f32_"); };
  for (const auto& [options, has_libraries] : {std::pair(exact, true), std::pair(fp32, false)}) {
    EXPECT_TRUE(is_own(float_conv_for(window, image, image, options, has_libraries)));
    EXPECT_TRUE(is_own(float_conv_for(product, tokens, wide, options, has_libraries)));
  }
  FusedConvAttrs own = window;
  own.groups = 64;
  EXPECT_TRUE(is_own(float_conv_for(own, image, image, fp32))) << "groups";
  own = window, own.residual = ResidualPlace::after_activation;
  EXPECT_TRUE(is_own(float_conv_for(own, image, image, fp32))) << "an addition at the end";
  // Of strides of 2 what one side has more than the other is read, or it is not.
  own.residual = ResidualPlace::none, own.window = {{3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}};
  EXPECT_TRUE(is_own(float_conv_for(own, image, {1, 28, 28, 64}, fp32))) << "padding on one side";
  own.window = {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 0}};
  EXPECT_EQ(float_conv_for(own, image, {1, 28, 28, 64}, fp32), "conv_tf32_cudnn");
}

// No trial times them, so that those of other kernels do not count against them.
TEST(CudaPlans, LibrariesWinWhateverWasMeasured) {
  SelectOptions options{.needs_exact = false};
  options.tuned = [](const OpCall&, int) { return std::vector<TunedWay>{{"conv_f32_direct_cuda", "", 1.0}}; };
  options.measured = [](const KernelChoice& kernel, const OpCall&, Prospect) {
    return kernel.code.needs == Isa::tf32 ? std::nullopt : std::optional(1.0);
  };
  const FusedConvAttrs window{.window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}};
  const Shape image{1, 56, 56, 64};
  EXPECT_EQ(float_conv_for(window, image, image, options), "conv_tf32_cudnn");
  EXPECT_EQ(float_conv_for(window, image, image, options, false), "conv_f32_direct_cuda");
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
