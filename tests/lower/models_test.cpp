// Real models through the whole pipeline: nothing stays in float that need not, dialects end as one graph, answers
// stay.
#include <cstdlib>
#include <filesystem>
#include <map>

#include "import/import.h"
#include "lower/graph_builder.h"
#include "lower/lower.h"
#include "ops/reduce/reduce.h"

namespace octavo {
namespace {

std::filesystem::path models_data_folder() {
  if (const char* folder = std::getenv("OCTAVO_DATA")) return folder;
  return std::filesystem::path(OCTAVO_SOURCE_DIR) / ".." / "shared" / "data";
}

// The graph of a model of the data folder; nothing where the folder is not there.
std::optional<Graph> model(const std::string& name) {
  const bool is_tflite = name.ends_with(".tflite");
  const auto path = models_data_folder() / "models" / (is_tflite ? name : name + ".onnx");
  if (!std::filesystem::exists(path)) return std::nullopt;
  auto imported = import_model(path.string(), {});
  EXPECT_TRUE(imported.ok()) << (imported.ok() ? "" : to_string(imported.errors()));
  if (!imported) return std::nullopt;
  return std::move(imported->graph);
}

LowerReport models_lowered(Graph& graph, Precision precision) {
  auto report = lower(graph, {.precision = precision});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : to_string(report.errors()));
  return report.ok() ? *report : LowerReport{};
}

std::map<std::string, int> operators(const Graph& graph) {
  std::map<std::string, int> counts;
  for (NodeId id : graph.order()) ++counts[std::string(graph.node(id).spec->name)];
  return counts;
}

std::vector<std::string> operator_list(const Graph& graph) {
  std::vector<std::string> list;
  for (NodeId id : graph.order()) list.emplace_back(graph.node(id).spec->name);
  return list;
}

using Counts = std::map<std::string, int>;

struct Expected {
  const char* family;
  std::vector<const char*> dialects;
  Counts counts;
};

const Expected kQuantized[] = {
    {"squeezenet1_1_ort_",
     {"qdq_s8s8_perch", "qdq_u8s8_perch", "qop_u8s8_perch", "qop_u8u8_pertensor"},
     {{"concat", 8},
      {"dequantize", 1},
      {"max_pool", 3},
      {"quantize", 1},
      {"quantized_conv", 26},
      {"quantized_pool", 1},
      {"quantized_softmax", 1},
      {"reshape", 2},
      {"transpose", 1}}},
    {"mobilenet_v2_torchvision_ort_",
     {"qdq_s8s8_perch", "qdq_u8s8_perch", "qop_u8s8_perch"},
     {{"dequantize", 1},
      {"quantize", 1},
      {"quantized_conv", 53},
      {"quantized_pool", 1},
      {"reshape", 1},
      {"transpose", 1}}},
    {"cifar10_resnet20_ort_",
     {"qdq_s8s8_perch", "qdq_u8s8_perch"},
     {{"dequantize", 1},
      {"pad", 2},
      {"quantize", 1},
      {"quantized_conv", 20},
      {"quantized_pool", 1},
      {"reshape", 1},
      {"slice", 2},
      {"transpose", 1}}},
    // Its shortcuts are requantized: the file pads in another scale than it slices.
    {"cifar10_resnet20_ort_",
     {"qop_u8s8_perch"},
     {{"dequantize", 1},
      {"pad", 2},
      {"quantize", 1},
      {"quantized_conv", 20},
      {"quantized_pool", 1},
      {"reshape", 1},
      {"slice", 2},
      {"table", 2},
      {"transpose", 1}}},
    {"mobilenet_v2_tf2ptq_qdq",
     {""},
     {{"dequantize", 1},
      {"quantize", 1},
      {"quantized_conv", 53},
      {"quantized_pool", 1},
      {"quantized_softmax", 1},
      {"reshape", 1},
      {"transpose", 1}}},
    {"mlperf_resnet8_int8_qdq",
     {""},
     {{"dequantize", 1},
      {"quantize", 1},
      {"quantized_conv", 10},
      {"quantized_pool", 1},
      {"quantized_softmax", 1},
      {"reshape", 1},
      {"transpose", 1}}},
};

TEST(LowerModels, QuantizedOnesAreIntegersThroughout) {
  if (!std::filesystem::exists(models_data_folder() / "models"))
    GTEST_SKIP() << "needs models at " << models_data_folder();
  for (const Expected& expected : kQuantized) {
    std::vector<std::string> first_list;
    for (const char* dialect : expected.dialects) {
      SCOPED_TRACE(std::string(expected.family) + dialect);
      auto graph = model(std::string(expected.family) + dialect);
      ASSERT_TRUE(graph.has_value());
      const LowerReport report = models_lowered(*graph, Precision::int8);
      EXPECT_EQ(operators(*graph), expected.counts);
      for (const Island& island : report.islands) ADD_FAILURE() << island.node << ": " << island.reason;
      if (first_list.empty()) first_list = operator_list(*graph);
      EXPECT_EQ(operator_list(*graph), first_list);
    }
  }
}

// The same network through another door: only what stands at the ends may differ, where the files differ.
TEST(LowerModels, TfliteIsItsOnnxTwin) {
  if (!std::filesystem::exists(models_data_folder() / "models"))
    GTEST_SKIP() << "needs models at " << models_data_folder();
  const std::pair<const char*, const char*> twins[] = {
      {"mobilenet_v2_tf2ptq_qdq", "tf2_mobilenet_v2_1.0_224_ptq.tflite"},
      {"mlperf_resnet8_int8_qdq", "mlperf_ic_resnet8_int8.tflite"}};
  const auto inner = [](const Graph& graph) {
    std::vector<std::string> list = operator_list(graph);
    std::erase_if(list, [](const std::string& op) {
      return op == "quantize" || op == "dequantize" || op == "transpose" || op == "table";
    });
    return list;
  };
  for (const auto& [onnx, tflite] : twins) {
    SCOPED_TRACE(tflite);
    auto first = model(onnx), second = model(tflite);
    ASSERT_TRUE(first.has_value() && second.has_value());
    models_lowered(*first, Precision::int8);
    const LowerReport report = models_lowered(*second, Precision::int8);
    for (const Island& island : report.islands) ADD_FAILURE() << island.node << ": " << island.reason;
    EXPECT_EQ(inner(*second), inner(*first));
    // s8 inputs and outputs are relabelled, nothing else is converted.
    const Counts counts = operators(*second);
    EXPECT_EQ(counts.count("quantize") + counts.count("dequantize") + counts.count("transpose"), 0u);
    EXPECT_LE(counts.count("table") == 0 ? 0 : counts.at("table"), 2);
  }
}

TEST(LowerModels, AnswersStay) {
  if (!std::filesystem::exists(models_data_folder() / "models"))
    GTEST_SKIP() << "needs models at " << models_data_folder();
  for (const char* name : {"cifar10_resnet20_ort_qdq_s8s8_perch", "cifar10_resnet20_ort_qdq_u8s8_perch",
                           "cifar10_resnet20_ort_qop_u8s8_perch", "mlperf_resnet8_int8_qdq"}) {
    SCOPED_TRACE(name);
    auto graph = model(name);
    ASSERT_TRUE(graph.has_value());
    const std::vector<Tensor> before = answers(*graph);
    models_lowered(*graph, Precision::int8);
    EXPECT_EQ(answers(*graph), before);
  }
}

TEST(LowerModels, FloatOnesFuse) {
  if (!std::filesystem::exists(models_data_folder() / "models"))
    GTEST_SKIP() << "needs models at " << models_data_folder();
  auto graph = model("cifar10_resnet20_fp32");
  ASSERT_TRUE(graph.has_value());
  const std::vector<Tensor> before = answers(*graph);
  models_lowered(*graph, Precision::fp32);
  EXPECT_EQ(operators(*graph),
            (Counts{{"fused_conv", 20}, {"pad", 2}, {"reduce", 1}, {"reshape", 1}, {"slice", 2}, {"transpose", 1}}));
  const std::vector<Tensor> after = answers(*graph);
  for (std::int64_t i = 0; i < before[0].elements(); ++i)
    EXPECT_NEAR(after[0].as<float>()[i], before[0].as<float>()[i], 1e-5);
}

TEST(LowerModels, FloatOfAQuantizedFileHasNoPairs) {
  if (!std::filesystem::exists(models_data_folder() / "models"))
    GTEST_SKIP() << "needs models at " << models_data_folder();
  for (const char* name : {"mobilenet_v2_torchvision_ort_qdq_s8s8_perch", "squeezenet1_1_ort_qop_u8u8_pertensor",
                           "cifar10_resnet20_ort_qop_u8s8_perch"}) {
    SCOPED_TRACE(name);
    auto graph = model(name);
    ASSERT_TRUE(graph.has_value());
    const LowerReport report = models_lowered(*graph, Precision::fp32);
    EXPECT_EQ(count(*graph, kQuantize) + count(*graph, kDequantize), 0) << to_string(*graph);
    EXPECT_EQ(report.notes.size(), 1u);
  }
}

TEST(LowerModels, SameGraphInSameGraphAndReportOut) {
  if (!std::filesystem::exists(models_data_folder() / "models"))
    GTEST_SKIP() << "needs models at " << models_data_folder();
  auto first_graph = model("squeezenet1_1_ort_qdq_s8s8_perch");
  auto second_graph = model("squeezenet1_1_ort_qdq_s8s8_perch");
  ASSERT_TRUE(first_graph.has_value() && second_graph.has_value());
  models_lowered(*first_graph, Precision::int8);
  models_lowered(*second_graph, Precision::int8);
  EXPECT_EQ(to_string(*first_graph), to_string(*second_graph));
}

TEST(LowerPipeline, StopsAfterSoManyPatches) {
  for (int limit = 0; limit < 12; ++limit) {
    GraphBuilder b;
    ValueId x = b.dequantize(b.quantize(b.input(DType::f32, {1, 3, 6, 6}), 0x1p-6f, 120), 0x1p-6f, 120);
    x = b.unary(UnaryKind::relu, b.conv(x, b.weights({4, 3, 3, 3}), {3, 3}, Layout::channels_first));
    x = b.dequantize(b.quantize(x, 0x1p-5f, 0), 0x1p-5f, 0);
    b.output(b.add(kReduce, ReduceAttrs{ReduceKind::mean, {2, 3}, false}, {x}));
    const std::vector<Tensor> before = answers(b.graph);
    const auto report = lower(b.graph, {.precision = Precision::int8, .patch_limit = limit, .print = true});
    ASSERT_TRUE(report.ok()) << to_string(report.errors());
    EXPECT_EQ(report->prints.size(), report->passes.size());
    EXPECT_EQ(answers(b.graph), before) << "after " << limit << " patches";
  }
}

TEST(LowerPipeline, IslandsHaveReasons) {
  GraphBuilder b;
  ValueId x = b.dequantize(b.quantize(b.input(DType::f32, {1, 3, 6, 6}), 0x1p-6f, 120), 0x1p-6f, 120);
  x = b.conv(x, b.random_constant(DType::f32, {4, 3, 3, 3}), {3, 3}, Layout::channels_first);
  b.output(b.unary(UnaryKind::exp, x));  // no part of the convolution
  const auto report = lower(b.graph, {});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->islands.size(), 2u);
  EXPECT_EQ(report->islands[0].reason, "its weights are not quantized");
  EXPECT_EQ(report->islands[1].reason, "no scales: its input is not quantized");
}

}  // namespace
}  // namespace octavo
