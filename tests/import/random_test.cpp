// Random operators: what decides the numbers, and how they are distributed. Part of the tests of import/.
#include <gtest/gtest.h>

#include <cmath>

#include "import/one_operator.h"
#include "ops/evaluate.h"

namespace octavo::testing {
namespace {

ModelBuilder random_model(const std::string& op, const std::vector<std::string>& inputs,
                          const std::string& name = "r") {
  ModelBuilder builder(17);
  for (const std::string& input : inputs) builder.input(input, DType::f32, {40, 50});
  builder.node({op, inputs, {"y"}, {}, "", name}).output("y");
  return builder;
}

void set_number(ModelBuilder& builder, const std::string& name, float value) {
  auto& attribute = *builder.proto().mutable_graph()->mutable_node(0)->add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}

std::vector<float> drawn(const ModelBuilder& builder, std::optional<std::uint64_t> seed, const std::vector<Tensor>& x) {
  const auto model = builder.import({.seed = seed});
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : to_string(model.errors()));
  if (!model) return {};
  return as_floats((*evaluate(model->graph, x))[0]);
}

double mean_of(const std::vector<float>& values) {
  double sum = 0.0;
  for (const float value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

const std::vector<Tensor> kZeros{Tensor(DType::f32, Shape{40, 50})};

TEST(Random, SeedsDecide) {
  const ModelBuilder builder = random_model("RandomNormalLike", {"x"});
  const auto first = drawn(builder, 7, kZeros);
  EXPECT_EQ(first, drawn(builder, 7, kZeros));
  EXPECT_NE(first, drawn(builder, 8, kZeros));
  EXPECT_NE(first, drawn(random_model("RandomNormalLike", {"x"}, "another"), 7, kZeros));
  EXPECT_EQ(drawn(builder, {}, kZeros), drawn(builder, {}, kZeros));  // the clock's, once for a process
}

// The file's seed stands above the options', for any name: these numbers stay what they are.
TEST(Random, SeedsOfTheFile) {
  ModelBuilder builder = random_model("RandomUniformLike", {"x"});
  set_number(builder, "seed", 3.0f);
  const auto first = drawn(builder, 7, kZeros);
  EXPECT_EQ(first, drawn(builder, 8, kZeros));
  ModelBuilder normal = random_model("RandomNormalLike", {"x"}, "another");
  set_number(normal, "seed", 3.0f);
  EXPECT_EQ(drawn(normal, {}, kZeros)[0], 0x1.3053fp-6f);
}

TEST(Random, Distributions) {
  ModelBuilder uniform = random_model("RandomUniformLike", {"x"});
  set_number(uniform, "low", -1.0f);
  set_number(uniform, "high", 3.0f);
  const auto numbers = drawn(uniform, 1, kZeros);
  EXPECT_NEAR(mean_of(numbers), 1.0, 0.1);
  for (const float number : numbers) EXPECT_TRUE(number >= -1.0f && number < 3.0f) << number;
  ModelBuilder normal = random_model("RandomNormalLike", {"x"});
  set_number(normal, "mean", 5.0f);
  set_number(normal, "scale", 2.0f);
  std::vector<float> normals = drawn(normal, 1, kZeros);
  EXPECT_NEAR(mean_of(normals), 5.0, 0.2);
  for (float& number : normals) number = (number - 5.0f) * (number - 5.0f);
  EXPECT_NEAR(mean_of(normals), 4.0, 0.5);
  Tensor probabilities(DType::f32, Shape{40, 50});
  for (std::int64_t i = 0; i < 2000; ++i) probabilities.as<float>()[i] = i < 1000 ? 0.0f : 0.3f;
  const auto ones = drawn(random_model("Bernoulli", {"x"}), 1, {probabilities});
  EXPECT_NEAR(mean_of(ones), 0.15, 0.03);
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(ones[i], 0.0f);
}

TEST(Random, Classes) {
  ModelBuilder builder(17);
  builder.input("x", DType::f32, {1, 3}).node({"Multinomial", {"x"}, {"y"}, {}, "", "m"}).output("y");
  auto& attribute = *builder.proto().mutable_graph()->mutable_node(0)->add_attribute();
  attribute.set_name("sample_size");
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(2000);
  const auto model = builder.import({.seed = 1});
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  const Tensor logits = floats({1, 3}, {std::log(0.2f), std::log(0.5f), std::log(0.3f)});
  double counts[3] = {};
  for (const std::int64_t drawn : to_int64s((*evaluate(model->graph, std::vector<Tensor>{logits}))[0].view()))
    counts[drawn] += 1.0 / 2000;
  EXPECT_NEAR(counts[0], 0.2, 0.04);
  EXPECT_NEAR(counts[1], 0.5, 0.04);
  EXPECT_NEAR(counts[2], 0.3, 0.04);
}

TEST(Random, OfTflite) {
  constexpr int kNormal = 146, kUniform = 148;
  for (const int code : {kNormal, kUniform}) {
    const OneOperator given{.code = code,
                            .constants = {s32s({2}, {30, 40})},
                            .kind = tfl::BuiltinOptions::RandomOptions,
                            .options = options_of(tfl::CreateRandomOptions, std::int64_t{3}, std::int64_t{4})};
    const Values numbers = answer_of(given);
    ASSERT_EQ(numbers.size(), 1200u);
    EXPECT_EQ(numbers, answer_of(given));
    EXPECT_NEAR(mean_of(numbers), code == kNormal ? 0.0 : 0.5, 0.1);
  }
}

}  // namespace
}  // namespace octavo::testing
