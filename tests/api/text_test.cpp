// What an encoder does with tokens that are padding, with ids that its table lacks, and with nothing at all: in fp32,
// calibrated, and with rows of scales of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "api/open_answers.h"
#include "support/onnx_builder.h"

namespace octavo::v1 {
namespace {

using testing::Dims;
using testing::floats;
using testing::integers;
using testing::loaded;
using testing::ModelBuilder;
using Ids = std::vector<std::int64_t>;

constexpr std::int64_t kTokens = 6, kWidth = 16, kWords = 300;

// ids, mask [N, 6] -> [N, 6, 16]: one head of attention, to whose scores a bias of positions and a mask of padding are
// added together.
class Encoder {
 public:
  Encoder() {
    builder_.input("ids", DType::s64, {-1, kTokens});
    builder_.input("mask", DType::s64, {-1, kTokens});
    node("Gather", {weights("words", {kWords, kWidth}), "ids"}, "x");
    node("MatMul", {"x", weights("wq", {kWidth, kWidth})}, "q");
    node("MatMul", {"x", weights("wk", {kWidth, kWidth})}, "k");
    node("MatMul", {"x", weights("wv", {kWidth, kWidth})}, "v");
    node("Transpose", {"k"}, "turned", {{"perm", Ids{0, 2, 1}}});
    node("MatMul", {"q", "turned"}, "scores");
    builder_.initializer("axis", integers({1}, {1}));
    builder_.initializer("none", integers({}, {0}));
    builder_.initializer("zero", floats({}, {0.0f}));
    builder_.initializer("barred", floats({}, {-3.4e38f}));
    node("Unsqueeze", {"mask", "axis"}, "keys");
    node("Equal", {"keys", "none"}, "is_padding");
    node("Where", {"is_padding", "barred", "zero"}, "padding");
    node("Add", {weights("positions", {1, kTokens, kTokens}), "padding"}, "added");
    node("Add", {"scores", "added"}, "masked");
    node("Softmax", {"masked"}, "shares", {{"axis", std::int64_t{-1}}});
    node("MatMul", {"shares", "v"}, "seen");
    node("MatMul", {"seen", weights("wo", {kWidth, kWidth})}, "y");
    builder_.output("y");
    std::ofstream(path_, std::ios::binary) << builder_.bytes();
  }
  ~Encoder() { std::filesystem::remove(path_); }

  Result<Model> compiled(const CompileOptions& options) const { return loaded(compile(path_, options)); }

 private:
  std::string weights(const std::string& name, const Shape& shape) {
    std::normal_distribution<float> normal(0.0f, 0.4f);
    Tensor tensor(DType::f32, shape);
    for (float& value : tensor.span<float>()) value = normal(random_);
    builder_.initializer(name, tensor);
    return name;
  }
  void node(const std::string& op, std::vector<std::string> inputs, const std::string& output,
            std::vector<testing::NamedAttribute> attributes = {}) {
    builder_.node({.op = op, .inputs = std::move(inputs), .outputs = {output}, .attributes = std::move(attributes)});
  }

  ModelBuilder builder_{17};
  std::mt19937 random_{5};
  std::string path_ =
      (std::filesystem::temp_directory_path() /
       ("octavo_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".onnx"))
          .string();
};

// Sentences without padding.
CompileOptions calibrated() {
  const auto fill = [](std::int64_t index, std::span<const TensorRef> inputs) {
    std::mt19937 random(static_cast<unsigned>(index));
    for (std::int64_t i = 0; i < kTokens; ++i) {
      static_cast<std::int64_t*>(inputs[0].data)[i] = static_cast<std::int64_t>(random() % kWords);
      static_cast<std::int64_t*>(inputs[1].data)[i] = 1;
    }
    return ok_status();
  };
  return {.samples = {.count = 8, .fill = fill}};
}

std::vector<CompileOptions> all_modes() {
  return {{.precision = Precision::fp32}, calibrated(), {.activations = Activations::per_token}};
}

std::vector<float> text_answer(const Model& model, const Ids& ids, const Ids& mask) {
  const Dims shape{1, kTokens};
  auto context = Context::create(model, std::vector<Dims>{shape, shape});
  EXPECT_TRUE(context) << to_string(context.errors());
  std::vector<float> y(kTokens * kWidth);
  if (!context) return y;
  const ConstTensorRef inputs[] = {{DType::s64, shape, ids.data()}, {DType::s64, shape, mask.data()}};
  const TensorRef output{DType::f32, context->outputs()[0].shape, y.data()};
  const Status status = context->run(inputs, {&output, 1});
  EXPECT_TRUE(status) << to_string(status.errors());
  return y;
}

TEST(Text, PaddingIsSeenByNobody) {
  const Encoder encoder;
  for (const CompileOptions& options : all_modes()) {
    const auto model = encoder.compiled(options);
    ASSERT_TRUE(model) << to_string(model.errors());
    const Ids mask{1, 1, 1, 1, 0, 0}, ones(kTokens, 1);
    const auto valid = [&](const Ids& ids, const Ids& by) {
      auto y = text_answer(*model, ids, by);
      y.resize(4 * kWidth);
      return y;
    };
    const Ids some{5, 9, 70, 211, 0, 0}, other{5, 9, 70, 211, 13, 299};
    EXPECT_EQ(valid(some, mask), valid(other, mask));
    EXPECT_NE(valid(some, ones), valid(other, ones));
  }
}

// All keys have the same weight then: the fill is beyond any score.
TEST(Text, MasksWithoutOnesHaveAnAnswer) {
  const Encoder encoder;
  for (const CompileOptions& options : all_modes()) {
    const auto model = encoder.compiled(options);
    ASSERT_TRUE(model) << to_string(model.errors());
    const auto y = text_answer(*model, {5, 9, 70, 211, 13, 299}, Ids(kTokens, 0));
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_TRUE(std::isfinite(y[i]));
      EXPECT_EQ(y[i], y[i % kWidth]) << "rows of equal weights are equal";
    }
  }
}

// They count from the end where they are negative; beyond either end they are the row there.
TEST(Text, IdsThatTheTableLacksAreItsEnds) {
  const Encoder encoder;
  for (const CompileOptions& options : all_modes()) {
    const auto model = encoder.compiled(options);
    ASSERT_TRUE(model) << to_string(model.errors());
    const Ids ones(kTokens, 1);
    const std::int64_t far = std::int64_t{1} << 62;
    EXPECT_EQ(text_answer(*model, {kWords, far, -1, -kWords - 1, -far, 7}, ones),
              text_answer(*model, {299, 299, 299, 0, 0, 7}, ones));
  }
}

TEST(Text, ShapesThatDoNotFitAreErrorsBeforeTheRun) {
  const Encoder encoder;
  for (const CompileOptions& options : all_modes()) {
    const auto model = encoder.compiled(options);
    ASSERT_TRUE(model) << to_string(model.errors());
    const auto refused = [&](const Dims& ids, const Dims& mask, const std::string& part) {
      const auto context = Context::create(*model, std::vector<Dims>{ids, mask});
      ASSERT_FALSE(context) << part;
      EXPECT_EQ(context.errors()[0].kind, ErrorKind::usage);
      EXPECT_NE(to_string(context.errors()).find(part), std::string::npos) << to_string(context.errors());
    };
    EXPECT_TRUE(Context::create(*model, std::vector<Dims>{{0, kTokens}, {0, kTokens}}));  // of no texts
    refused({1, 0}, {1, 0}, "input 'ids', dimension 1: found 0 (1x0), expected 6");
    refused({1, kTokens}, {1, kTokens - 1}, "input 'mask', dimension 1: found 5 (1x5), expected 6");
    refused({2, kTokens}, {1, kTokens}, "input 'mask', dimension 0: found 1 (1x6), expected 2");
  }
}

// By what it is recognised as, or by what the file writes.
TEST(Text, AttentionMayStayInFloat) {
  const Encoder encoder;
  const auto kernels_with = [&](const std::vector<std::string>& skipped, const std::string& part) {
    CompileOptions options = calibrated();
    options.skip = skipped;
    const auto model = encoder.compiled(options);
    EXPECT_TRUE(model) << to_string(model.errors());
    const Dims shape{1, kTokens};
    const auto context = Context::create(*model, std::vector<Dims>{shape, shape});
    EXPECT_TRUE(context) << to_string(context.errors());
    const auto kernels = context->plan().kernels;
    return std::count_if(kernels.begin(), kernels.end(),
                         [&](const auto& kernel) { return kernel.first.find(part) != std::string::npos; });
  };
  EXPECT_EQ(kernels_with({}, "attention_q8"), 1);
  EXPECT_EQ(kernels_with({"type:attention"}, "attention_q8"), 0);
  EXPECT_EQ(kernels_with({"type:attention"}, "attention_f32"), 1);
  EXPECT_EQ(kernels_with({"type:Softmax"}, "attention"), 1);
}

}  // namespace
}  // namespace octavo::v1
