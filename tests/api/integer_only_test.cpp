// Full-integer models of fp32 files of every format: 8-bit ends, nothing in float, and all that stands in the way
// named. Tests of api/.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "octavo/quantize.h"
#include "support/child.h"
#include "support/tflite_builder.h"

namespace octavo {
namespace {

v1::SampleFunction noise(std::int64_t count) {
  return {.count = count, .fill = [](std::int64_t index, std::span<const v1::TensorRef> inputs) {
            std::mt19937 random(static_cast<unsigned>(index));
            std::size_t elements = 1;
            for (const std::int64_t dim : inputs[0].shape) elements *= static_cast<std::size_t>(dim);
            for (std::size_t i = 0; i < elements; ++i)
              static_cast<float*>(inputs[0].data)[i] = static_cast<float>(random() % 1000) / 500.0f - 1.0f;
            return ok_status();
          }};
}

Result<v1::CompiledModel> integer_only_compile(const std::string& path) {
  return v1::compile(path, {.samples = noise(8), .integer_only = true});
}

// x f32[1x8] -> FULLY_CONNECTED of 4 columns -> SOFTMAX, so many times.
std::string dense_model(int softmaxes) {
  namespace tfl = testing::tfl;
  testing::TfliteBuilder builder;
  std::mt19937 random(1);
  std::vector<float> weights(32);
  for (float& weight : weights) weight = static_cast<float>(random() % 1000) / 1000.0f - 0.5f;
  const int x = builder.input({.name = "x", .shape = {1, 8}});
  int last = builder.tensor({.name = "product", .shape = {1, 4}});
  builder.add(testing::fully_connected({x, builder.constant(Tensor::of<float>(Shape{4, 8}, weights)), -1}, last));
  for (int i = 0; i < softmaxes; ++i) {
    const int y = builder.tensor({.name = "y" + std::to_string(last), .shape = {1, 4}});
    builder.add({.code = 25,
                 .inputs = {last},
                 .outputs = {y},
                 .kind = tfl::BuiltinOptions::SoftmaxOptions,
                 .options = testing::options_of(tfl::CreateSoftmaxOptions, 1.0f)});
    last = y;
  }
  builder.outputs = {last};
  return builder.bytes();
}

void expect_integers(const Result<v1::CompiledModel>& compiled) {
  ASSERT_TRUE(compiled) << to_string(compiled.errors());
  const v1::PlanInfo plan = compiled->info().plans[0];
  EXPECT_TRUE(plan.islands.empty());
  for (const auto* tensors : {&plan.inputs, &plan.outputs}) {
    for (const v1::TensorInfo& tensor : *tensors) {
      EXPECT_EQ(tensor.dtype, DType::u8) << tensor.name;
      EXPECT_EQ(tensor.scale.size(), 1u) << tensor.name;
      EXPECT_EQ(tensor.zero_point.size(), 1u) << tensor.name;
    }
  }
}

TEST(IntegerOnly, Tflite) {
  const testing::ScratchFolder folder;
  folder.write("softmax.tflite", dense_model(1));
  const auto compiled = integer_only_compile(folder.path("softmax.tflite"));
  expect_integers(compiled);
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled->info().plans[0].outputs[0].scale[0], 1.0f / 256.0f);
  EXPECT_EQ(compiled->info().plans[0].outputs[0].zero_point[0], 0);
  EXPECT_EQ(compiled->info().plans[0].inputs[0].name, "x");
}

TEST(IntegerOnly, Pt2AndOnnx) {
  for (const char* file :
       {"/tests/import/pt2/fp32.pt2", "/tests/import/pt2/fp32_core.pt2", "/examples/digits/digits.onnx"})
    expect_integers(integer_only_compile(std::string(OCTAVO_SOURCE_DIR) + file));
}

TEST(IntegerOnly, EveryBatchHasTheSameScales) {
  const auto compiled = v1::compile(OCTAVO_SOURCE_DIR "/examples/digits/digits.onnx",
                                    {.batches = {2, 3}, .samples = noise(4), .integer_only = true});
  ASSERT_TRUE(compiled) << to_string(compiled.errors());
  const auto plans = compiled->info().plans;
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0].inputs[0].scale, plans[1].inputs[0].scale);
  EXPECT_EQ(plans[0].outputs[0].scale, plans[1].outputs[0].scale);
  EXPECT_EQ(plans[0].outputs[0].zero_point, plans[1].outputs[0].zero_point);
}

// Both of them are named.
TEST(IntegerOnly, RefusesWhatStaysInFloat) {
  const testing::ScratchFolder folder;
  folder.write("two.tflite", dense_model(2));
  const auto compiled =
      v1::compile(folder.path("two.tflite"), {.samples = noise(8), .skip = {"type:softmax"}, .integer_only = true});
  ASSERT_FALSE(compiled);
  int named = 0;
  for (const Error& error : compiled.errors()) {
    EXPECT_EQ(error.kind, ErrorKind::unsupported) << error.message();
    named += error.where.find("(softmax)") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(named, 2) << to_string(compiled.errors());
}

}  // namespace
}  // namespace octavo
