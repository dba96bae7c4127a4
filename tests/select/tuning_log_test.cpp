// The tuning log: what it keeps, what it refuses, and times measured for it. Tests of select/.
#include "select/tuning_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/conv/conv.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "select/measure.h"

namespace octavo {
namespace {

Fact constant(DType dtype, Shape shape) {
  return {.dtype = dtype, .shape = shape, .quant = {}, .constant = std::make_shared<Tensor>(dtype, std::move(shape))};
}

// A convolution of 8 to 16 channels.
struct ConvCall {
  explicit ConvCall(std::int64_t size = 6, QuantizedConvAttrs of = {}) : attrs(with_window(std::move(of))) {
    facts = {{.dtype = DType::u8, .shape = {1, size, size, 8}},
             constant(DType::s8, {16, 3, 3, 8}),
             constant(DType::s32, {16}),
             constant(DType::f32, {16})};
    for (const Fact& fact : facts) call.inputs.push_back(&fact);
    call.spec = &kQuantizedConv;
    call.attrs = &attrs;
    call.outputs = {{.dtype = DType::u8, .shape = {1, size, size, 16}}};
  }
  static QuantizedConvAttrs with_window(QuantizedConvAttrs of) {
    of.window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    return of;
  }
  Attrs attrs;
  std::vector<Fact> facts;
  OpCall call;
};

const Kernel* first_runnable() {
  for (const Kernel& kernel : conv_kernels()) {
    if (host_machine().isa.has(kernel.needs)) return &kernel;
  }
  return nullptr;
}

TEST(TuningLog, CallsDifferByShapesAndStructureNotByScales) {
  const std::string key = describe_call(ConvCall().call);
  EXPECT_EQ(key, describe_call(ConvCall(6, {.x_zero_point = 9, .zero_point = 3, .residual_ratio = 0.5f}).call));
  EXPECT_NE(key, describe_call(ConvCall(7).call));
  EXPECT_NE(key, describe_call(ConvCall(6, {.to = DType::s8}).call));
  EXPECT_NE(key, describe_call(ConvCall(6, {.residual = Residual::before_rounding}).call));
  EXPECT_EQ(
      key.rfind("quantized_conv(u8[1x6x6x8], s8[16x3x3x8]*, s32[16]*, f32[16]*) -> u8[1x6x6x16] {window=kernel=[3,3] ",
                0),
      0u)
      << key;
}

TEST(TuningLog, ComesBackAsItWasWritten) {
  TuningLog log;
  log.add("a machine", "a call", "kernel_a", 1234.0);
  log.add("a machine", "a call", "kernel_b", 99.0);
  log.add("another", "a call", "kernel_a", 5.0);
  EXPECT_EQ(log.added(), 3);
  const auto read = TuningLog::parse(log.to_json());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->added(), 0);
  EXPECT_TRUE(read->knows("a machine", "a call"));
  EXPECT_FALSE(read->knows("another", "no call"));
  EXPECT_FALSE(read->knows("no machine"));
  EXPECT_EQ(read->to_json(), log.to_json());
  EXPECT_EQ(read->find("a machine", "a call", "kernel_b"), 99.0);
  EXPECT_EQ(read->find("a machine", "a call", "kernel_c"), std::nullopt);
  EXPECT_EQ(read->find("a machine", "no call", "kernel_a"), std::nullopt);
  EXPECT_EQ(read->find("no machine", "a call", "kernel_a"), std::nullopt);
}

TEST(TuningLog, KeepsWhatItSaysOfItself) {
  const std::string text =
      R"({"about": "measured somewhere", "format": "octavo tuning log 1", "machines": {"m": {"c": {"k": 7}}}})";
  const auto log = TuningLog::parse(text);
  ASSERT_TRUE(log);
  EXPECT_EQ(log->about(), "measured somewhere");
  EXPECT_EQ(nlohmann::json::parse(log->to_json()), nlohmann::json::parse(text));
}

TEST(TuningLog, DamagedFilesAreRefused) {
  const std::string head = R"({"format": "octavo tuning log 1")";
  for (const std::string& text :
       {std::string(), std::string("[1"), std::string("{}"),
        std::string(R"({"format": "octavo tuning log 2", "machines": {}})"), head + "}", head + R"(, "machines": []})",
        head + R"(, "machines": {"m": 1}})", head + R"(, "machines": {"m": {"c": [2]}}})",
        head + R"(, "machines": {"m": {"c": {"k": "fast"}}}})", head + R"(, "machines": {"m": {"c": {"k": -1}}}})",
        head + R"(, "machines": {"m": {"c": {"k": 1e300}}}})", head + R"(, "about": 7, "machines": {}})",
        head + R"(, "machines": {"m": {"c": {"k": null}}}})"}) {
    const auto log = TuningLog::parse(text);
    ASSERT_FALSE(log) << text;
    EXPECT_EQ(log.errors()[0].kind, ErrorKind::invalid_input);
    EXPECT_NE(log.errors()[0].expected, "");
  }
  EXPECT_TRUE(TuningLog::parse(head + R"(, "machines": {"m": {"c": {"k": 7}}}})"));
}

TEST(TuningLog, WhatIsUnknownIsMeasuredOnce) {
  const Kernel* kernel = first_runnable();
  if (kernel == nullptr) GTEST_SKIP() << "this machine has no kernel of the conv family";
  const ConvCall conv;
  TuningLog log;
  EXPECT_EQ(measured_cost({.log = &log})(*kernel, conv.call), std::nullopt);
  const TuningSources measuring{.log = &log, .tuning = Tuning::measure};
  const auto ns = measured_cost(measuring)(*kernel, conv.call);
  ASSERT_TRUE(ns);
  EXPECT_GE(*ns, 1.0);
  EXPECT_EQ(log.added(), 1);
  EXPECT_EQ(measured_cost(measuring)(*kernel, conv.call), ns);
  EXPECT_EQ(log.added(), 1);
  auto read = TuningLog::parse(log.to_json());
  ASSERT_TRUE(read);
  EXPECT_EQ(measured_cost({.log = &*read})(*kernel, conv.call), ns);
}

// Times of one call come from one log: its own, or that which comes with Octavo, by the machine that is compiled for.
TEST(TuningLog, TheBuiltInTimesServeCallsThatTheOwnLogLacks) {
  const Kernel& first = conv_kernels()[0];
  const Kernel& second = conv_kernels()[1];
  const ConvCall known(6), other(7);
  const Machine machine{.name = "pretended"};
  TuningLog own, built_in;
  own.add(describe_machine(host_machine()), describe_call(known.call), first.name, 50.0);
  for (const ConvCall* conv : {&known, &other}) {
    built_in.add(describe_machine(machine), describe_call(conv->call), first.name, 11.0);
    built_in.add(describe_machine(machine), describe_call(conv->call), second.name, 22.0);
  }
  TuningUse use;
  const MeasuredCost cost = measured_cost({.log = &own, .built_in = &built_in, .machine = machine, .use = &use});
  EXPECT_EQ(cost(first, known.call), 50.0);
  EXPECT_EQ(cost(second, known.call), std::nullopt);
  EXPECT_EQ(cost(first, other.call), 11.0);
  EXPECT_EQ(cost(second, other.call), 22.0);
  EXPECT_EQ(use.own, std::set<std::string>{describe_call(known.call)});
  EXPECT_EQ(use.built_in, std::set<std::string>{describe_call(other.call)});
  const Machine stranger{.name = "another"};
  EXPECT_EQ(measured_cost({.log = &own, .built_in = &built_in, .machine = stranger})(first, other.call), std::nullopt);
}

TEST(TuningLog, KernelsThatDoNotExistAreNamed) {
  TuningLog log;
  log.add("m", "conv(u8[1]) -> u8[1]", "conv_of_yesterday", 1.0);
  log.add("m", "conv(u8[2]) -> u8[2]", "conv_of_yesterday", 1.0);
  log.add("m", "conv(u8[1]) -> u8[1]", conv_kernels()[0].name, 1.0);
  log.add("m", "network x, batch 1: int8", "int8: 0", 1.0);
  EXPECT_EQ(unknown_kernels(log), std::vector<std::string>{"conv_of_yesterday"});
}

// The committed files: readable, each for one machine, nothing in them that no longer serves.
TEST(TuningLog, BuiltInLogsAreInOrder) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(OCTAVO_SOURCE_DIR) + "/src/select/data")) {
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto log = TuningLog::parse(text);
    ASSERT_TRUE(log) << entry.path() << to_string(log.errors());
    EXPECT_NE(log->about().find("measured 20"), std::string::npos) << entry.path();
    EXPECT_EQ(unknown_kernels(*log), std::vector<std::string>{}) << entry.path() << ": make tuning";
    const auto json = nlohmann::json::parse(text);
    for (const auto& [machine, calls] : json["machines"].items()) {
      for (const auto& [call, kernels] : calls.items()) EXPECT_GE(kernels.size(), 2u) << "no choice: " << call;
    }
    ++files;
  }
  EXPECT_GE(files, 1);
  EXPECT_EQ(built_in_log({.name = "a machine that nobody measured"}).kernels(), std::set<std::string>{});
}

TEST(TuningLog, MoreWorkTakesLonger) {
  const Kernel* kernel = first_runnable();
  if (kernel == nullptr) GTEST_SKIP() << "this machine has no kernel of the conv family";
  const auto small = measure_ns(*kernel, ConvCall(4).call), large = measure_ns(*kernel, ConvCall(200).call);
  ASSERT_TRUE(small && large);
  EXPECT_GT(*large, 20.0 * *small);
}

TEST(TuningLog, KernelsOfOtherMachinesAreNotMeasured) {
  const ConvCall conv;
  Kernel kernel = conv_kernels()[0];
  kernel.needs = Isa::amx_int8;
  if (host_machine().isa.has(kernel.needs)) GTEST_SKIP() << "this machine has AMX";
  EXPECT_EQ(measure_ns(kernel, conv.call), std::nullopt);
}

}  // namespace
}  // namespace octavo
