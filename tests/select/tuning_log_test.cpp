// The tuning log: what it keeps, what it refuses, and times measured for it. Tests of select/.
#include "select/tuning_log.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(key.rfind("quantized_conv(u8[1x6x6x8], s8[16x3x3x8]*, s32[16]*, f32[16]*) -> u8[1x6x6x16] {window=kernel=[3,3] ", 0), 0u) << key;
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
  EXPECT_EQ(read->to_json(), log.to_json());
  EXPECT_EQ(read->find("a machine", "a call", "kernel_b"), 99.0);
  EXPECT_EQ(read->find("a machine", "a call", "kernel_c"), std::nullopt);
  EXPECT_EQ(read->find("a machine", "no call", "kernel_a"), std::nullopt);
  EXPECT_EQ(read->find("no machine", "a call", "kernel_a"), std::nullopt);
}

TEST(TuningLog, DamagedFilesAreRefused) {
  const std::string head = R"({"format": "octavo tuning log 1")";
  for (const std::string& text :
       {std::string(), std::string("[1"), std::string("{}"), std::string(R"({"format": "octavo tuning log 2", "machines": {}})"), head + "}",
        head + R"(, "machines": []})", head + R"(, "machines": {"m": 1}})", head + R"(, "machines": {"m": {"c": [2]}}})",
        head + R"(, "machines": {"m": {"c": {"k": "fast"}}}})", head + R"(, "machines": {"m": {"c": {"k": -1}}}})",
        head + R"(, "machines": {"m": {"c": {"k": 1e300}}}})", head + R"(, "machines": {"m": {"c": {"k": null}}}})"}) {
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
  EXPECT_EQ(measured_cost(log, Tuning::known)(*kernel, conv.call), std::nullopt);
  const auto ns = measured_cost(log, Tuning::measure)(*kernel, conv.call);
  ASSERT_TRUE(ns);
  EXPECT_GE(*ns, 1.0);
  EXPECT_EQ(log.added(), 1);
  EXPECT_EQ(measured_cost(log, Tuning::measure)(*kernel, conv.call), ns);
  EXPECT_EQ(log.added(), 1);
  auto read = TuningLog::parse(log.to_json());
  ASSERT_TRUE(read);
  EXPECT_EQ(measured_cost(*read, Tuning::known)(*kernel, conv.call), ns);
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
