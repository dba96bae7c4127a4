// conv, conv_integer and fused_conv against hand-checked values, and what infer refuses.
#include "ops/conv/conv.h"

#include "ops/conv_integer/conv_integer.h"
#include "ops/fused_conv/fused_conv.h"
#include "ops_test.h"

namespace octavo::ops_test {
namespace {

Window conv_square(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return {{kernel, kernel}, {stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
}

TEST(Conv, SumsTheWindowAndSkipsThePadding) {
  const Tensor x = iota<float>({1, 1, 3, 3});
  const Tensor w = Tensor::of<float>({1, 1, 3, 3}, std::vector<float>(9, 1.0f));
  const Tensor bias = Tensor::of<float>({1}, std::vector<float>{0.5f});
  const Tensor y = run(kConv, ConvAttrs{.window = conv_square(3, 1, 1)}, {x, w, bias});
  EXPECT_EQ(values<float>(y), (std::vector<float>{8.5f, 15.5f, 12.5f, 21.5f, 36.5f, 27.5f, 20.5f, 33.5f, 24.5f}));
}

TEST(Conv, IsTheSameInBothLayouts) {
  const Tensor first = iota<float>({2, 4, 3, 5});
  Tensor last(DType::f32, {2, 3, 5, 4});
  Tensor w_first(DType::f32, {6, 2, 2, 3});
  Tensor w_last(DType::f32, {6, 2, 3, 2});
  for (int n = 0; n < 2; ++n) {
    for (int c = 0; c < 4; ++c) {
      for (int i = 0; i < 15; ++i) last.as<float>()[(n * 15 + i) * 4 + c] = first.as<float>()[(n * 4 + c) * 15 + i];
    }
  }
  for (int o = 0; o < 6; ++o) {
    for (int c = 0; c < 2; ++c) {
      for (int i = 0; i < 6; ++i) {
        const auto value = static_cast<float>((o * 7 + c * 3 + i) % 11 - 5);
        w_first.as<float>()[(o * 2 + c) * 6 + i] = value;
        w_last.as<float>()[(o * 6 + i) * 2 + c] = value;
      }
    }
  }
  const Window window{{2, 3}, {2, 1}, {1, 2}, {1, 0}, {0, 2}};
  const Tensor a = run(kConv, ConvAttrs{.window = window, .groups = 2}, {first, w_first});
  const Tensor b =
      run(kConv, ConvAttrs{.window = window, .groups = 2, .layout = Layout::channels_last}, {last, w_last});
  ASSERT_EQ(a.shape(), (Shape{2, 6, 2, 3}));
  ASSERT_EQ(b.shape(), (Shape{2, 2, 3, 6}));
  for (int n = 0; n < 2; ++n) {
    for (int c = 0; c < 6; ++c) {
      for (int i = 0; i < 6; ++i) EXPECT_EQ(a.as<float>()[(n * 6 + c) * 6 + i], b.as<float>()[(n * 6 + i) * 6 + c]);
    }
  }
}

TEST(Conv, HandlesOneSpatialAxis) {
  const Tensor x = iota<float>({1, 1, 5});
  const Tensor w = Tensor::of<float>({1, 1, 2}, std::vector<float>{1.0f, 10.0f});
  const Window window{{2}, {2}, {2}, {0}, {0}};
  EXPECT_EQ(values<float>(run(kConv, ConvAttrs{.window = window}, {x, w})), (std::vector<float>{20.0f, 42.0f}));
}

TEST(Conv, RefusesWhatDoesNotFit) {
  const ConvAttrs good{.window = conv_square(3, 1, 0)};
  const Fact x = fact(DType::f32, {1, 4, 8, 8});
  const Fact w = fact(DType::f32, {6, 4, 3, 3});
  EXPECT_FALSE(refuses(kConv, good, {x, w, fact(DType::f32, {6})}));
  EXPECT_TRUE(refuses(kConv, good, {fact(DType::u8, {1, 4, 8, 8}), w}));
  EXPECT_TRUE(refuses(kConv, good, {fact(DType::f32, {1, 4, 2, 8}), w}));
  EXPECT_TRUE(refuses(kConv, good, {fact(DType::f32, {1, 4}), fact(DType::f32, {6, 4})}));
  EXPECT_TRUE(refuses(kConv, good, {x, fact(DType::f32, {6, 3, 3, 3})}));
  EXPECT_TRUE(refuses(kConv, good, {x, fact(DType::f32, {6, 4, 3, 2})}));
  EXPECT_TRUE(refuses(kConv, good, {x, fact(DType::f16, {6, 4, 3, 3})}));
  EXPECT_TRUE(refuses(kConv, good, {x, w, fact(DType::f32, {5})}));
  EXPECT_TRUE(refuses(kConv, good, {x, fact(DType::f32, {0, 4, 3, 3})}));
  EXPECT_TRUE(refuses(kConv, ConvAttrs{.window = conv_square(3, 0, 0)}, {x, w}));
  EXPECT_TRUE(refuses(kConv, ConvAttrs{.window = conv_square(3, 1, -1)}, {x, w}));
  EXPECT_TRUE(refuses(kConv, ConvAttrs{.window = conv_square(3, 1, 0), .groups = 0}, {x, w}));
  EXPECT_TRUE(
      refuses(kConv, ConvAttrs{.window = conv_square(3, 1, 0), .groups = 4}, {x, fact(DType::f32, {6, 1, 3, 3})}));
  EXPECT_TRUE(refuses(kConv, ConvAttrs{.window = {{3}, {1}, {1}, {0}, {0}}}, {x, w}));
  EXPECT_TRUE(
      refuses(kConv, ConvAttrs{.window = conv_square(3, 1, std::int64_t{1} << 30)}, {x, w}));  // too many elements
}

TEST(ConvInteger, SubtractsBothZeroPoints) {
  const Tensor x = Tensor::of<std::uint8_t>({1, 1, 2, 2}, std::vector<std::uint8_t>{0, 128, 255, 1});
  const Tensor w = Tensor::of<std::uint8_t>({2, 1, 1, 1}, std::vector<std::uint8_t>{255, 0});
  const Tensor x_zero = Tensor::scalar<std::uint8_t>(128);
  const Tensor w_zeros = Tensor::of<std::uint8_t>({2}, std::vector<std::uint8_t>{0, 255});
  const Tensor y = run(kConvInteger, ConvIntegerAttrs{.window = conv_square(1, 1, 0)}, {x, w, x_zero, w_zeros});
  EXPECT_EQ(values<std::int32_t>(y), (std::vector<std::int32_t>{-32640, 0, 32385, -32385, 32640, 0, -32385, 32385}));
}

TEST(ConvInteger, PaddingCountsAsTheZeroPoint) {
  const Tensor x = Tensor::of<std::int8_t>({1, 1, 1, 1}, std::vector<std::int8_t>{-128});
  const Tensor w = Tensor::of<std::int8_t>({1, 1, 3, 3}, std::vector<std::int8_t>(9, -128));
  const Tensor y =
      run(kConvInteger, ConvIntegerAttrs{.window = conv_square(3, 1, 1)}, {x, w, Tensor::scalar<std::int8_t>(-1)});
  EXPECT_EQ(values<std::int32_t>(y), (std::vector<std::int32_t>{127 * 128}));
}

TEST(ConvInteger, RefusesWhatDoesNotFit) {
  const ConvIntegerAttrs attrs{.window = conv_square(1, 1, 0)};
  const Fact x = fact(DType::u8, {1, 4, 8, 8});
  const Fact w = fact(DType::s8, {6, 4, 1, 1});
  EXPECT_FALSE(refuses(kConvInteger, attrs, {x, w, fact(DType::u8, {}), fact(DType::s8, {6})}));
  EXPECT_TRUE(refuses(kConvInteger, attrs, {fact(DType::f32, {1, 4, 8, 8}), w}));
  EXPECT_TRUE(refuses(kConvInteger, attrs, {x, fact(DType::s16, {6, 4, 1, 1})}));
  EXPECT_TRUE(refuses(kConvInteger, attrs, {x, w, fact(DType::s8, {})}));
  EXPECT_TRUE(refuses(kConvInteger, attrs, {x, w, fact(DType::u8, {4})}));
  EXPECT_TRUE(refuses(kConvInteger, attrs, {x, w, fact(DType::u8, {}), fact(DType::s8, {4})}));
}

TEST(FusedConv, AddsBiasAndResidualBeforeTheActivationOrAfterIt) {
  FusedConvAttrs attrs{.window = conv_square(1, 1, 0),
                       .activation = {.kind = UnaryKind::relu},
                       .residual = ResidualPlace::before_activation};
  const Tensor x = Tensor::of<float>({1, 1, 2, 1}, std::vector<float>{1.0f, 2.0f});
  const Tensor w = Tensor::of<float>({2, 1, 1, 1}, std::vector<float>{3.0f, -3.0f});
  const Tensor bias = Tensor::of<float>({2}, std::vector<float>{0.5f, 0.25f});
  const Tensor residual = Tensor::of<float>({1, 1, 2, 2}, std::vector<float>{-10.0f, 10.0f, 1.0f, 1.0f});
  EXPECT_EQ(values<float>(run(kFusedConv, attrs, {x, w, bias, residual})),
            (std::vector<float>{0.0f, 7.25f, 7.5f, 0.0f}));
  attrs.residual = ResidualPlace::after_activation;
  EXPECT_EQ(values<float>(run(kFusedConv, attrs, {x, w, bias, residual})),
            (std::vector<float>{-6.5f, 10.0f, 7.5f, 1.0f}));
}

TEST(FusedConv, RefusesWhatDoesNotFit) {
  const FusedConvAttrs attrs{.window = conv_square(1, 1, 0), .residual = ResidualPlace::before_activation};
  const Fact x = fact(DType::f32, {1, 2, 2, 4});
  const Fact w = fact(DType::f32, {8, 1, 1, 4});
  const Fact bias = fact(DType::f32, {8});
  EXPECT_FALSE(refuses(kFusedConv, attrs, {x, w, bias, fact(DType::f32, {1, 2, 2, 8})}));
  EXPECT_TRUE(refuses(kFusedConv, attrs, {x, w, bias}));
  EXPECT_TRUE(refuses(kFusedConv, attrs, {x, w, bias, fact(DType::f32, {1, 2, 2, 4})}));
  EXPECT_TRUE(refuses(kFusedConv, FusedConvAttrs{.window = conv_square(1, 1, 0)},
                      {x, w, bias, fact(DType::f32, {1, 2, 2, 8})}));
  EXPECT_TRUE(refuses(kFusedConv, FusedConvAttrs{.window = conv_square(1, 1, 0)}, {x, w, fact(DType::f32, {4})}));
}

}  // namespace
}  // namespace octavo::ops_test
