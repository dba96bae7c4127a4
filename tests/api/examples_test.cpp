// Examples of sizes that a file leaves open: what its names say, what its constants demand.
#include <gtest/gtest.h>

#include <filesystem>

#include "api/inside.h"
#include "api/open_answers.h"
#include "api/open_networks.h"

namespace octavo::v1 {
namespace {

using testing::Dims;
using testing::expect_fixed_answers;

const CompileOptions kExamples{.precision = Precision::fp32};

// A convolution's weights say how many channels there are, whatever the dimension is called.
TEST(ExamplesOfSizes, WeightsSayChannels) {
  const std::string path = testing::write_patches("octavo_examples_channels.onnx", 5, 0);
  expect_fixed_answers(path, kExamples, {}, {{1, 5, 96, 128}, {2, 5, 40, 64}, {3, 5, 224, 224}});
  std::filesystem::remove(path);
}

// A table of positions has a row for each patch of a picture whose height is its width.
TEST(ExamplesOfSizes, PositionsSayPictures) {
  const std::string path = testing::write_patches("octavo_examples_positions.onnx", 3, 100);
  const auto model = testing::loaded(compile(path, kExamples));
  ASSERT_TRUE(model) << to_string(model.errors());
  for (const Dims& shape : std::vector<Dims>{{1, 3, 80, 80}, {4, 3, 80, 80}, {2, 3, 80, 87}, {1, 3, 40, 160}}) {
    auto context = Context::create(*model, {&shape, 1});
    ASSERT_TRUE(context) << to_string(context.errors());
    EXPECT_TRUE(testing::answer(*context, 3) == testing::fixed_answer(path, kExamples, "x", shape, 3));
  }
  const Dims other = {1, 3, 80, 96};
  EXPECT_FALSE(Context::create(*model, {&other, 1}));
  std::filesystem::remove(path);
}

// Who only wants to time or explain a model gets a plan, and is told of which sizes.
TEST(ExamplesOfSizes, PlansOfExamplesAreToldInNotes) {
  const std::string path = testing::write_encoder("octavo_examples_notes.onnx");
  const auto compiled = compile(ModelSource{path}, kExamples, {.plans_examples = true});
  ASSERT_TRUE(compiled) << to_string(compiled.errors());
  const ModelInfo info = compiled->info();
  ASSERT_EQ(info.plans.size(), 1u);
  EXPECT_EQ(info.plans[0].inputs[0].shape, (Dims{1, 48, 32}));
  ASSERT_FALSE(info.plans[0].notes.empty());
  EXPECT_EQ(info.plans[0].notes.back(), "sizes: none are given, so examples of them: x=1x48x32");
  EXPECT_TRUE(compile(ModelSource{path}, kExamples, {})->info().plans.empty());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace octavo::v1
