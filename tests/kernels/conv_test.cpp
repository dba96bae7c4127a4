// Every kernel of the conv family against the meaning of quantized_conv, exactly.
#include "kernels/conv/conv.h"

#include <cstdio>

#include "kernels/conv_tiles.h"
#include "support/amx_emulator.h"

namespace octavo {
namespace {

using testing::AmxEmulation;

// For whoever reads the log: how the AMX kernel was checked here.
TEST(Conv, AmxIsThereOrEmulated) {
  if (!AmxEmulation::is_possible()) GTEST_SKIP() << "needs avx512vnni: the AMX kernel did not run";
  check({.width = 40, .channels = 130, .out_channels = 70}, 60);
  if (AmxEmulation::is_needed())
    std::printf("AMX emulated: %llu instructions\n", static_cast<unsigned long long>(AmxEmulation::trapped()));
  else std::printf("AMX of this machine\n");
}

// Columns of pixels, which are lines in memory.
TEST(Conv, Columns) {
  for (const std::int64_t kernel : {1, 3, 5}) {
    for (const std::int64_t stride : {1, 2}) {
      check({.batch = 2,
             .height = 37,
             .width = 1,
             .channels = 20,
             .out_channels = 33,
             .kernel_h = kernel,
             .stride_h = stride,
             .dilation_h = 2,
             .top = 2,
             .bottom = 1},
            71);
      check({.height = 70,
             .width = 1,
             .channels = 12,
             .out_channels = 24,
             .kernel_h = kernel,
             .stride_h = stride,
             .stride_w = 3,
             .groups = 3},
            72);
    }
  }
}

// Several tiles of 16 pixels and steps of 16 dwords, whole ones and not, in each dimension.
TEST(Conv, ManySteps) {
  for (std::int64_t channels : {60, 64, 65, 68, 129, 260}) {
    for (std::int64_t width : {15, 16, 17, 33, 65, 130}) {
      check({.height = 1, .width = width, .channels = channels, .out_channels = 50}, 61);
      check({.height = 1, .width = width, .channels = channels, .out_channels = 70, .has_offset = true}, 64);
      check({.height = 3,
             .width = width,
             .channels = channels,
             .out_channels = 16,
             .kernel_h = 3,
             .kernel_w = 3,
             .top = 1,
             .left = 1,
             .right = 1},
            62);
    }
  }
}

// Lines of few pixels meet more channels at once.
TEST(Conv, NarrowLines) {
  for (std::int64_t width : {1, 5, 7, 14, 16}) {
    for (std::int64_t out_channels : {48, 64, 79, 130}) {
      ConvCase c{
          .height = 3, .width = width, .channels = 20, .out_channels = out_channels, .kernel_h = 3, .kernel_w = 3};
      c.top = c.left = c.bottom = c.right = 1;
      check(c, 65);
      c.has_offset = true, c.has_table = true, c.residual = Addition::before_rounding;
      check(c, 66);
    }
  }
}

// Largest products of one sign: no sum of them saturates on its way to 32 bits.
TEST(Conv, ExtremeSums) {
  for (std::int8_t weight : {std::int8_t{-128}, std::int8_t{127}}) {
    check({.height = 2,
           .width = 19,
           .channels = 2048,
           .out_channels = 20,
           .to = DType::s32,
           .least_weight = weight,
           .greatest_weight = weight},
          63);
  }
}

// The rest of a bias: rounded with the sum, or multiplied where the result is real.
TEST(Conv, RestOfTheBias) {
  for (std::int64_t oc : {1, 9, 16, 41, 64, 80}) {
    for (Addition residual : {Addition::none, Addition::before_rounding, Addition::real_first}) {
      const bool has_table = oc == 64;
      check({.width = 33,
             .channels = 24,
             .out_channels = oc,
             .has_rest = true,
             .residual = residual,
             .has_table = has_table,
             .multiplier = 0.3f},
            51);
    }
    check({.width = 33, .channels = 24, .out_channels = oc, .has_rest = true, .to = DType::f32}, 52);
    check({.width = 9,
           .channels = 24,
           .out_channels = oc,
           .has_offset = true,
           .has_rest = true,
           .to = DType::s8,
           .zero_point = -3,
           .lowest = -128,
           .highest = 127},
          53);
  }
}

TEST(Conv, ChannelCounts) {
  for (std::int64_t oc : {1, 3, 7, 8, 9, 15, 16, 17, 24, 31, 33, 48, 50, 63, 64, 65, 80, 100, 129}) {
    for (std::int64_t ic : {1, 2, 3, 4, 5, 16, 19})
      check({.height = 3, .width = 10, .channels = ic, .out_channels = oc}, 1);
  }
}

TEST(Conv, WeightOffsets) {
  for (std::int64_t oc : {1, 15, 16, 33, 64, 65, 130}) {
    for (std::int64_t ic : {1, 3, 8, 17}) {
      check({.height = 4, .width = 30, .channels = ic, .out_channels = oc, .has_offset = true}, 41);
      check({.height = 6,
             .width = 7,
             .channels = ic,
             .out_channels = oc,
             .kernel_h = 3,
             .kernel_w = 3,
             .stride_w = 2,
             .dilation_h = 2,
             .dilation_w = 2,
             .top = 2,
             .left = 2,
             .bottom = 1,
             .right = 2,
             .has_offset = true},
            42);
    }
  }
  for (Addition residual : {Addition::before_rounding, Addition::real_first}) {
    check({.width = 33,
           .channels = 24,
           .out_channels = 80,
           .groups = 4,
           .has_offset = true,
           .residual = residual,
           .has_table = true},
          43);
  }
  for (DType to : {DType::s32, DType::f32})
    check({.width = 33, .channels = 24, .out_channels = 41, .has_offset = true, .to = to}, 44);
}

TEST(Conv, PixelCounts) {
  for (std::int64_t oc : {16, 32, 48, 64}) {
    for (std::int64_t width = 1; width <= 60; ++width)
      check({.height = 1, .width = width, .channels = 12, .out_channels = oc}, 2);
  }
}

TEST(Conv, Windows) {
  for (std::int64_t channels : {3, 8, 13}) {
    check({.height = 9,
           .width = 11,
           .channels = channels,
           .out_channels = 20,
           .kernel_h = 3,
           .kernel_w = 3,
           .top = 1,
           .left = 1,
           .bottom = 1,
           .right = 1},
          3);
    check({.height = 23,
           .width = 30,
           .channels = channels,
           .out_channels = 20,
           .kernel_h = 7,
           .kernel_w = 7,
           .stride_h = 2,
           .stride_w = 2,
           .top = 3,
           .left = 3,
           .bottom = 3,
           .right = 3},
          4);
    check({.height = 14,
           .width = 16,
           .channels = channels,
           .out_channels = 20,
           .kernel_h = 3,
           .kernel_w = 3,
           .stride_h = 2,
           .stride_w = 2,
           .top = 0,
           .left = 0,
           .bottom = 1,
           .right = 1},
          5);
    check({.height = 12,
           .width = 13,
           .channels = channels,
           .out_channels = 20,
           .kernel_h = 3,
           .kernel_w = 3,
           .dilation_h = 2,
           .dilation_w = 3,
           .top = 2,
           .left = 3,
           .bottom = 2,
           .right = 3},
          6);
    check({.batch = 3, .height = 8, .width = 8, .channels = channels, .out_channels = 40, .stride_h = 2, .stride_w = 3},
          7);
    check({.batch = 2,
           .height = 6,
           .width = 9,
           .channels = channels,
           .out_channels = 5,
           .kernel_h = 1,
           .kernel_w = 7,
           .left = 3,
           .right = 3},
          8);
    check({.batch = 2,
           .height = 9,
           .width = 3,
           .channels = channels,
           .out_channels = 5,
           .kernel_h = 7,
           .kernel_w = 1,
           .top = 3,
           .bottom = 3},
          9);
    check({.height = 2,
           .width = 2,
           .channels = channels,
           .out_channels = 70,
           .kernel_h = 5,
           .kernel_w = 5,
           .top = 4,
           .left = 4,
           .bottom = 4,
           .right = 4},
          10);
    check({.height = 7, .width = 7, .channels = channels, .out_channels = 70, .kernel_h = 7, .kernel_w = 7}, 11);
    check({.batch = 2,
           .height = 5,
           .width = 40,
           .channels = channels,
           .out_channels = 64,
           .kernel_h = 2,
           .kernel_w = 2,
           .has_offset = true},
          12);
    check({.batch = 1,
           .height = 5,
           .width = 6,
           .channels = channels,
           .out_channels = 30,
           .kernel_h = 3,
           .kernel_w = 3,
           .top = 1,
           .left = 1,
           .bottom = 1,
           .right = 1,
           .has_offset = true},
          13);
  }
}

// Down to output rows that see nothing but padding.
TEST(Conv, RowsOfPaddingAlone) {
  for (const std::int64_t dilation : {1, 2, 5}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t height : {1, 2, 7}) {
        ConvCase c{
            .batch = 2, .height = height, .width = 8, .channels = 24, .out_channels = 72, .kernel_h = 3, .kernel_w = 3};
        c.stride_h = stride, c.dilation_h = dilation;
        c.top = 4 * dilation, c.bottom = 3 * dilation, c.left = c.right = 1;
        check(c, 19);
        c.has_offset = true;
        check(c, 20);
      }
    }
  }
}

TEST(Conv, Groups) {
  const std::int64_t widths[][3] = {{2, 4, 4},  {32, 4, 4}, {8, 8, 8},   {5, 3, 6},   {3, 16, 24},
                                    {6, 1, 2},  {12, 1, 1}, {3, 40, 56}, {2, 64, 64}, {7, 5, 9},
                                    {32, 2, 3}, {13, 8, 8}, {5, 4, 8},   {7, 3, 12},  {3, 12, 192}};
  for (const auto& [groups, in, out] : widths) {
    check({.height = 6,
           .width = 9,
           .channels = groups * in,
           .out_channels = groups * out,
           .kernel_h = 3,
           .kernel_w = 3,
           .top = 1,
           .left = 1,
           .bottom = 1,
           .right = 1,
           .groups = groups},
          14);
    check(
        {.batch = 2, .height = 4, .width = 5, .channels = groups * in, .out_channels = groups * out, .groups = groups},
        15);
    check({.height = 7,
           .width = 7,
           .channels = groups * in,
           .out_channels = groups * out,
           .kernel_h = 3,
           .kernel_w = 3,
           .stride_h = 2,
           .stride_w = 2,
           .dilation_w = 2,
           .top = 1,
           .left = 2,
           .groups = groups},
          16);
  }
  // Narrow lines: chunks of blocks that begin and end within a group.
  check({.height = 6,
         .width = 21,
         .channels = 65,
         .out_channels = 130,
         .kernel_h = 4,
         .kernel_w = 3,
         .stride_w = 3,
         .dilation_h = 2,
         .top = 1,
         .bottom = 7,
         .right = 7,
         .groups = 5,
         .has_offset = true},
        21);
}

TEST(Conv, FullyConnected) {
  for (std::int64_t batch : {1, 2, 5, 13, 64}) {
    check({.batch = batch, .height = 1, .width = 1, .channels = 515, .out_channels = 10}, 17);
    check({.batch = batch, .height = 1, .width = 1, .channels = 96, .out_channels = 1000}, 18);
    // Long enough for two streams of weights, of even and uneven halves.
    check({.batch = batch, .height = 1, .width = 1, .channels = 1024 + 8 * batch, .out_channels = 72}, 19);
    check({.batch = batch, .height = 1, .width = 1, .channels = 2056, .out_channels = 24, .has_offset = true}, 20);
  }
}

TEST(Conv, RandomCases) {
  std::random_device device;
  const unsigned seed = device();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto pick = [&](int lowest, int highest) {
    return static_cast<std::int64_t>(lowest + static_cast<int>(random() % static_cast<unsigned>(highest - lowest + 1)));
  };
  for (int i = 0; i < 150; ++i) {
    ConvCase c{.batch = pick(1, 3),
               .height = pick(1, 12),
               .width = pick(1, 40),
               .kernel_h = pick(1, 4),
               .kernel_w = pick(1, 4)};
    c.stride_h = pick(1, 3), c.stride_w = pick(1, 3), c.dilation_h = pick(1, 2), c.dilation_w = pick(1, 2);
    c.top = pick(0, 3), c.left = pick(0, 3), c.bottom = pick(6, 8), c.right = pick(6, 8);
    c.groups = pick(0, 2) == 0 ? pick(2, 6) : 1;
    c.channels = c.groups * pick(1, 20), c.out_channels = c.groups * pick(1, 70);
    c.has_offset = pick(0, 1) == 1, c.has_rest = c.to != DType::s32 && pick(0, 1) == 1,
    c.zero_point = static_cast<std::int32_t>(pick(0, 255));
    c.residual = static_cast<Addition>(pick(0, 4)), c.has_table = pick(0, 3) == 0;
    check(c, random());
    if (HasFatalFailure()) return;
  }
}

TEST(Conv, PackedConstantsAreChecked) {
  const ConvCase c{.channels = 8, .out_channels = 24, .residual = Addition::before_rounding, .has_table = true};
  const ConvProblem p = make_problem(c, 32);
  for (const KernelChoice& kernel : kernels_of_this_machine()) {
    ConvRunner runner(kernel, c, p);
    if (runner.refusal() == kNeedsHigherWeights) continue;  // which is packed as its twin
    if (kernel.code.needs == Isa::cuda) continue;           // Cuda.LiesAboutPackedConstantsAreRefused
    runner.prepare(1);
    std::vector<ConstTensorView> good;
    for (const Tensor& tensor : runner.packed()) good.push_back(tensor.view());
    ASSERT_EQ(good.size(), 4u);
    ASSERT_TRUE(kernel.code.prepare(runner.spec_with(good)).ok());
    for (std::size_t input : {std::size_t{kConvX}, static_cast<std::size_t>(runner.residual_at)}) {
      StepSpec lie = runner.spec_with(good);
      lie.inputs[input].is_packed = true;
      EXPECT_FALSE(kernel.code.prepare(lie).ok()) << "input " << input;
    }
    for (std::size_t i = 0; i < good.size(); ++i) {
      auto bad = good;
      bad[i].shape = Shape{bad[i].shape[0] - 1};
      EXPECT_FALSE(kernel.code.prepare(runner.spec_with(bad)).ok());
      bad = good;
      bad[i].dtype = DType::f64;
      EXPECT_FALSE(kernel.code.prepare(runner.spec_with(bad)).ok());
      bad = good;
      bad.pop_back();
      EXPECT_FALSE(kernel.code.prepare(runner.spec_with(bad)).ok());
    }
  }
}

}  // namespace
}  // namespace octavo
