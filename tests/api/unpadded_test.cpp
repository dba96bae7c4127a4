// Batches run in groups of similar length beside the padded batch.
#include "octavo/unpadded.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "api/open_answers.h"
#include "api/open_networks.h"

namespace octavo::v1 {
namespace {

using testing::Dims;
using testing::loaded;

// A padded batch of the masked encoder, and its answers.
struct Batch {
  Dims of_mask, of_x, of_mean;
  std::vector<std::int64_t> mask;
  std::vector<float> x, y, mean;

  Batch(const std::vector<std::int64_t>& lengths, std::int64_t padded)
      : of_mask{std::ssize(lengths), padded},
        of_x{std::ssize(lengths), padded, 32},
        of_mean{std::ssize(lengths), 32},
        mask(lengths.size() * static_cast<std::size_t>(padded)),
        x(mask.size() * 32),
        y(x.size(), 7.0f),
        mean(lengths.size() * 32, 7.0f) {
    std::mt19937 random(3);
    for (float& value : x) value = static_cast<float>(random() % 2001) * 0.001f - 1.0f;
    for (std::size_t i = 0; i < lengths.size(); ++i)
      std::fill_n(&mask[i * static_cast<std::size_t>(padded)], lengths[i], 1);
  }
  std::vector<ConstTensorRef> inputs() const {
    return {{DType::s64, of_mask, mask.data()}, {DType::f32, of_x, x.data()}};
  }
  std::vector<TensorRef> outputs() { return {{DType::f32, of_x, y.data()}, {DType::f32, of_mean, mean.data()}}; }
};

class UnpaddedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::write_masked_encoder(std::string("octavo_") +
                                          ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".onnx");
  }
  void TearDown() override { std::filesystem::remove(path_); }
  Model model(CompileOptions options = {.precision = Precision::fp32, .allow_reference = true}) {
    options.allow_reference = true;
    auto made = loaded(compile(path_, options));
    EXPECT_TRUE(made) << to_string(made.errors());
    return *made;
  }
  std::string path_;
};

// Byte for byte, in fp32 with the exact kernels and in integers; zeros behind.
TEST_F(UnpaddedTest, EqualsThePaddedBatch) {
  const std::vector<std::int64_t> lengths = {5, 61, 1, 8, 9, 61, 0, 30};
  const std::int64_t padded = 61;
  const Model own = model({.precision = Precision::int8, .global_scale = 4.0f});
  auto unpadded = Unpadded::create(own, "mask");
  ASSERT_TRUE(unpadded) << to_string(unpadded.errors());
  Batch found(lengths, padded), wanted(lengths, padded);
  for (int again = 0; again < 2; ++again) {
    const Status done = unpadded->run(found.inputs(), found.outputs());
    ASSERT_TRUE(done) << to_string(done.errors());
  }
  EXPECT_GE(unpadded->tokens(), 175);
  EXPECT_LT(unpadded->tokens(), 61 * 7);
  const std::vector<Dims> shapes = {wanted.of_mask, wanted.of_x};
  auto context = Context::create(own, shapes);
  ASSERT_TRUE(context) << to_string(context.errors());
  ASSERT_TRUE(context->run(wanted.inputs(), wanted.outputs()));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto length = static_cast<std::size_t>(lengths[i]) * 32, row = i * static_cast<std::size_t>(padded) * 32;
    EXPECT_EQ(std::memcmp(&found.y[row], &wanted.y[row], length * sizeof(float)), 0) << i;
    for (std::size_t k = length; k < static_cast<std::size_t>(padded) * 32; ++k) ASSERT_EQ(found.y[row + k], 0.0f);
    if (length > 0) EXPECT_EQ(std::memcmp(&found.mean[i * 32], &wanted.mean[i * 32], 32 * sizeof(float)), 0) << i;
    else EXPECT_EQ(found.mean[i * 32], 0.0f);
  }
}

TEST_F(UnpaddedTest, RefusesInWords) {
  const Model own = model();
  const auto refusal = [](const auto& result) { return result ? std::string("none") : to_string(result.errors()); };
  EXPECT_NE(refusal(Unpadded::create(own, "nobody")).find("one of the inputs 'mask', 'x'"), std::string::npos);
  EXPECT_NE(refusal(Unpadded::create(own, "x")).find("integers or booleans [batch, tokens]"), std::string::npos);
  const Model fixed = model({.precision = Precision::fp32, .shapes = {{"x", {2, 16, 32}}, {"mask", {2, 16}}}});
  EXPECT_NE(refusal(Unpadded::create(fixed, "mask")).find("whose sizes are open"), std::string::npos);

  auto unpadded = Unpadded::create(own, "mask");
  ASSERT_TRUE(unpadded);
  Batch batch({3, 9}, 12);
  EXPECT_NE(refusal(unpadded->run({}, batch.outputs())).find("0 inputs and 2 outputs"), std::string::npos);
  batch.mask[5] = 1;
  EXPECT_NE(
      refusal(unpadded->run(batch.inputs(), batch.outputs())).find("row 0: found a token at 5 behind padding at 3"),
      std::string::npos);
  batch.mask[5] = 0;
  batch.of_x[1] = 11;
  EXPECT_NE(refusal(unpadded->run(batch.inputs(), batch.outputs())).find("of the mask's sizes 2 and 12"),
            std::string::npos);
  batch.of_x[1] = 12;
  batch.of_mean[1] = 31;
  EXPECT_NE(refusal(unpadded->run(batch.inputs(), batch.outputs())).find("'mean'"), std::string::npos);
  batch.of_mean[1] = 32;
  EXPECT_EQ(refusal(unpadded->run(batch.inputs(), batch.outputs())), "none");
}

}  // namespace
}  // namespace octavo::v1
