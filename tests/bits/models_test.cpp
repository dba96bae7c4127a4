// Real models: the same bits everywhere, a kernel of its own for every operator, no float but what is stated. Part of
// the tests of whole models. The models lie outside the project, at $OCTAVO_DATA or ../shared/data; without them these
// tests are skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "bits/same_bits.h"
#include "import/import.h"

namespace octavo::testing {
namespace {

namespace fs = std::filesystem;

fs::path models_folder() {
  const char* folder = std::getenv("OCTAVO_DATA");
  return (folder != nullptr ? fs::path(folder) : fs::path(OCTAVO_SOURCE_DIR) / ".." / "shared" / "data") / "models";
}

// Octavo does not read these yet.
const std::set<std::string> kRefused = {"minilm_l6_v2_fp32"};

// Every .onnx and .tflite file there that Octavo reads, sorted; quantized ones, all, or instead those in kRefused.
enum class Which { all, quantized, refused };
std::vector<fs::path> model_files(Which which) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(models_folder(), none)) {
    if (entry.path().extension() != ".onnx" && entry.path().extension() != ".tflite") continue;
    if (kRefused.contains(entry.path().stem().string()) != (which == Which::refused)) continue;
    if (which == Which::quantized) {
      const auto imported = import_model(entry.path().string(), {});
      if (!imported || !imported->is_quantized) continue;
    }
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// ImageNet models, by the size of their input.
bool is_big(const fs::path& file) {
  const auto imported = import_model(file.string(), {});
  return imported.ok() && imported->graph.fact(imported->graph.inputs().front()).shape.elements() > 100000;
}

// Their reshapes have the batch of 1 written in them.
bool fixes_batch(const fs::path& file) { return file.stem() == "mnist" || file.stem() == "ultraface_slim320_fp32"; }

// Float nodes of the int8 plan. What is not listed has none.
const std::map<std::string, std::vector<std::string>> kIslands = {
    // Octavo's own quantizer leaves a final softmax in float, and a mean right before it.
    {"mlperf_ic_resnet8_fp32", {"Identity (softmax)"}},
    {"mlperf_kws_dynamic_range", {"Identity (softmax)"}},
    {"mlperf_vww96_fp32", {"Identity (softmax)"}},
    {"mobilenet_v1_0.25_224_fp32", {"softmax_58_n (softmax)"}},
    {"squeezenet1_1_fp32", {"pool10_1 (reduce)", "softmaxout_1_intermediate (softmax)"}},
    {"ultraface_slim320_fp32", {"scores (softmax)"}},
};

std::vector<std::string> without_reasons(std::vector<std::string> islands) {
  for (std::string& island : islands) island = island.substr(0, island.find(':'));
  return islands;
}

void expect_own_kernels(const fs::path& file, const v1::CompileOptions& options,
                        const std::vector<std::string>& islands) {
  const auto compiled = v1::compile(file.string(), options);
  ASSERT_TRUE(compiled.ok()) << to_string(compiled.errors());
  const v1::PlanInfo plan = compiled->info().plans[0];
  EXPECT_EQ(plan.kernels.count("reference"), 0u);
  EXPECT_EQ(without_reasons(plan.islands), islands);
}

TEST(RealModels, OnlyKnownOnesAreRefused) {
  const std::vector<fs::path> files = model_files(Which::refused);
  if (files.empty()) GTEST_SKIP() << "needs models at " << models_folder();
  for (const fs::path& file : files) EXPECT_FALSE(import_model(file.string(), {}).ok()) << file << " can be read now";
}

TEST(RealModels, EveryOperatorHasAKernelAndFloatIslandsAreKnown) {
  const std::vector<fs::path> files = model_files(Which::all);
  if (files.empty()) GTEST_SKIP() << "needs models at " << models_folder();
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    const auto known = kIslands.find(file.stem().string());
    expect_own_kernels(file, {.precision = Precision::int8, .samples = random_samples(1), .corrects_biases = false},
                       known == kIslands.end() ? std::vector<std::string>{} : known->second);
    expect_own_kernels(file, {.precision = Precision::fp32}, {});
  }
}

TEST(RealModels, SameBits) {
  const std::vector<fs::path> files = model_files(Which::quantized);
  if (files.empty()) GTEST_SKIP() << "needs models at " << models_folder();
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    Subject subject{.path = file.string()};
    if (is_big(file)) subject.scalar_runs = ScalarRuns::one_sample;
    expect_same_bits(subject);
  }
}

// All of them, fp32 ones calibrated, every variant on the scalar target too.
TEST(RealModels, SameBitsOfEverythingLong) {
  const std::vector<fs::path> files = model_files(Which::all);
  if (files.empty()) GTEST_SKIP() << "needs models at " << models_folder();
  for (const fs::path& file : files) {
    SCOPED_TRACE(file.filename().string());
    expect_same_bits({.path = file.string(),
                      .options = {.samples = random_samples(2), .corrects_biases = false},
                      .batch_is_free = !fixes_batch(file)});
  }
}

}  // namespace
}  // namespace octavo::testing
