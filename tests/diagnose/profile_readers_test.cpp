// Profiles of every format: LiteRT's tables, TVM's reports and traces, a gigabyte of events, and what is none.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "diagnose/diagnose.h"
#include "sketch.h"
#include "support/child.h"
#include "support/tflite_builder.h"

namespace octavo::diagnose {
namespace {

using octavo::testing::ScratchFolder;
using octavo::testing::TfliteBuilder;

std::string profile_readers_of_folder(const std::string& name) {
  return (std::filesystem::path(OCTAVO_SOURCE_DIR) / "tests" / "diagnose" / "profiles" / name).string();
}

// Two products of bytes one after the other, "first" and "second".
std::string two_products() {
  TfliteBuilder model;
  int x = model.input({.name = "x", .dtype = DType::s8, .shape = {1, 8}, .scale = {0.5f}, .zero_point = {0}});
  for (const std::string name : {"first", "second"}) {
    const int w = model.constant(Tensor::of<std::int8_t>({8, 8}, std::vector<std::int8_t>(64, 2)), {0.25f}, {0});
    const octavo::testing::TfliteTensor result{
        .name = name, .dtype = DType::s8, .shape = {1, 8}, .scale = {1.0f}, .zero_point = {0}};
    const int y = name == "second" ? model.output(result) : model.tensor(result);
    model.add(octavo::testing::fully_connected({x, w, -1}, y));
    x = y;
  }
  return model.bytes();
}

// As benchmark_model --enable_op_profiling=true prints them.
constexpr const char* kText = R"(INFO: STARTING!
INFO: Log parameter values verbosely: [0]
Profiling Info for Benchmark Initialization:
============================== Run Order ==============================
	             [node type]	  [first]	 [avg ms]	     [%]	  [cdf%]	  [mem KB]	[times called]	[Name]
	         AllocateTensors	    0.090	    0.047	100.000%	100.000%	     0.000	        2	AllocateTensors/0

Operator-wise Profiling Info for Regular Benchmark Runs:
============================== Run Order ==============================
	             [node type]	  [first]	 [avg ms]	     [%]	  [cdf%]	  [mem KB]	[times called]	[Name]
	         FULLY_CONNECTED	    4.269	    4.000	 80.000%	 80.000%	     0.000	        1	[first]:0
	         FULLY_CONNECTED	    1.150	    1.000	 20.000%	100.000%	     0.000	        1	[second]:1

============================== Top by Computation Time ==============================
	             [node type]	  [first]	 [avg ms]	     [%]	  [cdf%]	  [mem KB]	[times called]	[Name]
	         FULLY_CONNECTED	    4.269	    4.000	 80.000%	 80.000%	     0.000	        1	[first]:0

Number of nodes executed: 2
============================== Summary by node type ==============================
	             [Node type]	  [count]	  [avg ms]	    [avg %]	    [cdf %]	  [mem KB]	[times called]
	         FULLY_CONNECTED	        2	     5.000	   100.000%	   100.000%	     0.000	        2

Timings (microseconds): count=50 first=5419 curr=5000 min=4990 max=5419 avg=5000 std=60
)";
constexpr const char* kDelegated = R"(Operator-wise Profiling Info for Regular Benchmark Runs:
============================== Run Order ==============================
node type, first, avg_ms, %, cdf%, mem KB, times called, name
TfLiteXNNPackDelegate, 5.5, 5.2, 51.0%, 51.0%, 0.0, 1, [second]:2
Delegate/Fully Connected (NC, QS8, QC8W) GEMM, 4.2, 4.0, 39.2%, 90.2%, 0.0, 1, Delegate/Fully Connected (NC\t QS8\t QC8W) GEMM:0
Delegate/Fully Connected (NC, QS8, QC8W) GEMM, 1.2, 1.0, 9.8%, 100.0%, 0.0, 1, Delegate/Fully Connected (NC\t QS8\t QC8W) GEMM:1
)";
// Older ones, as its documentation has them: when it began, and names without places.
constexpr const char* kOlder = R"(============================== Run Order ==============================
	             [node type]	  [start]	  [first]	 [avg ms]	     [%]	  [cdf%]	  [mem KB]	[times called]	[Name]
	         FULLY_CONNECTED	    0.000	    4.269	    4.000	  0.107%	  0.107%	     0.000	        0	[first]
	         FULLY_CONNECTED	    4.270	    1.150	    1.000	  0.054%	  0.161%	     0.000	        0	[second]
)";

TEST(ProfileReaders, LitertsTablesFindTheirNodes) {
  const ScratchFolder folder;
  folder.write("model.tflite", two_products());
  for (const char* text : {kText, kDelegated, kOlder}) {
    folder.write("profile.txt", text);
    const auto diagnosis = diagnose_file(folder.path("model.tflite"), {.profile = folder.path("profile.txt")});
    ASSERT_TRUE(diagnosis) << to_string(diagnosis.errors());
    const JoinedProfile& profile = *diagnosis->profile;
    EXPECT_EQ(profile.ms_of_node, (std::map<int, double>{{0, 4.0}, {1, 1.0}})) << text;
    EXPECT_NEAR(profile.total_ms, 5.0, 1e-9);
    EXPECT_NEAR(profile.integer_ms, 5.0, 1e-9) << text;
    EXPECT_EQ(profile.unmatched_ms, 0.0);
  }
}

TEST(ProfileReaders, LitertsProfileOfAnotherModelIsRefused) {
  const ScratchFolder folder;
  folder.write("model.tflite", two_products());
  std::string other = kOlder;
  for (const std::string name : {"first", "second"}) other.replace(other.rfind(name), name.size(), "elsewhere");
  folder.write("profile.txt", other);
  const auto diagnosis = diagnose_file(folder.path("model.tflite"), {.profile = folder.path("profile.txt")});
  ASSERT_FALSE(diagnosis);
  EXPECT_EQ(diagnosis.errors()[0].kind, ErrorKind::usage);
  EXPECT_NE(to_string(diagnosis.errors()).find("elsewhere"), std::string::npos);
}

TEST(ProfileReaders, TvmsReportFindsProductsAndConversionsInOrder) {
  const auto diagnosis = diagnose_file(profile_readers_of_folder("pairs.onnx"),
                                       {.profile = profile_readers_of_folder("tvm_0.27.json"), .engine = Engine::tvm});
  ASSERT_TRUE(diagnosis) << to_string(diagnosis.errors());
  const JoinedProfile& profile = *diagnosis->profile;
  int products = 0, conversions = 0;
  for (const auto& [node, ms] : profile.ms_of_node) {
    const Kind kind = diagnosis->view.node(node).kind;
    products += is_product(kind);
    conversions += kind == Kind::quantize || kind == Kind::dequantize;
  }
  EXPECT_EQ(products, 3);
  EXPECT_EQ(conversions, 11);
  EXPECT_GT(profile.conversions_ms, 0.0);
  EXPECT_GT(profile.float_products_ms, 0.0);
  EXPECT_EQ(profile.integer_ms, 0.0);
}

// The chrome trace that relay's debug executor left, and reports whose names are no objects.
TEST(ProfileReaders, RelaysFormatsAreRead) {
  const ScratchFolder folder;
  folder.write("trace.json", R"({"displayTimeUnit": "ns", "traceEvents": [
    {"ts": 0.0, "tid": 1, "pid": 1, "name": "fused_nn_conv2d_add_nn_relu", "ph": "B"},
    {"ts": 2000.0, "tid": 1, "pid": 1, "name": "fused_nn_conv2d_add_nn_relu", "ph": "E"},
    {"ts": 2000.0, "tid": 1, "pid": 1, "name": "fused_nn_softmax", "ph": "B"},
    {"ts": 2500.0, "tid": 1, "pid": 1, "name": "fused_nn_softmax", "ph": "E"}]})");
  const auto trace = read_profile(folder.path("trace.json"), FileView{});
  ASSERT_TRUE(trace) << to_string(trace.errors());
  EXPECT_EQ(trace->engine, Engine::tvm);
  ASSERT_EQ(trace->nodes.size(), 2u);
  EXPECT_NEAR(trace->nodes[0].ms, 2.0, 1e-9);
  EXPECT_NEAR(trace->nodes[1].ms, 0.5, 1e-9);
  folder.write("report.json", R"J({"calls":[
    {"Duration (us)":{"microseconds":1500.0},"Count":{"count":1},"Name":"fused_nn_dense","Percent":{"percent":60.0}},
    {"Name":"fused_nn_dense","Duration (us)":{"microseconds":1000.0}}],
    "device_metrics":{"cpu0":{"Duration (us)":{"microseconds":2600.0},"Percent":{"percent":100.0}}}})J");
  const auto report = read_profile(folder.path("report.json"), FileView{});
  ASSERT_TRUE(report) << to_string(report.errors());
  ASSERT_EQ(report->nodes.size(), 2u);
  EXPECT_NEAR(report->total_ms(), 2.5, 1e-9);
}

// Two convolutions in each of two runs, the first of which counts nothing; what runs inside of one is in its time.
TEST(ProfileReaders, PytorchsOperatorsAreThoseOfTheFileInOrder) {
  const ScratchFolder folder;
  std::string events;
  int at_us = 0;
  for (const int us : {9000, 9000, 1000, 3000}) {
    const auto event = [&](const std::string& name, int begin, int duration) {
      events += std::string(events.empty() ? "" : ",") + R"({"ph":"X","cat":"cpu_op","name":")" + name + R"(","ts":)" +
                std::to_string(begin) + R"(,"dur":)" + std::to_string(duration) + "}";
    };
    event("aten::conv2d", at_us, us);
    event("aten::convolution", at_us + 1, us - 2);
    event("aten::relu", at_us + 2, us / 2);  // as part of it: none of the file's
    at_us += us + 10;
    event("aten::relu", at_us, us / 10);
    at_us += us;
  }
  folder.write("trace.json", R"({"traceEvents":[)" + events + "]}");
  Sketch sketch(FileFormat::zip, Dialect::qdq);
  for (int i = 0; i < 2; ++i)
    sketch.node("aten.relu.default", {sketch.node("aten.conv2d.default", {sketch.input(), sketch.constant()})});
  const FileView& view = sketch.view();
  const auto profile = read_profile(folder.path("trace.json"), view);
  ASSERT_TRUE(profile) << to_string(profile.errors());
  EXPECT_EQ(profile->engine, Engine::torch);
  const auto joined = join(*profile, view, "trace.json");
  ASSERT_TRUE(joined) << to_string(joined.errors());
  ASSERT_EQ(joined->ms_of_node.size(), 4u);
  EXPECT_NEAR(joined->ms_of_node.at(0), 1.0, 1e-9);
  EXPECT_NEAR(joined->ms_of_node.at(1), 0.1, 1e-9);
  EXPECT_NEAR(joined->ms_of_node.at(2), 3.0, 1e-9);
  EXPECT_NEAR(joined->total_ms, 4.4, 1e-9);
}

TEST(ProfileReaders, WhatIsNoProfileIsSaid) {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& text) {
    folder.write("profile", text);
    const auto profile = read_profile(folder.path("profile"), FileView{});
    EXPECT_FALSE(profile);
    return profile ? "" : to_string(profile.errors());
  };
  EXPECT_NE(refused("Hello.\nThis is a letter.\n").find("without times of nodes"), std::string::npos);
  EXPECT_NE(refused(std::string(100'000, 'x')).find("a line of more than"), std::string::npos);
  EXPECT_NE(refused(std::string(kText).substr(0, 500)).find("without times of nodes"), std::string::npos);
  EXPECT_NE(refused(R"({"calls":[{"Name":{"string":"conv2d"},"Dura)").find("ends at byte"), std::string::npos);
  EXPECT_NE(refused(R"({"a": 1})").find("without trace events"), std::string::npos);
}

std::string text_of(const std::string& name) {
  std::ifstream file(profile_readers_of_folder(name));
  return {std::istreambuf_iterator<char>(file), {}};
}

// A trace of PyTorch, counters of OpenVINO, a table of LiteRT and a report of TVM that end in the middle.
TEST(ProfileReaders, TruncatedOnesSayWhereTheyEnd) {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& text) {
    folder.write("cut", text);
    const auto profile = read_profile(folder.path("cut"), FileView{});
    EXPECT_FALSE(profile) << text;
    return profile ? "" : to_string(profile.errors());
  };
  const std::string counters = text_of("openvino_2026.4.csv");
  for (const std::size_t end : {counters.find("Total"), counters.find("n12_Conv") + 20})
    EXPECT_NE(refused(counters.substr(0, end)).find("before their total"), std::string::npos);
  const std::string table = kOlder;
  EXPECT_NE(refused(table.substr(0, table.size() - 12)).find("in the middle of a row"), std::string::npos);
  const std::string report = text_of("tvm_0.27.json");
  EXPECT_NE(refused(report.substr(0, report.size() / 2)).find("ends at byte"), std::string::npos);
  folder.write("trace.json",
               R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::conv2d","ts":0,"dur":9},{"ph":"X")");
  const auto trace = read_profile(folder.path("trace.json"), FileView{});
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.errors()[0].kind, ErrorKind::invalid_input);
  EXPECT_NE(to_string(trace.errors()).find("ends at byte"), std::string::npos);
}

// Names of another network. Of PyTorch's operators only those that the file has are read at all.
TEST(ProfileReaders, OneOfAnotherModelIsRefused) {
  const ScratchFolder folder;
  folder.write("torch.json", R"({"traceEvents":[
    {"ph":"X","cat":"cpu_op","name":"aten::fft_fft","ts":0,"dur":9000},
    {"ph":"X","cat":"cpu_op","name":"aten::cholesky","ts":9000,"dur":9000}]})");
  Sketch sketch(FileFormat::zip, Dialect::qdq);
  sketch.node("aten.conv2d.default", {sketch.input(), sketch.constant()});
  const auto trace = read_profile(folder.path("torch.json"), sketch.view());
  ASSERT_FALSE(trace);
  EXPECT_NE(to_string(trace.errors()).find("without times of nodes"), std::string::npos);

  // TVM's functions have no names of the file's: there are as many products, or the profile is of something else.
  folder.write("tvm.json", R"J({"calls":[
    {"Duration (us)":{"microseconds":1500.0},"Count":{"count":1},"Name":{"string":"conv2d"}},
    {"Duration (us)":{"microseconds":1000.0},"Count":{"count":1},"Name":{"string":"conv2d1"}}]})J");
  const auto tvm = diagnose_file(profile_readers_of_folder("pairs.onnx"),
                                 {.profile = folder.path("tvm.json"), .engine = Engine::tvm});
  ASSERT_FALSE(tvm);
  EXPECT_EQ(tvm.errors()[0].kind, ErrorKind::usage);

  std::ifstream counters(profile_readers_of_folder("openvino_2026.4.csv"));
  std::string text;
  for (std::string line; std::getline(counters, line);) text += (line[0] == 'n' ? "other_" + line : line) + "\n";
  folder.write("openvino.csv", text);
  const auto openvino = diagnose_file(profile_readers_of_folder("pairs.onnx"),
                                      {.profile = folder.path("openvino.csv"), .engine = Engine::openvino});
  ASSERT_FALSE(openvino);
  EXPECT_EQ(openvino.errors()[0].kind, ErrorKind::usage);
}

// ONNX Runtime copies a dequantize node for each of its readers, and says of nodes which threads helped.
TEST(ProfileReaders, CopiedNodesAndThreadsOfOnnxRuntimeAreKnown) {
  const ScratchFolder folder;
  folder.write("profile.json", R"([
    {"cat":"Node","dur":40,"name":"n2_DequantizeLinear/duplicated_kernel_time","args":{"op_name":"DequantizeLinear"}},
    {"cat":"Node","dur":900,"name":"n4_Conv_kernel_time","args":{"op_name":"Conv","thread_scheduling_stats":
      {"main_thread":{"thread_pool_name":"session","num_run":[3]},
       "sub_threads":{"71":{"num_run":2},"72":{"num_run":4}}}}},
    {"cat":"Node","dur":20,"name":"n8_Conv_kernel_time","args":{"op_name":"Conv","thread_scheduling_stats":
      {"main_thread":{"thread_pool_name":"session","num_run":[3]},"sub_threads":{"71":{"num_run":2}}}}}])");
  const auto diagnosis =
      diagnose_file(profile_readers_of_folder("pairs.onnx"), {.profile = folder.path("profile.json")});
  ASSERT_TRUE(diagnosis) << to_string(diagnosis.errors());
  const JoinedProfile& profile = *diagnosis->profile;
  EXPECT_EQ(profile.unmatched_ms, 0.0);
  EXPECT_EQ(profile.ms_of_node.size(), 3u);
  for (const auto& [node, ms] : profile.ms_of_node)
    EXPECT_EQ(diagnosis->view.node(node).kind == Kind::dequantize, ms < 0.05 && ms > 0.03);
  EXPECT_EQ(profile.threads, 3);
  EXPECT_NE(diagnosis_text(*diagnosis).find("the profile is of 3 threads"), std::string::npos);
}

TEST(ProfileReaders, WhatLitertTakesBetweenNodesIsKnown) {
  const ScratchFolder folder;
  folder.write("model.tflite", two_products());
  folder.write("profile.txt", std::string(kText) +
                                  "INFO: Inference timings in us: Init: 61, First inference: 5419, "
                                  "Warmup (avg): 5400, Inference (avg): 6000\n");
  const auto diagnosis = diagnose_file(folder.path("model.tflite"), {.profile = folder.path("profile.txt")});
  ASSERT_TRUE(diagnosis) << to_string(diagnosis.errors());
  EXPECT_NEAR(diagnosis->profile->between_ms, 1.0, 1e-9);
  EXPECT_NEAR(diagnosis->profile->total_ms, 6.0, 1e-9);
}

// A large product, and a softmax of `values` that has no fast kernel on bytes.
std::string product_and_softmax(std::int32_t values, std::int32_t width) {
  constexpr int kSoftmax = 25;
  TfliteBuilder model;
  const auto tensor = [](const std::string& name, std::int32_t size) {
    return octavo::testing::TfliteTensor{
        .name = name, .dtype = DType::s8, .shape = {1, size}, .scale = {0.05f}, .zero_point = {0}};
  };
  const int x = model.input(tensor("x", width)), between = model.tensor(tensor("between", values));
  const Tensor weights(DType::s8, Shape{values, width});
  model.add(octavo::testing::fully_connected({x, model.constant(weights, {0.25f}, {0}), -1}, between));
  const auto beta = octavo::testing::options_of(octavo::testing::tfl::CreateSoftmaxOptions, 1.0f);
  octavo::testing::TfliteTensor result = tensor("y", values);
  result.scale = {1.0f / 256.0f}, result.zero_point = {-128};
  model.add({.code = kSoftmax,
             .inputs = {between},
             .outputs = {model.output(result)},
             .kind = octavo::testing::tfl::BuiltinOptions::SoftmaxOptions,
             .options = beta});
  return model.bytes();
}

TEST(Findings, AreLeftOutWhereTheyAreTogetherUnderTwoPercent) {
  const ScratchFolder folder;
  folder.write("small.tflite", product_and_softmax(64, 16384));
  const auto small = diagnose_file(folder.path("small.tflite"), {});
  ASSERT_TRUE(small) << to_string(small.errors());
  EXPECT_EQ(small->left_out, 1u);
  EXPECT_GT(small->left_out_ms, 0.0);
  EXPECT_LT(small->left_out_ms, 0.02 * small->run_ms());
  EXPECT_EQ(small->lost_ms(), 0.0);
  folder.write("large.tflite", product_and_softmax(4096, 8));
  const auto large = diagnose_file(folder.path("large.tflite"), {});
  ASSERT_TRUE(large) << to_string(large.errors());
  EXPECT_EQ(large->left_out, 0u);
  EXPECT_GT(large->lost_ms(), 0.02 * large->run_ms());
}

}  // namespace
}  // namespace octavo::diagnose
