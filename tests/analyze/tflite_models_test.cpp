// Real TFLite models: right answers on labelled samples, compared with what LiteRT gives (the table in the data
// folder's README). The models lie outside the project, at $OCTAVO_DATA or ../shared/data; without them these tests are
// skipped.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "analyze/evaluate_accuracy.h"
#include "analyze/session.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;

fs::path data_folder() {
  const char* folder = std::getenv("OCTAVO_DATA");
  return folder != nullptr ? fs::path(folder) : fs::path(OCTAVO_SOURCE_DIR) / ".." / "shared" / "data";
}

struct Known {
  const char* file;
  const char* samples;
  const char* labels;  // empty: in the samples
  std::int64_t right;  // LiteRT's
};
const Known kKnown[] = {
    {"mlperf_ic_resnet8_fp32", "images/cifar10_jpeg_dev.npz", "", 751},
    {"mlperf_ic_resnet8_int8", "images/cifar10_jpeg_dev.npz", "", 752},
    {"mlperf_kws_int8", "inputs/kws_mfcc_dev.npz", "", 364},
    {"mobilenet_v1_0.25_128_quant", "images/imagenet_dev", "images/imagenet_dev/labels.txt", 109},
    {"mobilenet_v2_1.0_224_quant", "images/imagenet_dev", "images/imagenet_dev/labels.txt", 243},
    {"tf2_mobilenet_v2_1.0_224_ptq", "images/imagenet_dev", "images/imagenet_dev/labels.txt", 237},
};

Result<Accuracy> accuracy_of(const Known& known) {
  const fs::path data = data_folder();
  const std::string path = (data / "models" / (std::string(known.file) + ".tflite")).string();
  CompileRequest request;
  if (std::string(known.file).ends_with("fp32")) request.options.precision = Precision::fp32;
  const auto inputs = model_inputs(path, request);
  if (!inputs) return inputs.errors();
  const std::string labels = *known.labels == '\0' ? "" : (data / known.labels).string();
  const auto samples =
      open_labelled((data / known.samples).string(), labels, *inputs, {.preprocess = *parse_preprocess("raw")});
  if (!samples) return samples.errors();
  const auto compiled = open_or_compile(path, request);
  if (!compiled) return compiled.errors();
  auto session = Session::create(*compiled, {}, 2);
  if (!session) return session.errors();
  auto accuracies = evaluate_accuracy({{&*session, &*samples}}, [](std::int64_t, std::int64_t) {});
  if (!accuracies) return accuracies.errors();
  return accuracies->front();
}

// One answer may differ: images are decoded and resized by other code than in the table.
TEST(TfliteModels, RightAnswersAreThoseOfLiteRT) {
  if (!fs::exists(data_folder() / "models")) GTEST_SKIP() << "needs models at " << data_folder();
  for (const Known& known : kKnown) {
    SCOPED_TRACE(known.file);
    const auto accuracy = accuracy_of(known);
    ASSERT_TRUE(accuracy.ok()) << to_string(accuracy.errors());
    EXPECT_NEAR(static_cast<double>(accuracy->top1), static_cast<double>(known.right), 1.0);
  }
}

}  // namespace
}  // namespace octavo
