// resize: coordinates, modes, and what infer refuses.
#include "ops/resize/resize.h"

#include "ops_test.h"
#include "ort_vectors.h"

namespace octavo::ops_test {
namespace {

ResizeAttrs along(ResizeMode mode, ResizeCoordinates coordinates, std::int64_t from, std::int64_t to) {
  return {.mode = mode,
          .coordinates = coordinates,
          .sizes = {to},
          .scales = {static_cast<float>(to) / static_cast<float>(from)}};
}

TEST(Resize, NearestRoundsAsTold) {
  const Tensor x = iota<std::int64_t>({2});
  ResizeAttrs attrs = along(ResizeMode::nearest, ResizeCoordinates::asymmetric, 2, 4);  // 0, 0.5, 1, 1.5
  const auto picked = [&](NearestRounding rounding) {
    attrs.nearest = rounding;
    return values<std::int64_t>(run(kResize, attrs, {x}));
  };
  EXPECT_EQ(picked(NearestRounding::round_prefer_floor), (std::vector<std::int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(picked(NearestRounding::round_prefer_ceil), (std::vector<std::int64_t>{0, 1, 1, 1}));
  EXPECT_EQ(picked(NearestRounding::floor), (std::vector<std::int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(picked(NearestRounding::ceil), (std::vector<std::int64_t>{0, 1, 1, 1}));
}

TEST(Resize, LinearInterpolates) {
  const Tensor x = Tensor::of<float>({2}, std::vector<float>{0, 4});
  EXPECT_EQ(values<float>(run(kResize, along(ResizeMode::linear, ResizeCoordinates::half_pixel, 2, 4), {x})),
            (std::vector<float>{0, 1, 3, 4}));
  EXPECT_EQ(values<float>(run(kResize, along(ResizeMode::linear, ResizeCoordinates::align_corners, 2, 5), {x})),
            (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(values<float>(run(kResize, along(ResizeMode::linear, ResizeCoordinates::asymmetric, 2, 4), {x})),
            (std::vector<float>{0, 2, 4, 4}));
}

TEST(Resize, AntialiasAveragesWhenShrinking) {
  const Tensor x = Tensor::of<float>({4}, std::vector<float>{0, 4, 8, 12});
  ResizeAttrs attrs = along(ResizeMode::linear, ResizeCoordinates::half_pixel, 4, 2);
  attrs.antialias = true;
  const Tensor y = run(kResize, attrs, {x});
  // Weights 1/8 3/8 3/8 1/8, the outermost element standing in for the one outside.
  EXPECT_EQ(values<float>(y), (std::vector<float>{3.0f * 4 / 8 + 8.0f / 8, 4.0f / 8 + 3.0f * 8 / 8 + 4.0f * 12 / 8}));
}

TEST(Resize, CubicKeepsConstantsAndSamples) {
  const Tensor flat = Tensor::of<float>({4}, std::vector<float>(4, 5.0f));
  for (float value : values<float>(run(kResize, along(ResizeMode::cubic, ResizeCoordinates::half_pixel, 4, 7), {flat})))
    EXPECT_FLOAT_EQ(value, 5.0f);
  const Tensor x = Tensor::of<float>({4}, std::vector<float>{1, 2, -3, 4});
  EXPECT_EQ(values<float>(run(kResize, along(ResizeMode::cubic, ResizeCoordinates::align_corners, 4, 4), {x})),
            values<float>(x));
}

TEST(Resize, CropExtrapolates) {
  const Tensor x = Tensor::of<float>({2}, std::vector<float>{1, 3});
  ResizeAttrs attrs = along(ResizeMode::linear, ResizeCoordinates::tf_crop_and_resize, 2, 3);
  attrs.roi = {0.0f, 2.0f};
  attrs.extrapolation_value = -7.0f;
  EXPECT_EQ(values<float>(run(kResize, attrs, {x})), (std::vector<float>{1, 3, -7}));
}

TEST(Resize, EightBitLinearIsWhatOnnxRuntimeComputes) {
  const ResizeAttrs attrs{
      .mode = ResizeMode::linear, .sizes = {1, 1, 5, 7}, .scales = {1.0f, 1.0f, 5.0f / 3.0f, 7.0f / 4.0f}};
  EXPECT_EQ(values<std::uint8_t>(run(kResize, attrs, {Tensor::of({1, 1, 3, 4}, ort_vectors::kResizeX)})),
            ort_vectors::kResizeY);
}

TEST(Resize, RefusesWhatDoesNotFit) {
  const Fact x = fact(DType::f32, {4});
  const auto changed = [](auto change) {
    ResizeAttrs attrs = along(ResizeMode::linear, ResizeCoordinates::half_pixel, 4, 8);
    change(attrs);
    return Attrs(attrs);
  };
  EXPECT_FALSE(refuses(kResize, changed([](auto&) {}), {x}));
  EXPECT_TRUE(refuses(kResize, changed([](auto& a) { a.sizes = {0}, a.scales = {0.0f}; }), {x}));
  EXPECT_FALSE(refuses(kResize, changed([](auto& a) { a.sizes = {0}, a.scales = {0.2f}; }), {x}));
  EXPECT_TRUE(refuses(kResize, changed([](auto& a) { a.sizes = {kMaxElements + 1}; }), {x}));
  EXPECT_TRUE(refuses(kResize, changed([](auto& a) { a.scales = {-1.0f}; }), {x}));
  EXPECT_TRUE(refuses(kResize, changed([](auto& a) { a.scales = {}; }), {x}));
  EXPECT_TRUE(refuses(kResize, changed([](auto& a) { a.roi = {0.0f, 1.0f}; }), {x}));
  EXPECT_TRUE(refuses(kResize, changed([](auto& a) { a.coordinates = ResizeCoordinates::tf_crop_and_resize; }), {x}));
  EXPECT_TRUE(refuses(kResize, changed([](auto& a) { a.antialias = true, a.scales = {1e-30f}; }), {x}));
  EXPECT_TRUE(refuses(kResize, changed([](auto&) {}), {fact(DType::s64, {4})}));
  EXPECT_TRUE(refuses(kResize, changed([](auto&) {}), {fact(DType::f32, {0})}));
}

TEST(Resize, OddScalesCannotOverflow) {
  ResizeAttrs attrs = along(ResizeMode::nearest, ResizeCoordinates::half_pixel, 4, 8);
  attrs.scales = {1e-38f};
  EXPECT_EQ(values<std::int32_t>(run(kResize, attrs, {iota<std::int32_t>({4})})).back(), 3);
}

}  // namespace
}  // namespace octavo::ops_test
