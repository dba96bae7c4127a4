// Sizes under which a model was not lowered: it is lowered for them too, with the bytes of a compilation for each
// alone.
#include <gtest/gtest.h>

#include <filesystem>

#include "api/open_answers.h"
#include "api/open_networks.h"
#include "artifact/artifact.h"
#include "run/access.h"

namespace octavo::v1 {
namespace {

using testing::Dims;
using testing::expect_fixed_answers;

const CompileOptions kRelowered{.precision = Precision::fp32};
const CompileOptions kRelowered8{.precision = Precision::int8, .global_scale = 4.0f, .allow_reference = true};

// As `llama` is exported: products of [batch, length, 32] by matrices that something of [32] or [1, 1, 32] is added to.
TEST(Relowered, LengthOneIsASize) {
  const std::string path = testing::write_rows_with_additions("octavo_relowered_rows.onnx");
  const std::vector<Dims> shapes = {{2, 3, 32}, {1, 1, 32}, {1, 7, 32}, {4, 1, 32}, {1, 2, 32}};
  expect_fixed_answers(path, kRelowered, {}, shapes);
  expect_fixed_answers(path, kRelowered8, {}, shapes);
  std::filesystem::remove(path);
}

// The first step of a decoder has no past, a batch may be empty.
TEST(Relowered, NoneIsASize) {
  const std::string path = testing::write_decoder_step("octavo_relowered_step.onnx");
  const std::vector<Dims> shapes = {{1, 0, 16}, {1, 5, 16}, {3, 0, 16}, {0, 4, 16}, {1, 1, 16}, {0, 0, 16}};
  expect_fixed_answers(path, kRelowered, {}, shapes);
  expect_fixed_answers(path, kRelowered8, {}, shapes);
  std::filesystem::remove(path);
  for (const auto write : {testing::write_rows_with_additions, testing::write_encoder, testing::write_pyramid}) {
    const std::string other = write("octavo_relowered_none.onnx");
    const bool is_picture = write == testing::write_pyramid;
    const auto empty = is_picture ? std::vector<Dims>{{0, 3, 20, 24}, {2, 3, 16, 16}}
                                  : std::vector<Dims>{{0, 3, 32}, {2, 0, 32}, {2, 5, 32}};
    expect_fixed_answers(other, kRelowered, {}, empty);
    expect_fixed_answers(other, kRelowered8, {}, empty);
    std::filesystem::remove(other);
  }
}

// A graph that broadcasts, slices and pads by what sizes are: each shape lowers it another way.
TEST(Relowered, OtherAnswersLowerItAnew) {
  const std::string path = testing::write_size_decisions("octavo_relowered_decisions.onnx");
  std::vector<Dims> shapes;
  for (const std::int64_t batch : {1, 2, 5}) {
    for (const std::int64_t length : {1, 2, 8, 31, 48}) shapes.push_back({batch, length, 16});
  }
  for (const CompileOptions& options : {kRelowered, kRelowered8}) {
    const auto compiled = compile(path, options);
    ASSERT_TRUE(compiled) << to_string(compiled.errors());
    // As the example is read, and without rows.
    EXPECT_EQ(Access::of(*compiled).network->unlowered.size(), 2u);
    expect_fixed_answers(path, options, {}, shapes);
  }
  std::filesystem::remove(path);
}

// Plans that a file has from the beginning, too.
TEST(Relowered, PlannedShapesAreLoweredAnew) {
  const std::string path = testing::write_rows_with_additions("octavo_relowered_planned.onnx");
  CompileOptions options = kRelowered;
  options.planned_shapes = {{{"x", {2, 3, 32}}}, {{"x", {1, 1, 32}}}};
  const auto model = testing::loaded(compile(path, options));
  ASSERT_TRUE(model) << to_string(model.errors());
  for (const Dims& shape : std::vector<Dims>{{1, 1, 32}, {2, 3, 32}}) {
    auto context = Context::create(*model, {&shape, 1});
    ASSERT_TRUE(context) << to_string(context.errors());
    EXPECT_TRUE(testing::answer(*context, 3) == testing::fixed_answer(path, kRelowered, "x", shape, 3));
  }
  EXPECT_EQ(model->plan_cache().made, 0u);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace octavo::v1
