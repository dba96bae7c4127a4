// Times of a tuning log in a file of open sizes: plans that a run makes follow them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "artifact/artifact.h"
#include "octavo/compile.h"
#include "run/model.h"

namespace octavo {
namespace {

constexpr std::int64_t kBatch = 3;

class OpenTimes : public ::testing::Test {
 protected:
  // A log of its own for each test: they may run at the same time.
  OpenTimes()
      : log_((std::filesystem::temp_directory_path() /
              (std::string("octavo_open_times_") + ::testing::UnitTest::GetInstance()->current_test_info()->name()))
                 .string()) {
    std::filesystem::remove(log_);
  }
  ~OpenTimes() override { std::filesystem::remove(log_); }

  // A plan for `batches` in the file.
  CompiledModel compiled(std::vector<std::int64_t> batches, TuningMode tuning) const {
    const auto model =
        v1::compile(std::string(OCTAVO_SOURCE_DIR) + "/examples/digits/digits.onnx", {.precision = Precision::int8,
                                                                                      .batches = std::move(batches),
                                                                                      .global_scale = 8.0f,
                                                                                      .tuning_mode = tuning,
                                                                                      .tuning_log = log_});
    EXPECT_TRUE(model) << to_string(model.errors());
    auto parsed = parse_artifact(model->bytes(), "open.octv");
    EXPECT_TRUE(parsed) << to_string(parsed.errors());
    return *std::move(parsed);
  }

  // Kernels of the plan that a run makes.
  static std::vector<std::string> kernels_at(CompiledModel model, std::int64_t batch) {
    Shape input(model.plans[0].input(0).shape);
    std::vector<std::int64_t> dims(input.dims().begin(), input.dims().end());
    dims[0] = batch;
    const auto loaded = load_model(std::move(model), {.threads = 1});
    EXPECT_TRUE(loaded) << to_string(loaded.errors());
    const Shape shape(dims);
    const auto prepared = (*loaded)->plan_for({&shape, 1});
    EXPECT_TRUE(prepared) << to_string(prepared.errors());
    std::vector<std::string> kernels;
    for (const PlanStep& step : (*prepared)->plan->steps) kernels.push_back(step.kernel);
    return kernels;
  }

  const std::string log_;
};

TEST_F(OpenTimes, OverrulePredictionsInARun) {
  compiled({kBatch}, TuningMode::full);
  CompiledModel model = compiled({1}, TuningMode::off);
  std::vector<CallTime>& times = model.network->times;
  ASSERT_TRUE(std::is_sorted(times.begin(), times.end(),
                             [](const CallTime& a, const CallTime& b) { return a.key() < b.key(); }));
  const std::vector<std::string> usual = kernels_at(model, kBatch);
  // A kernel that was measured for a call and that no step has becomes the fastest.
  const auto slower = std::find_if(times.begin(), times.end(), [&](const CallTime& time) {
    return std::find(usual.begin(), usual.end(), time.kernel) == usual.end();
  });
  ASSERT_NE(slower, times.end());
  slower->ns = 0.0;
  const std::vector<std::string> others = kernels_at(model, kBatch);
  EXPECT_NE(std::find(others.begin(), others.end(), slower->kernel), others.end()) << slower->kernel;
  slower->ns = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(kernels_at(model, kBatch).size(), usual.size()) << "a time that is no number is none";
}

TEST_F(OpenTimes, AreOfTheLogAlone) { EXPECT_TRUE(compiled({1}, TuningMode::off).network->times.empty()); }

}  // namespace
}  // namespace octavo
