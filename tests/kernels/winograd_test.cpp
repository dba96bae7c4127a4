// Every kernel of the winograd family against the meaning of quantized_conv, exactly: its arithmetic is modulo 2^32 but
// its answers are not.
#include "kernels/winograd/winograd.h"

#include "kernels/conv_cases.h"
#include "kernels/winograd/winograd_step.h"

namespace octavo {
namespace {

// The family's table, and the AVX-VNNI code in the encoding that AVX-512 machines have.
std::vector<KernelChoice> kernels_of_this_machine() {
  std::vector<KernelChoice> kernels(winograd_choices().begin(), winograd_choices().end());
  KernelChoice evex = kernels[0];
  evex.code.name = "winograd_u8s8_4x4_avx512vnni_ymm";
  evex.refusal = [](const OpCall& call) { return winograd_refusal(call, kWinograd256Evex); };
  evex.pack = [](const OpCall& call) { return pack_winograd(call, kWinograd256Evex); };
  evex.code.prepare = [](const StepSpec& spec) { return prepare_winograd(spec, kWinograd256Evex); };
  kernels.push_back(evex);
  std::erase_if(kernels, [](const KernelChoice& kernel) { return !host_machine().isa.has(kernel.code.needs); });
  return kernels;
}

// A 3x3 convolution of stride 1 with a border of 1, unless the case says otherwise.
void check_3x3(ConvCase c, unsigned seed) {
  c.kernel_h = c.kernel_w = 3;
  check(c, seed, kernels_of_this_machine());
}
ConvCase bordered(ConvCase c) {
  c.top = c.left = c.bottom = c.right = 1;
  return c;
}

TEST(Winograd, Sizes) {
  for (std::int64_t height : {1, 2, 4, 5, 7, 8, 9}) {
    for (std::int64_t width : {1, 3, 4, 6, 8, 13, 17})
      check_3x3(bordered({.height = height, .width = width, .channels = 5, .out_channels = 20}), 1);
  }
}

TEST(Winograd, Channels) {
  for (std::int64_t in : {1, 2, 3, 15, 16, 31, 32, 33, 64, 65}) {
    for (std::int64_t out : {1, 8, 9, 16, 17, 31, 33, 48, 64, 70})
      check_3x3(bordered({.height = 6, .width = 7, .channels = in, .out_channels = out}), 2);
  }
}

TEST(Winograd, Borders) {
  for (std::int64_t before : {0, 1, 2, 5}) {
    for (std::int64_t after : {0, 1, 3, 6}) {
      check_3x3({.batch = 2,
                 .height = 6,
                 .width = 9,
                 .channels = 7,
                 .out_channels = 18,
                 .top = before,
                 .left = after,
                 .bottom = after,
                 .right = before},
                3);
    }
  }
}

TEST(Winograd, ManyTilesAndThreads) {
  check_3x3(bordered({.batch = 3, .height = 30, .width = 41, .channels = 20, .out_channels = 40}), 4);
  check_3x3(bordered({.batch = 1, .height = 64, .width = 64, .channels = 34, .out_channels = 16}), 5);
  check_3x3(bordered({.batch = 1, .height = 9, .width = 9, .channels = 40, .out_channels = 200}), 6);
  check_3x3(bordered({.batch = 5, .height = 7, .width = 7, .channels = 520, .out_channels = 50}), 7);
}

TEST(Winograd, WeightsBeyondTheBoundAreSplit) {
  for (std::int64_t channels : {113, 114, 115, 128, 229, 300, 512}) {
    for (std::int8_t extreme : {std::int8_t{-128}, std::int8_t{127}}) {
      const ConvCase c = bordered({.height = 6,
                                   .width = 6,
                                   .channels = channels,
                                   .out_channels = 36,
                                   .least_weight = extreme,
                                   .greatest_weight = extreme});
      check_3x3(c, 8);
    }
  }
}

// The bound is not for show: beyond it one part is not enough.
TEST(Winograd, WithoutTheSplitAnswersAreWrong) {
  const ConvCase c{.height = 3,
                   .width = 3,
                   .channels = 300,
                   .out_channels = 8,
                   .kernel_h = 3,
                   .kernel_w = 3,
                   .to = DType::s32,
                   .least_weight = 127};
  const ConvProblem p = make_problem(c, 15);
  for (const KernelChoice& kernel : kernels_of_this_machine()) {
    ConvRunner runner(kernel, c, p);
    runner.prepare(1);
    EXPECT_TRUE(runner.run(p, 1) == p.expected) << kernel.code.name;
    Tensor one_part(DType::s32, {1});
    one_part.as<std::int32_t>()[0] = 1;
    std::vector<ConstTensorView> packed;
    for (const Tensor& tensor : runner.packed()) packed.push_back(tensor.view());
    packed.back() = one_part.view();
    auto step = kernel.code.prepare(runner.spec_with(packed));
    ASSERT_TRUE(step.ok());
    runner.use(std::move(*step));
    EXPECT_FALSE(runner.run(p, 1) == p.expected) << kernel.code.name;
  }
}

TEST(Winograd, Epilogues) {
  for (std::int64_t oc : {13, 16, 32, 47, 64}) {
    ConvCase c = bordered({.height = 6, .width = 11, .channels = 12, .out_channels = oc});
    for (DType to : {DType::s32, DType::f32}) {
      c.to = to;
      check_3x3(c, 9);
    }
    for (Addition residual :
         {Addition::before_rounding, Addition::real_first, Addition::real_second, Addition::integer}) {
      ConvCase r = bordered({.height = 6,
                             .width = 11,
                             .channels = 12,
                             .out_channels = oc,
                             .zero_point = 120,
                             .residual = residual,
                             .shift = 128});
      check_3x3(r, 10);
      r.to = DType::s8, r.residual_type = DType::s8, r.zero_point = -9, r.lowest = -128, r.highest = 127, r.shift = 0;
      check_3x3(r, 11);
    }
    for (Addition residual : {Addition::none, Addition::before_rounding}) {
      ConvCase words = bordered({.height = 6, .width = 11, .channels = 12, .out_channels = oc});
      words.to = words.residual_type = DType::s16, words.lowest = -32768, words.highest = 32767;
      words.residual = residual;
      check_3x3(words, 14);
    }
    check_3x3(
        bordered({.height = 6, .width = 11, .channels = 12, .out_channels = oc, .zero_point = 90, .has_table = true}),
        12);
    check_3x3(
        bordered({.height = 6, .width = 11, .channels = 12, .out_channels = oc, .zero_point = 90, .multiplier = 1e5f}),
        13);
  }
}

TEST(Winograd, RandomCases) {
  std::random_device device;
  const unsigned seed = device();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto pick = [&](int lowest, int highest) {
    return lowest + static_cast<int>(random() % static_cast<unsigned>(highest - lowest + 1));
  };
  for (int i = 0; i < 60 && !HasFatalFailure(); ++i) {
    ConvCase c{.batch = pick(1, 3),
               .height = pick(3, 20),
               .width = pick(3, 40),
               .channels = pick(1, 90),
               .out_channels = pick(1, 100)};
    c.top = pick(0, 2), c.left = pick(0, 2), c.bottom = pick(0, 2), c.right = pick(0, 2);
    c.zero_point = pick(0, 255), c.residual = static_cast<Addition>(pick(0, 4)), c.has_table = pick(0, 3) == 0;
    check_3x3(c, random());
  }
}

TEST(Winograd, ShapesThatAreRefused) {
  const auto refusal = [](const ConvCase& c) {
    const ConvProblem p = make_problem(c, 14);
    return winograd_geometry_refusal(p.attrs, p.x_shape, p.w_shape);
  };
  EXPECT_NE(refusal({.kernel_h = 3, .kernel_w = 1}), "");
  EXPECT_NE(refusal({.kernel_h = 3, .kernel_w = 3, .stride_w = 2}), "");
  EXPECT_NE(refusal({.kernel_h = 3, .kernel_w = 3, .dilation_h = 2}), "");
  EXPECT_NE(refusal({.channels = 8, .kernel_h = 3, .kernel_w = 3, .groups = 2}), "");
  EXPECT_EQ(refusal({.kernel_h = 3, .kernel_w = 3}), "");
}

}  // namespace
}  // namespace octavo
