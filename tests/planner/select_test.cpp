// Which kernel is picked, by name, for pretended machines. Tests of planner/.
#include "planner/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "kernels/schedule.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "ops/table/table.h"

namespace octavo {
namespace {

std::string takes_all(const OpCall&) { return ""; }
std::string needs_even_rows(const OpCall& call) {
  return call.inputs[0]->shape[0] % 2 == 0 ? "" : "needs an even number of rows";
}
template <int ns>
double costs(const OpCall&, const Machine&) {
  return ns;
}
double costs_nan(const OpCall&, const Machine&) { return std::numeric_limits<double>::quiet_NaN(); }

const KernelChoice kReferenceKernel{.code = {.name = "reference", .op = "*"}, .refusal = takes_all, .cost = costs<1>};
const KernelChoice kSlowAvx2{
    .code = {.name = "table_slow_avx2", .op = "table", .needs = Isa::avx2}, .refusal = takes_all, .cost = costs<900>};
const KernelChoice kFastAvx2{.code = {.name = "table_fast_avx2", .op = "table", .needs = Isa::avx2},
                             .refusal = needs_even_rows,
                             .cost = costs<500>};
const KernelChoice kTwinAvx2{.code = {.name = "table_fbst_avx2", .op = "table", .needs = Isa::avx2},
                             .refusal = needs_even_rows,
                             .cost = costs<500>};
const KernelChoice kVbmi{
    .code = {.name = "table_vbmi", .op = "table", .needs = Isa::avx512vbmi}, .refusal = takes_all, .cost = costs<100>};
const KernelChoice kUnknownCost{
    .code = {.name = "table_a_nan", .op = "table", .needs = Isa::avx2}, .refusal = takes_all, .cost = costs_nan};
const KernelChoice kOther{
    .code = {.name = "other_avx2", .op = "other", .needs = Isa::avx2}, .refusal = takes_all, .cost = costs<1>};

struct Select : ::testing::Test {
  Fact x{.dtype = DType::u8, .shape = Shape{2, 8}};
  Attrs attrs = NoAttrs{};
  OpCall call{.spec = &kTable, .attrs = &attrs, .inputs = {&x, nullptr}, .outputs = {x}};
  std::vector<const KernelChoice*> kernels = {&kReferenceKernel, &kSlowAvx2,   &kFastAvx2, &kVbmi,
                                              &kOther,           &kUnknownCost};

  Result<Choice> on(std::string_view target, const SelectOptions& options = {}) {
    Machine machine = *machine_for_target(target);
    machine.speeds = {};  // not those of the machine at hand
    return choose(call, machine, options, kernels);
  }
};

TEST_F(Select, LeavesOperandsWithoutElementsToTheReference) {
  x.shape = Shape{0, 8};
  call.outputs = {x};
  EXPECT_EQ(on("amx")->kernel->code.name, "reference");
  EXPECT_EQ(on("amx")->refusals.front(), "table_a_nan: an operand has no elements");
}

TEST_F(Select, TakesTheCheapestLegalKernel) {
  EXPECT_EQ(on("avx2")->kernel->code.name, "table_fast_avx2");
  EXPECT_EQ(on("amx")->kernel->code.name, "table_vbmi");
  EXPECT_EQ(on("avx512vnni")->kernel->code.name, "table_fast_avx2") << "has no vbmi";
  EXPECT_EQ(on("amx")->predicted_ns, 100.0);
}

double costs_by_level2(const OpCall&, const Machine& machine) { return 30000.0 / machine.speeds.level2_gbytes; }
const KernelChoice kKnowsSpeeds{.code = {.name = "table_b_avx2", .op = "table", .needs = Isa::avx2},
                                .refusal = takes_all,
                                .cost = costs_by_level2,
                                .knows_speeds = true};

TEST_F(Select, GoesByTheSpeedsOfTheMachine) {
  kernels = {&kFastAvx2, &kKnowsSpeeds};
  Machine machine = *machine_for_target("avx2");
  EXPECT_EQ(choose(call, machine, {}, kernels)->kernel, &kKnowsSpeeds) << "400 ns of 500";
  EXPECT_EQ(choose(call, machine, {}, kernels)->predicted_ns, 400.0);
  machine.speeds.gigahertz = 5.0;
  EXPECT_EQ(choose(call, machine, {}, kernels)->kernel, &kFastAvx2) << "250 ns of 400";
  EXPECT_EQ(choose(call, machine, {}, kernels)->predicted_ns, 250.0);
  machine.speeds.level2_gbytes = 150.0;
  EXPECT_EQ(choose(call, machine, {}, kernels)->kernel, &kKnowsSpeeds) << "200 ns";
}

constexpr std::string_view kKnobs[] = {"tiles", "chunks"};
const KernelChoice kTiled{
    .code = {.name = "table_tiled_avx2", .op = "table", .needs = Isa::avx2, .knobs = kKnobs},
    .refusal = takes_all,
    .cost = costs<600>,
    .candidates = [](const OpCall&, const Machine&, int threads) -> std::vector<Candidate> {
      return {{encode_schedule({{1, 2}}), 700.0 / threads}, {encode_schedule({{3, 4}}), 650.0 / threads}};
    },
    .schedule_refusal = [](const OpCall&, const Machine&, std::span<const std::byte> schedule) -> std::string {
      return schedule[0] == std::byte{9} ? "has nine tiles" : "";
    }};

TEST_F(Select, ATunedWayOverrulesWhatIsPredictedAndMeasured) {
  kernels.push_back(&kTiled);
  std::vector<TunedWay> ways = {{"table_vbmi", "", 1.0}, {"table_tiled_avx2", "tiles=3 chunks=4", 5.0}};
  SelectOptions options{.measured = [](const auto&...) { return 0.5; }, .threads = 2};
  options.tuned = [&](const OpCall& asked, int threads) {
    EXPECT_EQ(asked.spec, call.spec);
    return threads == 2 ? ways : std::vector<TunedWay>();
  };
  const auto choice = on("avx2", options);
  EXPECT_EQ(choice->kernel, &kTiled) << "vbmi is faster, but not on this machine";
  EXPECT_EQ(choice->schedule, encode_schedule({{3, 4}}));
  EXPECT_EQ(choice->predicted_ns, 600.0) << "on one thread: into how many parts a step is cut";
  EXPECT_NE(
      std::find(choice->refusals.begin(), choice->refusals.end(), "table_fast_avx2: predicted 500 ns, tuned 5 ns"),
      choice->refusals.end());
  ways.erase(ways.begin() + 1);
  EXPECT_EQ(on("amx", options)->kernel, &kVbmi);
  EXPECT_TRUE(on("amx", options)->schedule.empty());
  options.threads = 1;
  EXPECT_NE(on("avx2", options)->kernel, &kTiled) << "tuned for other threads";
}

TEST_F(Select, ATunedScheduleThatCannotBeIsAnError) {
  kernels.push_back(&kTiled);
  for (const char* schedule : {"tiles=9 chunks=1", "tiles=1", "rows=1 chunks=2", "tiles=1 chunks=2 more=3", "x",
                               "tiles=-1 chunks=2", "tiles=99999999999 chunks=2"}) {
    SelectOptions options;
    options.tuned = [&](const OpCall&, int) { return std::vector<TunedWay>{{"table_tiled_avx2", schedule, 5.0}}; };
    const auto choice = on("avx2", options);
    ASSERT_FALSE(choice) << schedule;
    EXPECT_EQ(choice.errors()[0].kind, ErrorKind::invalid_input);
    EXPECT_NE(choice.errors()[0].message().find(schedule), std::string::npos);
  }
}

TEST_F(Select, AllWaysAreThoseThatMayWin) {
  kernels.push_back(&kTiled);
  const auto names = [&](const std::string& target) {
    std::vector<std::string> found;
    for (const Way& way : all_ways(call, *machine_for_target(target), {.threads = 2}, kernels))
      found.push_back(std::string(way.kernel->code.name) + " " + schedule_text(way.kernel->code, way.schedule));
    return found;
  };
  EXPECT_EQ(names("avx2"),
            (std::vector<std::string>{"table_fast_avx2 ", "table_tiled_avx2 ", "table_tiled_avx2 tiles=1 chunks=2",
                                      "table_tiled_avx2 tiles=3 chunks=4", "table_slow_avx2 "}));
  EXPECT_EQ(names("amx"), std::vector<std::string>{"table_vbmi "}) << "the others take over four times as long";
}

TEST_F(Select, ARefusalIsKeptAsASentence) {
  x.shape = Shape{3, 8};
  const auto choice = on("avx2");
  EXPECT_EQ(choice->kernel->code.name, "table_slow_avx2");
  EXPECT_EQ(choice->refusals, (std::vector<std::string>{"reference: the scalar reference has to be allowed",
                                                        "table_a_nan: predicted unknown ns, the choice 900 ns",
                                                        "table_fast_avx2: needs an even number of rows",
                                                        "table_vbmi: needs avx512vbmi"}));
}

TEST_F(Select, ScalarMachinesTakeTheReference) {
  const KernelChoice portable{
      .code = {.name = "table_portable", .op = "table"}, .refusal = takes_all, .cost = costs<0>};
  kernels.push_back(&portable);
  EXPECT_EQ(on("scalar")->kernel->code.name, "reference");
  EXPECT_EQ(on("avx2")->kernel->code.name, "table_portable");
}

TEST_F(Select, TheReferenceStandsInOnlyWhereAllowedAndOnlyLast) {
  EXPECT_EQ(on("avx2", {.allow_reference = true})->kernel->code.name, "table_fast_avx2")
      << "the reference claims to be cheaper";
  kernels = {&kReferenceKernel, &kOther};
  EXPECT_EQ(on("avx2", {.allow_reference = true})->kernel->code.name, "reference");
  const auto refused = on("avx2");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.errors()[0].kind, ErrorKind::unsupported);
  EXPECT_NE(refused.errors()[0].message().find("reference: the scalar reference has to be allowed"), std::string::npos);
  EXPECT_EQ(refused.errors()[0].message().find("other_avx2"), std::string::npos);
}

TEST_F(Select, MeasurementsOverrulePredictions) {
  const MeasuredCost log = [](const KernelChoice& kernel, const OpCall&, Prospect) -> std::optional<double> {
    if (kernel.code.name == "table_slow_avx2") return 20.0;
    return std::nullopt;
  };
  EXPECT_EQ(on("avx2", {.measured = log})->kernel->code.name, "table_slow_avx2");
  EXPECT_EQ(on("avx2", {.measured = log})->predicted_ns, 20.0);
}

TEST_F(Select, WhatMayBeNoiseLeavesThePrediction) {
  double slow_ns = 490.0;
  const MeasuredCost log = [&](const KernelChoice& kernel, const OpCall&, Prospect) -> std::optional<double> {
    return kernel.code.name == "table_slow_avx2" ? slow_ns : 500.0;
  };
  const auto choice = on("avx2", {.measured = log});
  EXPECT_EQ(choice->kernel->code.name, "table_fast_avx2");
  EXPECT_EQ(choice->predicted_ns, 500.0);
  EXPECT_TRUE(std::count(choice->refusals.begin(), choice->refusals.end(),
                         "table_slow_avx2: measured 490 ns, the choice 500 ns"));
  slow_ns = 480.0;
  EXPECT_EQ(on("avx2", {.measured = log})->kernel->code.name, "table_slow_avx2");
}

TEST_F(Select, OnlyKernelsThatMayWinAreMeasured) {
  std::vector<std::string> asked;
  std::map<std::string_view, double> times = {
      {"table_fast_avx2", 5000.0}, {"table_slow_avx2", 4000.0}, {"table_a_nan", 3000.0}};
  bool knows_all = false;
  const MeasuredCost measure = [&](const KernelChoice& kernel, const OpCall&,
                                   Prospect prospect) -> std::optional<double> {
    if (prospect == Prospect::far && !knows_all) return std::nullopt;
    asked.emplace_back(kernel.code.name);
    return times.at(kernel.code.name);
  };
  const KernelChoice far{
      .code = {.name = "table_far_avx2", .op = "table", .needs = Isa::avx2}, .refusal = takes_all, .cost = costs<2000>};
  kernels.push_back(&far);
  times["table_far_avx2"] = 4500.0;
  const auto choice = on("avx2", {.measured = measure});
  // Both predicted within a factor of two are worse than what the third is predicted to take: it is measured, too.
  EXPECT_EQ(asked, (std::vector<std::string>{"table_fast_avx2", "table_slow_avx2", "table_far_avx2"}));
  EXPECT_EQ(choice->kernel->code.name, "table_slow_avx2");
  EXPECT_EQ(choice->predicted_ns, 4000.0);
  EXPECT_TRUE(std::count(choice->refusals.begin(), choice->refusals.end(),
                         "table_fast_avx2: measured 5000 ns, the choice 4000 ns"));

  // What is known of a kernel counts however slow it was predicted to be.
  knows_all = true;
  EXPECT_EQ(on("avx2", {.measured = measure})->kernel->code.name, "table_a_nan");

  kernels = {&kSlowAvx2, &kReferenceKernel};
  asked.clear();
  EXPECT_EQ(on("avx2", {.allow_reference = true, .measured = measure})->kernel->code.name, "table_slow_avx2");
  EXPECT_TRUE(asked.empty()) << "there was no choice";
}

TEST_F(Select, TheOrderOfTheTableDoesNotMatter) {
  kernels.push_back(&kTwinAvx2);
  std::sort(kernels.begin(), kernels.end());
  do {
    const auto choice = on("avx2");
    ASSERT_EQ(choice->kernel->code.name, "table_fast_avx2");
    ASSERT_TRUE(std::is_sorted(choice->refusals.begin(), choice->refusals.end()));
  } while (std::next_permutation(kernels.begin(), kernels.end()));
}

// The choice among all kernels for a convolution of this shape with constant weights, on a pretended machine.
std::string conv_kernel_on(std::string_view target, const Shape& x_shape, std::int64_t out_channels,
                           std::int64_t kernel) {
  const auto constant = [](DType dtype, Shape shape) {
    return Fact{.dtype = dtype, .shape = shape, .constant = std::make_shared<const Tensor>(dtype, shape)};
  };
  const std::int64_t border = kernel / 2;
  QuantizedConvAttrs attrs{.epilogue = requantized(DType::u8, 0, 0, 255)};
  attrs.window = {{kernel, kernel}, {1, 1}, {1, 1}, {border, border}, {border, border}};
  const Attrs erased = attrs;
  const Fact x{.dtype = DType::u8, .shape = x_shape},
      w = constant(DType::s8, {out_channels, kernel, kernel, x_shape[3]});
  const Fact bias = constant(DType::s32, {out_channels}), multiplier = constant(DType::f32, {out_channels});
  OpCall call{.spec = &kQuantizedConv, .attrs = &erased, .inputs = {&x, &w, &bias, nullptr, &multiplier}};
  call.outputs = {{.dtype = DType::u8, .shape = {x_shape[0], x_shape[1], x_shape[2], out_channels}}};
  const auto choice = choose(call, *machine_for_target(target), {}, all_choices());
  return choice ? std::string(choice->kernel->code.name) : to_string(choice.errors());
}

TEST(SelectConv, AmxTakesWhatFillsItsTiles) {
  const std::string amx = "conv_u8s8_16x16_amx_int8", vnni = "conv_u8s8_7x4_avx512vnni";
  EXPECT_EQ(conv_kernel_on("amx", {1, 28, 28, 128}, 128, 3), amx);
  EXPECT_EQ(conv_kernel_on("amx", {1, 56, 56, 64}, 256, 1), amx);
  EXPECT_EQ(conv_kernel_on("amx", {64, 1, 1, 2048}, 1000, 1), amx) << "fully connected, a whole batch";
  EXPECT_EQ(conv_kernel_on("amx", {1, 1, 1, 2048}, 1000, 1), vnni) << "one pixel leaves fifteen rows of sixteen empty";
  EXPECT_EQ(conv_kernel_on("amx", {1, 112, 112, 4}, 32, 1), vnni) << "one dword of K";
  EXPECT_EQ(conv_kernel_on("avx512vnni", {1, 56, 56, 64}, 256, 1), vnni);
}

}  // namespace
}  // namespace octavo
