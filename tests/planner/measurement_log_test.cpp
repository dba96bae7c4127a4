// The log of measurements: what it keeps, what it refuses, and times measured for it. Tests of planner/.
#include "planner/measurement_log.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "kernels/conv/conv.h"
#include "ops/quantized_conv/quantized_conv.h"
#include "planner/measure.h"
#include "support/child.h"

namespace octavo {
namespace {

Fact constant(DType dtype, Shape shape) {
  return {.dtype = dtype, .shape = shape, .quant = {}, .constant = std::make_shared<Tensor>(dtype, std::move(shape))};
}

// A convolution of 8 to 16 channels.
struct MeasurementLogConvCall {
  explicit MeasurementLogConvCall(std::int64_t size = 6,
                                  QuantizedConvAttrs of = {.epilogue = requantized(DType::u8, 0, 0, 255)})
      : attrs(with_window(std::move(of))) {
    facts = {{.dtype = DType::u8, .shape = {1, size, size, 8}},
             constant(DType::s8, {16, 3, 3, 8}),
             constant(DType::s32, {16}),
             constant(DType::f32, {16})};
    call.inputs = {&facts[0], &facts[1], &facts[2], nullptr, &facts[3]};
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

const KernelChoice* first_runnable() {
  for (const KernelChoice& kernel : conv_choices()) {
    if (host_machine().isa.has(kernel.code.needs)) return &kernel;
  }
  return nullptr;
}

TEST(Measuring, CallsDifferByShapesAndStructureNotByScales) {
  const std::string key = describe_call(MeasurementLogConvCall().call);
  EXPECT_EQ(key,
            describe_call(
                MeasurementLogConvCall(6, {.x_zero_point = 9, .epilogue = requantized(DType::u8, 3, 1, 200)}).call));
  EXPECT_NE(key, describe_call(MeasurementLogConvCall(7).call));
  EXPECT_NE(key, describe_call(MeasurementLogConvCall(6, {.epilogue = requantized(DType::s8, 0, 0, 127)}).call));
  EXPECT_NE(key, describe_call(MeasurementLogConvCall(6, {.epilogue = {{ScaleAndAdd{}, Round{}}, DType::u8}}).call));
  EXPECT_EQ(
      key.rfind(
          "quantized_conv(u8[1x6x6x8], s8[16x3x3x8]*, s32[16]*, -, f32[16]*) -> u8[1x6x6x16] {window=kernel=[3,3] ", 0),
      0u)
      << key;
}

class MeasurementLogTest : public ::testing::Test {
 protected:
  MeasurementLog opened() const {
    auto log = MeasurementLog::open(path_);
    EXPECT_TRUE(log) << to_string(log.errors());
    return log ? std::move(*log) : MeasurementLog();
  }
  void append(const std::string& text) const { std::ofstream(path_, std::ios::app) << text; }

  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.path("log");
};

TEST_F(MeasurementLogTest, ComesBackAsItWasWritten) {
  MeasurementLog log = opened();
  EXPECT_EQ(log.find("a \"call\"", "kernel_a"), nullptr);
  ASSERT_TRUE(log.add({"a \"call\"", "kernel_a", {{"ns", 1.0 / 3.0}, {"other", 0.0}}}));
  ASSERT_TRUE(log.add({"a \"call\"", "kernel_b", {{"ns", 1.0}}}));
  ASSERT_TRUE(log.add({"a \"call\"", "kernel_b", {{"ns", 99.0}}}));
  for (const MeasurementLog& read : {log, opened()}) {
    ASSERT_NE(read.find("a \"call\"", "kernel_a"), nullptr);
    EXPECT_EQ(*read.find("a \"call\"", "kernel_a"), (std::map<std::string, double>{{"ns", 1.0 / 3.0}, {"other", 0.0}}));
    EXPECT_EQ(read.find("a \"call\"", "kernel_b")->at("ns"), 99.0) << "the later one counts";
    EXPECT_EQ(read.find("no call", "kernel_a"), nullptr);
  }
}

TEST_F(MeasurementLogTest, OtherMachinesTimesAreNotOurs) {
  ASSERT_TRUE(opened().add({"a call", "kernel", {{"ns", 1.0}}}));
  append("{\"machine\": \"another\", \"subject\": \"a call\", \"variant\": \"kernel_b\", \"values\": {\"ns\": 2}}\n");
  EXPECT_NE(opened().find("a call", "kernel"), nullptr);
  EXPECT_EQ(opened().find("a call", "kernel_b"), nullptr);
}

TEST_F(MeasurementLogTest, ALineThatWasCutOffIsWrittenOver) {
  ASSERT_TRUE(opened().add({"first", "k", {{"ns", 1.0}}}));
  append("{\"machine\": \"m\", \"sub");
  MeasurementLog log = opened();
  EXPECT_NE(log.find("first", "k"), nullptr);
  ASSERT_TRUE(log.add({"second", "k", {{"ns", 2.0}}}));
  EXPECT_NE(opened().find("first", "k"), nullptr);
  EXPECT_NE(opened().find("second", "k"), nullptr);
}

// Each opened the log before any of them wrote.
TEST_F(MeasurementLogTest, SeveralWritersLoseNothing) {
  constexpr int kWriters = 4, kEach = 50;
  std::vector<MeasurementLog> logs(kWriters, opened());
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < kEach; ++i)
        EXPECT_TRUE(
            logs[static_cast<std::size_t>(w)].add({"call " + std::to_string(w), std::to_string(i), {{"ns", 1.0 * i}}}));
    });
  }
  for (std::thread& writer : writers) writer.join();
  const MeasurementLog all = opened();
  for (int w = 0; w < kWriters; ++w) {
    for (int i = 0; i < kEach; ++i)
      EXPECT_NE(all.find("call " + std::to_string(w), std::to_string(i)), nullptr) << w << " " << i;
  }
}

TEST_F(MeasurementLogTest, WithoutAFileItRemembers) {
  MeasurementLog log;
  EXPECT_TRUE(log.empty());
  ASSERT_TRUE(log.add({"a", "b", {{"ns", 1.0}}}));
  EXPECT_NE(log.find("a", "b"), nullptr);
  auto nowhere = MeasurementLog::open(folder_.path("no/such/folder"));
  ASSERT_TRUE(nowhere);
  const Status added = nowhere->add({"a", "b", {{"ns", 1.0}}});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.errors()[0].kind, ErrorKind::resource);
}

TEST_F(MeasurementLogTest, DamagedFilesAreRefused) {
  const std::string head = "{\"format\": \"octavo measurements 2\"}\n";
  const std::string key = "{\"machine\": \"m\", \"subject\": \"s\", \"variant\": \"v\"";
  for (const std::string& text :
       {std::string("[1"), std::string("{}\n"), std::string("{\"format\": \"octavo measurements 1\"}\n"), head + "\n",
        head + "[]\n", head + key + "}\n", head + key + ", \"values\": [1]}\n",
        head + key + ", \"values\": {\"ns\": \"fast\"}}\n", head + key + ", \"values\": {\"ns\": -1}}\n",
        head + key + ", \"values\": {}, \"schedule\": 1}\n", head + key + ", \"values\": {}, \"threads\": \"two\"}\n",
        head + key + ", \"values\": {}, \"threads\": 1e30}\n", head + key + ", \"values\": {\"ns\": null}}\n",
        head + "{\"machine\": 1}\n"}) {
    folder_.write("log", text);
    const auto log = MeasurementLog::open(path_);
    ASSERT_FALSE(log) << text;
    EXPECT_EQ(log.errors()[0].kind, ErrorKind::invalid_input);
    EXPECT_NE(log.errors()[0].expected, "");
  }
  for (const std::string& text :
       {std::string(), head.substr(0, 5), head, head + key + ", \"values\": {\"ns\": 7}}\n"}) {
    folder_.write("log", text);
    EXPECT_TRUE(MeasurementLog::open(path_)) << text;
  }
}

TEST_F(MeasurementLogTest, WhatIsUnknownIsMeasuredOnce) {
  const KernelChoice* kernel = first_runnable();
  if (kernel == nullptr) GTEST_SKIP() << "this machine has no kernel of the conv family";
  const MeasurementLogConvCall conv;
  MeasurementLog log = opened();
  EXPECT_FALSE(CallTimes(log, TuningMode::off).cost()) << "there is nothing to ask";
  CallTimes quick(log, TuningMode::quick);
  EXPECT_EQ(quick.cost()(*kernel, conv.call, Prospect::far), std::nullopt);
  const auto ns = quick.cost()(*kernel, conv.call, Prospect::near);
  ASSERT_TRUE(ns);
  EXPECT_GT(*ns, 0.0);
  EXPECT_EQ(quick.cost()(*kernel, conv.call, Prospect::near), ns);
  EXPECT_EQ(quick.calls(), 1u);
  EXPECT_TRUE(quick.status());
  MeasurementLog read = opened();
  CallTimes known(read, TuningMode::off);
  EXPECT_EQ(known.cost()(*kernel, conv.call, Prospect::near), ns);
  EXPECT_EQ(known.cost()(*kernel, conv.call, Prospect::far), ns);
  EXPECT_EQ(known.cost()(*kernel, MeasurementLogConvCall(7).call, Prospect::near), std::nullopt);
  EXPECT_EQ(known.calls(), 1u);
  EXPECT_TRUE(CallTimes(read, TuningMode::full).cost()(*kernel, MeasurementLogConvCall(7).call, Prospect::far));
}

TEST_F(MeasurementLogTest, KernelsThatDoNotExistAreNamed) {
  MeasurementLog log;
  for (const auto& [subject, variant] :
       {std::pair("conv(u8[1]) -> u8[1]", "conv_of_yesterday"), std::pair("conv(u8[2]) -> u8[2]", "conv_of_yesterday"),
        std::pair("conv(u8[1]) -> u8[1]", conv_choices()[0].code.name.data()), std::pair("network x: int8;", "int8")})
    ASSERT_TRUE(log.add({subject, variant, {{"ns", 1.0}}}));
  EXPECT_EQ(log.unknown_kernels(), std::vector<std::string>{"conv_of_yesterday"});
}

TEST(Measuring, KernelsOfOtherMachinesAreNotMeasured) {
  const MeasurementLogConvCall conv;
  KernelChoice kernel = conv_choices()[0];
  kernel.code.needs = Isa::amx_int8;
  if (host_machine().isa.has(kernel.code.needs)) GTEST_SKIP() << "this machine has AMX";
  EXPECT_EQ(measure_ns(kernel, conv.call), std::nullopt);
}

}  // namespace
}  // namespace octavo
