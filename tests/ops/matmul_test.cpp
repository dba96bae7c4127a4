// matmul, matmul_integer and quantized_matmul.
#include "ops/matmul/matmul.h"

#include "ops/matmul_integer/matmul_integer.h"
#include "ops/quantized_matmul/quantized_matmul.h"
#include "ops_test.h"
#include "ort_vectors.h"

namespace octavo::ops_test {
namespace {

TEST(Matmul, FollowsNumpyShapes) {
  const auto shape = [](Shape a, Shape b) {
    return run(kMatmul, NoAttrs{}, {iota<float>(std::move(a)), iota<float>(std::move(b))}).shape();
  };
  EXPECT_EQ(shape({3}, {3}), Shape{});
  EXPECT_EQ(shape({3}, {3, 4}), (Shape{4}));
  EXPECT_EQ(shape({2, 3}, {3}), (Shape{2}));
  EXPECT_EQ(shape({5, 1, 2, 3}, {7, 3, 4}), (Shape{5, 7, 2, 4}));
  EXPECT_EQ(shape({2, 3, 4}, {4}), (Shape{2, 3}));
}

TEST(Matmul, BroadcastsTheBatch) {
  const Tensor a = iota<float>({2, 1, 1, 2});  // [[0,1]], [[2,3]]
  const Tensor b = iota<float>({3, 2, 1});     // [0;1] [2;3] [4;5]
  EXPECT_EQ(values<float>(run(kMatmul, NoAttrs{}, {a, b})), (std::vector<float>{1, 3, 5, 3, 13, 23}));
}

TEST(Matmul, IntegersWrap) {
  const Tensor a = Tensor::of<std::int32_t>({1, 2}, std::vector<std::int32_t>{2147483647, 1});
  const Tensor b = Tensor::of<std::int32_t>({2, 1}, std::vector<std::int32_t>{2, 3});
  EXPECT_EQ(values<std::int32_t>(run(kMatmul, NoAttrs{}, {a, b})), (std::vector<std::int32_t>{1}));
}

TEST(Matmul, OfNothingIsZero) {
  const Tensor y = run(kMatmul, NoAttrs{}, {Tensor(DType::f32, {2, 0}), Tensor(DType::f32, {0, 2})});
  EXPECT_EQ(values<float>(y), (std::vector<float>(4, 0.0f)));
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(refuses(kMatmul, NoAttrs{}, {fact(DType::f32, {2, 3}), fact(DType::f32, {4, 2})}));
  EXPECT_TRUE(refuses(kMatmul, NoAttrs{}, {fact(DType::f32, {2, 2, 3}), fact(DType::f32, {3, 3, 2})}));
  EXPECT_TRUE(refuses(kMatmul, NoAttrs{}, {fact(DType::f32, {}), fact(DType::f32, {1, 2})}));
  EXPECT_TRUE(refuses(kMatmul, NoAttrs{}, {fact(DType::f32, {2, 3}), fact(DType::f64, {3, 2})}));
  EXPECT_TRUE(refuses(kMatmul, NoAttrs{}, {fact(DType::u8, {2, 3}), fact(DType::u8, {3, 2})}));
  EXPECT_TRUE(refuses(kMatmul, NoAttrs{}, {fact(DType::f32, {1 << 20, 1}), fact(DType::f32, {1, 1 << 20})}));
}

TEST(MatmulInteger, SubtractsZeroPointsPerRowAndColumn) {
  const Tensor a = Tensor::of<std::uint8_t>({2, 2}, std::vector<std::uint8_t>{10, 20, 30, 40});
  const Tensor b = Tensor::of<std::int8_t>({2, 3}, std::vector<std::int8_t>{1, 2, 3, 4, 5, 6});
  const Tensor a_zeros = Tensor::of<std::uint8_t>({2}, std::vector<std::uint8_t>{10, 30});
  const Tensor b_zeros = Tensor::of<std::int8_t>({3}, std::vector<std::int8_t>{1, 0, -1});
  const Tensor y = run(kMatmulInteger, NoAttrs{}, {a, b, a_zeros, b_zeros});
  EXPECT_EQ(values<std::int32_t>(y), (std::vector<std::int32_t>{30, 50, 70, 30, 50, 70}));
}

TEST(MatmulInteger, RefusesZeroPointsThatDoNotFit) {
  const Fact a = fact(DType::u8, {2, 4});
  const Fact b = fact(DType::s8, {4, 3});
  EXPECT_FALSE(refuses(kMatmulInteger, NoAttrs{}, {a, b, fact(DType::u8, {2}), fact(DType::s8, {3})}));
  EXPECT_TRUE(refuses(kMatmulInteger, NoAttrs{}, {a, b, fact(DType::u8, {4})}));
  EXPECT_TRUE(refuses(kMatmulInteger, NoAttrs{}, {a, b, fact(DType::s8, {})}));
  EXPECT_TRUE(refuses(kMatmulInteger, NoAttrs{}, {a, b, fact(DType::u8, {}), fact(DType::s8, {4})}));
}

TEST(QuantizedMatmul, IsWhatOnnxRuntimeComputes) {
  const QuantizedMatmulAttrs attrs{.a_zero_point = 120,
                                   .b_zero_point = -9,
                                   .epilogue = {{Affine{0.013f * 0.021f / 0.05f}, Round{.after = 131}}, DType::u8}};
  const Tensor a = Tensor::of({3, 20}, ort_vectors::kMatmulA);
  const Tensor b = Tensor::of({20, 4}, ort_vectors::kMatmulB);
  EXPECT_EQ(values<std::uint8_t>(run(kQuantizedMatmul, attrs, {a, b})), ort_vectors::kMatmulY);
}

TEST(QuantizedMatmul, RefusesAttributesOutOfRange) {
  const Fact a = fact(DType::u8, {2, 3});
  const Fact b = fact(DType::s8, {3, 4});
  const auto is_refused = [&](const Epilogue& epilogue, std::int32_t a_zero_point = 0, std::int32_t b_zero_point = 0) {
    return refuses(kQuantizedMatmul, QuantizedMatmulAttrs{a_zero_point, b_zero_point, epilogue}, {a, b});
  };
  const Epilogue rounded{{Affine{}, Round{}}, DType::u8};
  EXPECT_FALSE(is_refused(rounded));
  EXPECT_FALSE(is_refused({.to = DType::s32}));
  EXPECT_TRUE(is_refused(rounded, -1));
  EXPECT_TRUE(is_refused(rounded, 0, 128));
  EXPECT_TRUE(is_refused({{Affine{std::numeric_limits<float>::infinity()}, Round{}}, DType::u8}));
  EXPECT_TRUE(is_refused({{Affine{}, Round{}}, DType::f32}));
  EXPECT_TRUE(is_refused({{Affine{}, Round{.lowest = 9, .highest = 8}}, DType::u8}));
}

}  // namespace
}  // namespace octavo::ops_test
