// Choosing between int8 and fp32 by time: on plans made by hand, and on a small network.
// Part of tests/analyze/.
#include "analyze/auto_precision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "analyze/variant_bench.h"
#include "data/npy.h"
#include "plan/plan.h"
#include "support/child.h"
#include "support/control_flow.h"
#include "support/onnx_builder.h"
#include "support/zip_builder.h"

namespace octavo {
namespace {

using testing::floats;

// A step that reads the value before its own.
void add_step(Plan& plan, std::string name, std::string op) {
  const auto value = static_cast<ValueIndex>(plan.values.size());
  plan.values.emplace_back();
  plan.steps.push_back({.op = std::move(op), .inputs = {value - 1}, .outputs = {value}});
  plan.report.steps.push_back({.name = std::move(name)});
}

TEST(GroupTimes, ConversionsCountForTheFloatSide) {
  Plan plan{.values = {PlanValue{.place = Place::input}}};
  add_step(plan, "a", "quantized_conv");
  add_step(plan, "a/dequantize", "dequantize");
  add_step(plan, "b", "fused_conv");
  add_step(plan, "b/quantize", "quantize");
  add_step(plan, "c", "quantized_conv");
  const std::vector<double> ms = {1, 0.1, 2, 0.2, 4};
  EXPECT_EQ(group_times(plan, {{"a"}, {"b", "b.relu"}, {"c"}}, ms), (std::vector<double>{1, 2.0 + 0.1 + 0.2, 4}));
  // Of an island that is in no group, for the group on the other side: without it nothing would be converted.
  const auto outside = group_times(plan, {{"a"}, {"c"}}, ms);
  EXPECT_DOUBLE_EQ(outside[0], 1.1);
  EXPECT_DOUBLE_EQ(outside[1], 4.2);
}

TEST(GroupTimes, WhatNobodyReadsBelongsToNobody) {
  Plan plan{.values = {PlanValue{.place = Place::input}}};
  add_step(plan, "q", "quantize");
  add_step(plan, "other", "pool");
  plan.steps.back().inputs = {0};
  add_step(plan, "b", "quantized_conv");
  EXPECT_EQ(group_times(plan, {{"b"}}, std::vector<double>{1, 2, 4}), (std::vector<double>{4}));
}

// Three convolutions with ReLU.
std::string auto_precision_network() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 0.2f);
  testing::ModelBuilder builder;
  builder.input("x", DType::f32, {-1, 8, 12, 12});
  std::string wire = "x";
  for (const std::string name : {"conv0", "conv1", "conv2"}) {
    std::vector<float> weights(8 * 8 * 9);
    std::generate(weights.begin(), weights.end(), [&] { return normal(random); });
    builder.initializer(name + ".w", floats(Shape{8, 8, 3, 3}, weights));
    builder.node({.op = "Conv",
                  .inputs = {wire, name + ".w"},
                  .outputs = {name + ".y"},
                  .attributes = {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}},
                  .name = name});
    builder.node({.op = "Relu", .inputs = {name + ".y"}, .outputs = {name + ".relu"}, .name = name + ".relu"});
    wire = name + ".relu";
  }
  return builder.output(wire).bytes();
}

class SettlePrecision : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("net.onnx", auto_precision_network());
    request_.calibrate = "random";
    request_.samples = 2;
    request_.chooses_precision = true;
    request_.threads = 1;
    request_.seconds = 0.01;
    request_.options.tuning_log = folder_.path("log.json");
  }

  // Writes these times over what the first compilation measured: of int8 and fp32, and of the variant with the middle
  // group in fp32.
  void forge(const std::vector<double>& int8, const std::vector<double>& fp32,
             const std::vector<double>& middle) const {
    std::istringstream log(testing::read_bytes(request_.options.tuning_log));
    const std::string ending = ": int8; fp32;";
    std::string line, lines, machine, auto_precision_network;
    while (std::getline(log, line)) {
      lines += line + "\n";
      const auto entry = nlohmann::json::parse(line);
      const std::string subject = entry.value("subject", "");
      if (!subject.ends_with(ending)) continue;
      auto_precision_network = subject.substr(0, subject.size() - ending.size());
      machine = entry["machine"];
    }
    ASSERT_TRUE(auto_precision_network.starts_with("network net.onnx ")) << lines;
    const auto write = [&](const std::string& forms, const std::string& form, const std::vector<double>& ns) {
      nlohmann::json values;
      for (std::size_t i = 0; i < ns.size(); ++i)
        values[i + 1 == ns.size() ? "run_ms" : "group_" + std::to_string(i) + "_ms"] = ns[i] * 1e-6;
      if (ns.empty()) return;
      lines += nlohmann::json({{"machine", machine},
                               {"subject", auto_precision_network + forms},
                               {"variant", form},
                               {"values", values}})
                   .dump() +
               "\n";
    };
    write(ending, "int8", int8);
    write(ending, "fp32", fp32);
    for (const auto& [form, ns] : {std::pair("int8", int8), std::pair("fp32 in 1", middle), std::pair("fp32", fp32)})
      write(": int8; fp32 in 1; fp32;", form, ns);
    folder_.write("log.json", lines);
  }

  v1::ModelInfo compiled() const {
    const auto model = open_or_compile(folder_.path("net.onnx"), request_);
    EXPECT_TRUE(model) << to_string(model.errors());
    return model ? model->info() : v1::ModelInfo{.plans = {v1::PlanInfo{}}};
  }

  static std::int64_t float_conv_steps(const v1::PlanInfo& plan) {
    std::int64_t steps = 0;
    for (const auto& [kernel, count] : plan.kernels)
      steps += kernel.find("fused_conv") != std::string::npos ? count : 0;
    return steps;
  }

  testing::ScratchFolder folder_;
  CompileRequest request_;
};

TEST_F(SettlePrecision, TimesDecideAndAreTold) {
  compiled();
  forge({100000, 300000, 100000, 500000}, {400000, 100000, 400000, 900000}, {100000, 150000, 100000, 350000});
  const v1::PlanInfo mixed = compiled().plans[0];
  EXPECT_EQ(mixed.precision, Precision::int8);
  EXPECT_EQ(float_conv_steps(mixed), 1);
  const auto told = [&](const v1::PlanInfo& plan, const std::string& text) {
    return std::count_if(plan.notes.begin(), plan.notes.end(),
                         [&](const std::string& note) { return note.find(text) != std::string::npos; });
  };
  EXPECT_EQ(
      told(
          mixed,
          "auto: 1 of 3 groups in fp32, 0.3500 ms; all in int8 0.5000 ms, all in fp32 0.9000 ms; measured on 1 thread"),
      1);
  EXPECT_EQ(told(mixed, "auto: 'conv1', 'conv1.relu' in fp32, 0.1500 ms; in int8 0.3000 ms"), 1);
  EXPECT_EQ(told(mixed, "'conv0'"), 0);
  // The same times, the middle group with conversions that cost too much.
  forge({100000, 300000, 100000, 500000}, {400000, 100000, 400000, 900000}, {100000, 320000, 100000, 520000});
  const v1::PlanInfo integer = compiled().plans[0];
  EXPECT_EQ(float_conv_steps(integer), 0);
  EXPECT_EQ(told(integer, "auto: all in int8, 0.5000 ms"), 1);
  forge({100000, 100000, 100000, 300000}, {98000, 98000, 98000, 290000}, {1, 1, 1, 1});
  const v1::PlanInfo whole = compiled().plans[0];
  EXPECT_EQ(whole.precision, Precision::fp32);
  EXPECT_EQ(told(whole, "auto: all in fp32, 0.2900 ms"), 1);
  EXPECT_EQ(told(whole, "in fp32, 0.0980 ms; in int8 0.1000 ms"), 3);
}

TEST_F(SettlePrecision, LayersOfAQuantizedFile) {
  CompileRequest int8 = request_;
  int8.chooses_precision = false;
  const auto quantized = quantize_file(folder_.path("net.onnx"), int8);
  ASSERT_TRUE(quantized) << to_string(quantized.errors());
  const auto bytes = quantized->onnx();
  ASSERT_TRUE(bytes) << to_string(bytes.errors());
  folder_.write("net.onnx", *bytes);
  request_.calibrate.clear();
  compiled();
  forge({100000, 300000, 100000, 500000}, {400000, 100000, 400000, 900000}, {100000, 150000, 100000, 350000});
  const v1::PlanInfo mixed = compiled().plans[0];
  EXPECT_EQ(mixed.precision, Precision::int8);
  EXPECT_EQ(float_conv_steps(mixed), 1);
  EXPECT_EQ(
      std::count_if(mixed.notes.begin(), mixed.notes.end(),
                    [](const std::string& note) { return note.starts_with("auto: 'conv1', 'conv1.relu' in fp32"); }),
      1);
}

TEST_F(SettlePrecision, WhatWasMeasuredGivesTheSameBytes) {
  const auto bytes_of = [&](const CompileRequest& request) {
    const auto model = open_or_compile(folder_.path("net.onnx"), request);
    EXPECT_TRUE(model && model->save(folder_.path("net.octv")));
    return testing::read_bytes(folder_.path("net.octv"));
  };
  const std::string first = bytes_of(request_);
  const std::string log = testing::read_bytes(request_.options.tuning_log);
  EXPECT_EQ(bytes_of(request_), first);
  EXPECT_EQ(testing::read_bytes(request_.options.tuning_log), log);
  // What came to int8 is what --precision int8 makes, but for what is told of it.
  forge({100000, 100000, 100000, 300000}, {400000, 400000, 400000, 990000}, {});
  request_.options.batches = {1, 3};
  auto settled = settle_precision(folder_.path("net.onnx"), request_);
  ASSERT_TRUE(settled) << to_string(settled.errors());
  EXPECT_EQ(settled->options.batches, (std::vector<std::int64_t>{1, 3}));
  settled->notes.clear();
  CompileRequest int8 = request_;
  int8.chooses_precision = false;
  int8.options.precision = Precision::int8;
  EXPECT_EQ(bytes_of(*settled), bytes_of(int8));
}

// How often the loop turns is in the samples; of inputs that are drawn it is never.
TEST_F(SettlePrecision, ProgramsAreTimedOnTheSamples) {
  testing::ModelBuilder body(17), model(17);
  body.input("i", DType::s64, {}).input("go", DType::boolean, {}).input("h", DType::f32, {4, 16});
  body.output("on").output("next").initializer("w", floats(Shape{16, 16}, std::vector<float>(256, 0.06f)));
  body.node({"Identity", {"go"}, {"on"}}).node({"MatMul", {"h", "w"}, {"product"}});
  body.node({"Relu", {"product"}, {"next"}});
  model.input("x", DType::f32, {4, 16}).input("trips", DType::s64, {}).output("y");
  testing::add_loop(model, {"trips", "", "x"}, {"y"}, body);
  folder_.write("net.onnx", model.bytes());
  Tensor trips(DType::s64, Shape{2});
  std::fill_n(trips.as<std::int64_t>(), 2, 5);
  ASSERT_TRUE(write_npy(folder_.path("x.npy"), floats(Shape{2, 4, 16}, std::vector<float>(128, 0.5f)).view()));
  ASSERT_TRUE(write_npy(folder_.path("trips.npy"), trips.view()));
  folder_.write("samples.npz", testing::zip_of({{"x.npy", testing::read_bytes(folder_.path("x.npy"))},
                                                {"trips.npy", testing::read_bytes(folder_.path("trips.npy"))}}));
  request_.calibrate = folder_.path("samples.npz");
  const auto settled = settle_precision(folder_.path("net.onnx"), request_);
  ASSERT_TRUE(settled) << to_string(settled.errors());
  EXPECT_TRUE(settled->notes[0].starts_with("auto: all parts in")) << settled->notes[0];
  request_.run.max_iterations = 4;
  const auto endless = settle_precision(folder_.path("net.onnx"), request_);
  ASSERT_FALSE(endless);
  EXPECT_NE(to_string(endless.errors()).find("'search' (Loop"), std::string::npos) << to_string(endless.errors());
}

TEST_F(SettlePrecision, OtherTargetsArePredicted) {
  request_.options.target = "avx2";
  const auto settled = settle_precision(folder_.path("net.onnx"), request_);
  ASSERT_TRUE(settled) << to_string(settled.errors());
  EXPECT_NE(settled->notes[0].find("predicted on 1 thread"), std::string::npos) << settled->notes[0];
}

}  // namespace
}  // namespace octavo
