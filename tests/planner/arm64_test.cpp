// What is chosen for targets of aarch64, wherever this runs. Tests of planner/select.
#include <gtest/gtest.h>

#include "base/known_cores.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "planner/select.h"
#include "support/small_graphs.h"

namespace octavo {
namespace {

// A 3x3 convolution of 64 channels; weights from `lowest` on.
struct Arm64ConvCall {
  Attrs attrs;
  Fact x, w, bias, multiplier, y;
  OpCall call;

  static QuantizedConvAttrs conv_attrs(int groups) {
    QuantizedConvAttrs conv;
    conv.groups = groups;
    conv.window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    conv.x_zero_point = 3;
    conv.epilogue = {{Scale{}, Round{.after = 0, .lowest = 0, .highest = 255}}, DType::u8};
    return conv;
  }
  explicit Arm64ConvCall(std::int8_t lowest, int groups = 1) : attrs(conv_attrs(groups)) {
    Tensor weights(DType::s8, Shape{64, 3, 3, 64 / groups});
    weights.as<std::int8_t>()[100] = lowest;
    const auto constant = [](Tensor tensor) {
      Fact fact{.dtype = tensor.dtype(), .shape = tensor.shape()};
      fact.constant = std::make_shared<Tensor>(std::move(tensor));
      return fact;
    };
    x = {.dtype = DType::u8, .shape = {1, 28, 28, 64}};
    w = constant(std::move(weights));
    bias = constant(Tensor(DType::s32, Shape{64}));
    multiplier = constant(Tensor(DType::f32, Shape{64}));
    y = {.dtype = DType::u8, .shape = {1, 28, 28, 64}};
    call = {.spec = &kQuantizedConv, .attrs = &attrs, .inputs = {&x, &w, &bias, nullptr, &multiplier}, .outputs = {y}};
  }
};

std::string arm64_chosen_for(const char* target, std::int8_t lowest, int groups = 1) {
  const Arm64ConvCall conv(lowest, groups);
  const auto selection = choose(conv.call, *machine_for_target(target), {});
  return selection ? std::string(selection->kernel->code.name) : to_string(selection.errors());
}

TEST(Arm64, TheBestMultipliesOfATargetAreChosen) {
  EXPECT_EQ(arm64_chosen_for("arm64-neon", -127), "winograd_u8s8_4x4_neon") << "a quarter of the products, of 16 bits";
  EXPECT_EQ(arm64_chosen_for("arm64-neon", -127, 2), "conv_u8s8_5x1_neon_pairs");
  EXPECT_EQ(arm64_chosen_for("arm64-neon", -128, 2), "conv_u8s8_5x1_neon") << "two products of -128 leave 16 bits";
  EXPECT_EQ(arm64_chosen_for("arm64-dotprod", -128), "conv_u8s8_6x4_dotprod");
  EXPECT_EQ(arm64_chosen_for("arm64-i8mm", -128), "conv_u8s8_4x4_i8mm");
}

TEST(Arm64, ChannelsOnTheirOwnHaveNoTileOverChannels) {
  EXPECT_EQ(arm64_chosen_for("arm64-neon", -127, 64), "depthwise_q8s8_1x8_neon");
  for (const char* target : {"arm64-dotprod", "arm64-i8mm"})
    EXPECT_EQ(arm64_chosen_for(target, -127, 64), "depthwise_q8s8_4x16_dotprod") << target;
}

TEST(Arm64, ATargetHasWhatThoseBeforeItHave) {
  EXPECT_EQ(machine_for_target("arm64-neon")->isa.to_string(), "scalar neon");
  EXPECT_EQ(machine_for_target("arm64-dotprod")->isa.to_string(), "scalar neon dotprod");
  EXPECT_EQ(machine_for_target("arm64-i8mm")->isa.to_string(), "scalar neon dotprod i8mm");
}

TEST(Arm64, PredictionsGoByTheCore) {
  const auto cycles = [](const char* core, const char* target) {
    Machine machine = *arm64_core(core);
    machine.isa = machine_for_target(target)->isa;
    const Arm64ConvCall conv(-127);
    return choose(conv.call, machine, {})->predicted_ns * machine.speeds.gigahertz;
  };
  const double n1 = cycles("neoverse-n1", "arm64-dotprod");
  EXPECT_GT(n1, 28 * 28 * 64 * 576 / 32.0) << "two udot a cycle, and what is beside them";
  EXPECT_LT(n1, 28 * 28 * 64 * 576 / 32.0 * 1.2);
  EXPECT_NEAR(cycles("cortex-a76", "arm64-dotprod"), n1, 0.01 * n1);
  EXPECT_GT(cycles("cortex-a55", "arm64-dotprod"), 2.0 * n1);
  EXPECT_LT(cycles("neoverse-v1", "arm64-dotprod"), 0.7 * n1);
  EXPECT_LT(cycles("neoverse-n2", "arm64-i8mm"), 0.7 * n1);
  EXPECT_GT(cycles("cortex-a72", "arm64-neon"), 2.0 * n1);
  EXPECT_GT(cycles("cortex-a53", "arm64-neon"), cycles("cortex-a72", "arm64-neon"));
}

TEST(Arm64, CoresThatExecuteInOrderGetLoadsFarBeforeTheirUse) {
  const auto chosen = [](const char* core) {
    const Arm64ConvCall conv(-127);
    return choose(conv.call, *arm64_core(core), {})->kernel->code.name;
  };
  EXPECT_EQ(chosen("cortex-a55"), "conv_u8s8_6x4_dotprod_ahead");
  for (const char* core : {"cortex-a76", "neoverse-n1"}) EXPECT_EQ(chosen(core), "conv_u8s8_6x4_dotprod") << core;
}

}  // namespace
}  // namespace octavo
