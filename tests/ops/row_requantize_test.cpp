// row_requantize against hand-computed values, how near its GELU is, and what infer refuses.
#include "ops/row_requantize/row_requantize.h"

#include <cmath>

#include "ops/unary/unary.h"
#include "ops_test.h"

namespace octavo::ops_test {
namespace {

std::vector<Tensor> requantized(const RowRequantizeAttrs& attrs, const Tensor& x) {
  const std::vector<ConstTensorView> views{x.view()};
  auto made = evaluate_op(kRowRequantize, attrs, views);
  EXPECT_TRUE(made.ok()) << to_string(made.errors());
  return *std::move(made);
}

// 255 steps from the lowest to the highest value and 0; a row of nothing has scale 1 and is its zero point.
TEST(RowRequantize, EachRowHasItsRange) {
  const Tensor x =
      Tensor::of<std::int16_t>({3, 4}, std::vector<std::int16_t>{0, 255, 510, 51, -100, 155, 0, 55, 0, 0, 0, 0});
  const auto made = requantized({.x_scale = 0.5f}, x);
  EXPECT_EQ(values<float>(made[1]), (std::vector<float>{1.0f, 0.5f, 1.0f}));
  EXPECT_EQ(values<std::uint8_t>(made[2]), (std::vector<std::uint8_t>{0, 100, 255}));
  EXPECT_EQ(values<std::uint8_t>(made[0]),
            (std::vector<std::uint8_t>{0, 128, 255, 26, 0, 255, 100, 155, 255, 255, 255, 255}));
}

// Factors decide which value is the largest: 100 * 0.01 less than 10 * 0.5, and -20 * 0.25.
TEST(RowRequantize, FactorsAreOfTheChannel) {
  const Tensor x = Tensor::of<std::int16_t>({2, 3}, std::vector<std::int16_t>{100, 10, -20, 0, 51, 0});
  const Tensor factor = Tensor::of<float>({3}, std::vector<float>{0.01f, 0.5f, 0.25f});
  const std::vector<ConstTensorView> views{x.view(), factor.view()};
  const auto made = evaluate_op(kRowRequantize, RowRequantizeAttrs{}, views);
  ASSERT_TRUE(made) << to_string(made.errors());
  EXPECT_EQ(values<float>((*made)[1]), (std::vector<float>{1.0f / 25.5f, 1.0f / 10.0f}));
  EXPECT_EQ(values<std::uint8_t>((*made)[2]), (std::vector<std::uint8_t>{128, 0}));
  EXPECT_EQ(values<std::uint8_t>((*made)[0]), (std::vector<std::uint8_t>{154, 255, 0, 0, 255, 0}));
}

TEST(RowRequantize, GeluOfARowIsWithinHalfAStep) {
  for (const RowFunction function : {RowFunction::gelu, RowFunction::gelu_tanh}) {
    const UnaryAttrs exact{function == RowFunction::gelu ? UnaryKind::gelu : UnaryKind::gelu_tanh};
    for (const float scale : {1e-4f, 3e-4f, 1e-3f}) {
      Tensor x(DType::s16, {1, 65536});
      for (std::int32_t i = 0; i < 65536; ++i) x.as<std::int16_t>()[i] = static_cast<std::int16_t>(i - 32768);
      const auto made = requantized({function, scale}, x);
      const double step = made[1].as<float>()[0], zero_point = made[2].as<std::uint8_t>()[0];
      for (std::int64_t i = 0; i < 65536; ++i) {
        const double wanted = evaluate_unary(exact, static_cast<double>(x.as<std::int16_t>()[i]) * scale);
        ASSERT_NEAR((made[0].as<std::uint8_t>()[i] - zero_point) * step, wanted, 0.5 * step + 3e-4)
            << x.as<std::int16_t>()[i] << " * " << scale;
      }
    }
  }
}

TEST(RowRequantize, InferRefuses) {
  const auto is_refused = [](DType dtype, Shape shape, float scale) {
    const Fact x{.dtype = dtype, .shape = std::move(shape)};
    const std::vector<const Fact*> inputs = {&x};
    return !kRowRequantize.infer(RowRequantizeAttrs{.x_scale = scale}, inputs).ok();
  };
  EXPECT_FALSE(is_refused(DType::s16, {2, 3}, 1.0f));
  EXPECT_TRUE(is_refused(DType::s16, {}, 1.0f));
  EXPECT_TRUE(is_refused(DType::f32, {2, 3}, 1.0f));
  EXPECT_TRUE(is_refused(DType::s16, {2, 3}, 0.0f));
  EXPECT_TRUE(is_refused(DType::s16, {2, 3}, NAN));

  const Fact x{.dtype = DType::s16, .shape = Shape{2, 3}};
  const auto refuses = [&](RowFunction function, DType dtype, Shape shape) {
    const Fact factor{.dtype = dtype, .shape = std::move(shape)};
    const std::vector<const Fact*> inputs = {&x, &factor};
    return !kRowRequantize.infer(RowRequantizeAttrs{.function = function}, inputs).ok();
  };
  EXPECT_FALSE(refuses(RowFunction::identity, DType::f32, {3}));
  EXPECT_TRUE(refuses(RowFunction::gelu, DType::f32, {3}));
  EXPECT_TRUE(refuses(RowFunction::identity, DType::f32, {2}));
  EXPECT_TRUE(refuses(RowFunction::identity, DType::s16, {3}));
}

}  // namespace
}  // namespace octavo::ops_test
