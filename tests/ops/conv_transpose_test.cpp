// conv_transpose: shapes, what it refuses, and the sums themselves.
#include "ops/conv_transpose/conv_transpose.h"

#include "ops_test.h"

namespace octavo::ops_test {
namespace {

ConvTransposeAttrs line(std::int64_t kernel, std::int64_t stride, std::int64_t dilation = 1, Dim begin = 0, Dim end = 0,
                        Dim extra = 0) {
  return {.window = {{kernel}, {stride}, {dilation}, {begin}, {end}}, .output_padding = {extra}};
}

std::vector<float> answer(const ConvTransposeAttrs& attrs, const std::vector<float>& x, const std::vector<float>& w) {
  const auto count = [](const std::vector<float>& list) { return static_cast<std::int64_t>(list.size()); };
  return values<float>(
      run(kConvTranspose, attrs, {Tensor::of<float>({1, 1, count(x)}, x), Tensor::of<float>({1, 1, count(w)}, w)}));
}

TEST(ConvTranspose, AddsUpWhatPixelsSpread) {
  const std::vector<float> x{1, 2, 3}, w{1, 10, 100};
  EXPECT_EQ(answer(line(3, 2), x, w), (std::vector<float>{1, 10, 102, 20, 203, 30, 300}));
  EXPECT_EQ(answer(line(3, 2, 1, 1, 1), x, w), (std::vector<float>{10, 102, 20, 203, 30}));
  EXPECT_EQ(answer(line(3, 2, 1, 1, 1, 1), x, w), (std::vector<float>{10, 102, 20, 203, 30, 300}));
  EXPECT_EQ(answer(line(3, 1, 2), x, w), (std::vector<float>{1, 2, 13, 20, 130, 200, 300}));
  EXPECT_EQ(answer(line(3, 4, 1, 0, 0, 2), x, w), (std::vector<float>{1, 10, 100, 0, 2, 20, 200, 0, 3, 30, 300, 0, 0}));
}

TEST(ConvTranspose, GroupsHaveTheirOwnChannels) {
  ConvTransposeAttrs attrs = line(2, 2);
  attrs.groups = 2;
  const Tensor x = Tensor::of<float>({1, 4, 1}, std::vector<float>{1, 2, 3, 4});
  const Tensor w = Tensor::of<float>({2, 2, 2}, std::vector<float>{1, 2, 10, 20, 100, 200, 1000, 2000});
  const Tensor bias = Tensor::of<float>({2}, std::vector<float>{0.5f, -0.5f});
  EXPECT_EQ(values<float>(run(kConvTranspose, attrs, {x, w, bias})),
            (std::vector<float>{21.5f, 42.5f, 4299.5f, 8599.5f}));
}

TEST(ConvTranspose, RefusesShapesThatDisagree) {
  const Fact x = fact(DType::f32, {1, 2, 5}), w = fact(DType::f32, {3, 2, 2});
  EXPECT_FALSE(refuses(kConvTranspose, line(2, 2), {x, w}));
  EXPECT_TRUE(refuses(kConvTranspose, line(2, 2, 1, 5, 5), {x, w}));
  EXPECT_TRUE(refuses(kConvTranspose, line(3, 2), {x, w}));
  EXPECT_TRUE(refuses(kConvTranspose, line(2, 0), {x, w}));
  EXPECT_TRUE(refuses(kConvTranspose, line(2, 2, 1, 0, 0, -1), {x, w}));
  EXPECT_TRUE(refuses(kConvTranspose, line(2, 2), {fact(DType::f32, {1, 2, 0}), w}));
  EXPECT_TRUE(refuses(kConvTranspose, line(2, 2), {fact(DType::f32, {1, 3, 5}), w}));
  EXPECT_TRUE(refuses(kConvTranspose, line(2, 2), {fact(DType::f32, {2, 5}), w}));
  EXPECT_TRUE(refuses(kConvTranspose, line(2, 2), {fact(DType::u8, {1, 2, 5}), w}));
  EXPECT_TRUE(refuses(kConvTranspose, line(2, 2), {x, w, fact(DType::f32, {2})}));
  ConvTransposeAttrs many = line(2, 2);
  many.output_padding.clear();
  EXPECT_TRUE(refuses(kConvTranspose, many, {x, w}));
  // Results whose elements cannot be counted.
  constexpr std::int64_t kHuge = std::int64_t{1} << 31;
  EXPECT_TRUE(refuses(kConvTranspose, line(2, kHuge), {fact(DType::f32, {1, 2, kHuge}), w}));
  EXPECT_TRUE(refuses(kConvTranspose, line(2, kHuge, kHuge, kHuge, 0, kHuge), {x, w}));
}

}  // namespace
}  // namespace octavo::ops_test
