// Real models with open dimensions: one lowering for all sizes gives, at each of them, what a lowering at that size
// gives. The models lie outside the project, at $OCTAVO_DATA or ../shared/data; without them these tests are skipped.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>

#include "graph/graph.h"
#include "import/import.h"
#include "lower/lower.h"

namespace octavo {
namespace {

std::filesystem::path open_data_folder() {
  if (const char* folder = std::getenv("OCTAVO_DATA")) return folder;
  return std::filesystem::path(OCTAVO_SOURCE_DIR) / ".." / "shared" / "data";
}

std::string path_of(const std::string& name) { return (open_data_folder() / "models" / name).string(); }

using Sizes = std::vector<std::int64_t>;

struct Lowered {
  Graph graph;
  Precision precision = Precision::int8;
  bool waits = false;
};

Lowered open_lowered(ImportedModel model) {
  const Precision precision = model.is_quantized ? Precision::int8 : Precision::fp32;
  const auto report = lower(model.graph, {.precision = precision});
  EXPECT_TRUE(report) << to_string(report.errors());
  return {std::move(model.graph), precision, report && report->waits_for_sizes};
}

// The graph as text without the numbers of its values.
std::string structure(const Graph& graph) { return std::regex_replace(to_string(graph), std::regex("%[0-9]+"), "%"); }

// Conditions under which a graph holds, one per line.
std::string conditions(const Graph& graph) {
  std::string text;
  for (const SizeCondition& condition : graph.sizes()->conditions())
    text += condition.where + ": " + graph.sizes()->text(condition) + "\n";
  return text;
}

// One lowering, closed at `sizes`, against that of a file imported with them.
void expect_same_at(const Lowered& open, const Sizes& sizes, Result<ImportedModel> fixed) {
  ASSERT_TRUE(fixed) << to_string(fixed.errors());
  const Graph expected = open_lowered(std::move(*fixed)).graph;
  const auto values = open.graph.sizes()->evaluate(sizes);
  ASSERT_TRUE(values) << to_string(values.errors());
  Graph closed = open.graph;
  const Status status = closed.close(*values);
  ASSERT_TRUE(status) << to_string(status.errors());
  if (open.waits) {
    const auto finished = lower_closed(closed, {.precision = open.precision});
    ASSERT_TRUE(finished) << to_string(finished.errors());
  }
  EXPECT_EQ(structure(closed), structure(expected)) << "at " << print(sizes);
}

std::optional<Lowered> open_model(const std::string& name, const std::map<std::string, std::vector<Extent>>& shapes) {
  auto model = import_model(path_of(name), {.keeps_open = true, .opens_batch = true, .shapes = shapes});
  EXPECT_TRUE(model) << to_string(model.errors());
  return model ? std::optional(open_lowered(std::move(*model))) : std::nullopt;
}

class OpenBatch : public ::testing::TestWithParam<const char*> {};

TEST_P(OpenBatch, IsLoweredAsEachBatchIs) {
  if (!std::filesystem::exists(open_data_folder())) GTEST_SKIP() << "needs ../shared/data";
  const auto model = open_model(GetParam(), {});
  ASSERT_TRUE(model);
  EXPECT_EQ(conditions(model->graph), "");
  for (const std::int64_t batch : {1, 2, 5, 64})
    expect_same_at(*model, {batch}, import_model(path_of(GetParam()), {.batch = batch}));
}

INSTANTIATE_TEST_SUITE_P(Files, OpenBatch,
                         ::testing::Values("cifar10_resnet20_fp32.onnx", "cifar10_resnet20_ort_qdq_u8s8_perch.onnx",
                                           "cifar10_resnet20_ort_qop_u8s8_perch.onnx", "mlperf_ic_resnet8_fp32.tflite",
                                           "mlperf_kws_int8.tflite", "mlperf_ad_int8_floatio.tflite",
                                           "mlperf_kws_dynamic_range.tflite", "mobilenet_v1_0.25_224_fp32.onnx",
                                           "tf2_mobilenet_v2_1.0_224_ptq.tflite",
                                           "mobilenet_v2_torchvision_fp32_from_int8.onnx",
                                           "mobilenet_v2_torchvision_ort_qdq_s8s8_perch.onnx"));

class OpenPicture : public ::testing::TestWithParam<const char*> {};

TEST_P(OpenPicture, IsLoweredAsEachSizeIs) {
  if (!std::filesystem::exists(open_data_folder())) GTEST_SKIP() << "needs ../shared/data";
  const auto usual = import_model(path_of(GetParam()), {});
  ASSERT_TRUE(usual) << to_string(usual.errors());
  const Value& input = usual->graph.value(usual->graph.inputs()[0]);
  const bool has_channels_first = input.fact.shape[1] == 3;
  const auto shape = [&](const Extent& h, const Extent& w) {
    return has_channels_first ? std::vector<Extent>{1, 3, h, w} : std::vector<Extent>{1, h, w, 3};
  };
  const auto model = open_model(GetParam(), {{input.name, shape({32, 1024}, {32, 1024})}});
  ASSERT_TRUE(model);
  // Feature maps of more than one row and column: of others a rule makes less.
  for (const auto& [h, w] : std::vector<std::pair<std::int64_t, std::int64_t>>{{224, 224}, {160, 256}, {333, 247}})
    expect_same_at(*model, {h, w}, import_model(path_of(GetParam()), {.shapes = {{input.name, shape(h, w)}}}));
}

INSTANTIATE_TEST_SUITE_P(Files, OpenPicture,
                         ::testing::Values("cifar10_resnet20_fp32.onnx", "cifar10_resnet20_ort_qdq_u8s8_perch.onnx",
                                           "mobilenet_v1_0.25_224_fp32.onnx", "mobilenet_v2_tf2ptq_qdq.onnx",
                                           "tf2_mobilenet_v2_1.0_224_ptq.tflite",
                                           "mobilenet_v2_torchvision_fp32_from_int8.onnx",
                                           "mobilenet_v2_torchvision_ort_qdq_s8s8_perch.onnx",
                                           "squeezenet1_1_fp32.onnx", "squeezenet1_1_ort_qop_u8u8_pertensor.onnx",
                                           "ultraface_slim320_fp32.onnx"));

}  // namespace
}  // namespace octavo
