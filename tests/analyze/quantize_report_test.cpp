// What the report of a quantization tells of a small network. Part of tests/analyze/.
#include "analyze/quantize_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "support/child.h"
#include "support/onnx_builder.h"

namespace octavo {
namespace {

// Two convolutions; the first one's result is called "a<b".
std::string quantize_report_network() {
  testing::ModelBuilder builder;
  builder.input("x", DType::f32, {1, 4, 10, 10});
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 0.3f);
  for (const char* name : {"w1", "w2"}) {
    std::vector<float> values(144);
    for (float& value : values) value = normal(random);
    builder.initializer(name, testing::floats(Shape{4, 4, 3, 3}, values));
  }
  builder.node({.op = "Conv", .inputs = {"x", "w1"}, .outputs = {"c"}, .name = "first"});
  builder.node({.op = "Relu", .inputs = {"c"}, .outputs = {"a<b"}, .name = "relu"});
  builder.node({.op = "Conv", .inputs = {"a<b", "w2"}, .outputs = {"y"}, .name = "second"});
  return builder.output("y").bytes();
}

class QuantizeReportTest : public ::testing::Test {
 protected:
  Result<QuantizationReport> told(const CompileRequest& request) const {
    folder_.write("net.onnx", quantize_report_network());
    const auto quantized = quantize_file(folder_.path("net.onnx"), request);
    if (!quantized) return quantized.errors();
    return report_quantization(folder_.path("net.onnx"), request, *quantized, {});
  }
  static CompileRequest request() {
    CompileRequest request;
    request.calibrate = "random";
    request.samples = 5;
    return request;
  }
  testing::ScratchFolder folder_;
};

// The wire between the convolutions is compared as what it stands for, not as what it holds.
TEST_F(QuantizeReportTest, EqualizedChannelsAreComparedInTheirOwnSize) {
  CompileRequest equalized = request();
  equalized.options.equalizes = true;
  const auto report = told(equalized);
  ASSERT_TRUE(report) << to_string(report.errors());
  ASSERT_EQ(report->tensors.size(), 2u);
  const TensorReport& relu = report->tensors[1];
  EXPECT_GT(relu.sqnr_db, 20.0);
  EXPECT_GT(relu.rounding_db, 25.0);
}

TEST_F(QuantizeReportTest, TellsEveryTensorInOrder) {
  const auto report = told(request());
  ASSERT_TRUE(report) << to_string(report.errors());
  EXPECT_EQ(report->samples, 5);
  ASSERT_EQ(report->tensors.size(), 2u);
  const TensorReport &x = report->tensors[0], &relu = report->tensors[1];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(relu.name, "a<b");
  EXPECT_EQ(x.count, 5 * 400);
  EXPECT_EQ(relu.count, 5 * 256);
  EXPECT_EQ(relu.seen.lowest, 0.0f);
  EXPECT_EQ(relu.seen.highest, relu.bins.highest);  // min-max on these very samples
  EXPECT_EQ(x.clipped, 0.0);
  EXPECT_NEAR(x.rounding_db, x.sqnr_db, 0.01);  // nothing happened before it
  EXPECT_GT(relu.rounding_db, relu.sqnr_db);    // rounded weights and input
  EXPECT_GT(report->output_db, 20.0);
  for (const TensorReport& tensor : report->tensors) {
    EXPECT_EQ(std::accumulate(tensor.histogram.begin(), tensor.histogram.end(), std::int64_t{0}), tensor.count);
  }
  EXPECT_LE(report->worst_first()[0]->rounding_db, report->worst_first()[1]->rounding_db);
}

TEST_F(QuantizeReportTest, ClippedValuesAreCounted) {
  CompileRequest clipping = request();
  clipping.options.calibration = CalibrationMethod::percentile;
  clipping.options.percentile = 90.0;
  clipping.options.output_sqnr = 0.0;  // or nothing would be left to report on
  const auto report = told(clipping);
  ASSERT_TRUE(report) << to_string(report.errors());
  EXPECT_NEAR(report->tensors[0].clipped, 0.10, 0.02);
  EXPECT_LT(report->tensors[0].rounding_db, 20.0);
}

TEST_F(QuantizeReportTest, JsonAndPage) {
  const auto report = told(request());
  ASSERT_TRUE(report) << to_string(report.errors());
  const nlohmann::json object = quantization_json(*report);
  EXPECT_EQ(object["model"], "net.onnx");
  EXPECT_EQ(object["tensors"][1]["name"], "a<b");
  EXPECT_EQ(object["tensors"][1]["histogram"].size(), kReportBins);
  const std::string page = quantization_html(*report);
  EXPECT_NE(page.find("a&lt;b"), std::string::npos);
  EXPECT_EQ(page.find("a<b"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos) << "self-contained";
  EXPECT_NE(page.find("</html>"), std::string::npos);
}

}  // namespace
}  // namespace octavo
