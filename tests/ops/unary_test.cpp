// unary: every function against its textbook form in long double, special values, integers, refusals.
#include "ops/unary/unary.h"

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "ops/ops_test.h"

namespace octavo {
namespace {

using ops_test::fact;
using ops_test::refuses;
using ops_test::run;
using ops_test::values;

using Real = long double;

const std::map<UnaryKind, std::function<Real(Real)>>& textbook() {
  static const auto sigmoid = [](Real x) { return 1 / (1 + std::exp(-x)); };
  static const std::map<UnaryKind, std::function<Real(Real)>> table = {
      {UnaryKind::identity, [](Real x) { return x; }},
      {UnaryKind::relu, [](Real x) { return std::max<Real>(x, 0); }},
      {UnaryKind::sigmoid, sigmoid},
      {UnaryKind::tanh, [](Real x) { return std::tanh(x); }},
      {UnaryKind::exp, [](Real x) { return std::exp(x); }},
      {UnaryKind::log, [](Real x) { return std::log(x); }},
      {UnaryKind::sqrt, [](Real x) { return std::sqrt(x); }},
      {UnaryKind::reciprocal, [](Real x) { return 1 / x; }},
      {UnaryKind::neg, [](Real x) { return -x; }},
      {UnaryKind::abs, [](Real x) { return std::fabs(x); }},
      {UnaryKind::floor, [](Real x) { return std::floor(x); }},
      {UnaryKind::ceil, [](Real x) { return std::ceil(x); }},
      {UnaryKind::round, [](Real x) { return std::nearbyint(x); }},
      {UnaryKind::sign, [](Real x) { return Real((x > 0) - (x < 0)); }},
      {UnaryKind::erf, [](Real x) { return std::erf(x); }},
      {UnaryKind::gelu, [](Real x) { return x / 2 * std::erfc(-x / std::sqrt(Real(2))); }},
      {UnaryKind::gelu_tanh,
       [](Real x) { return x * sigmoid(2 * std::sqrt(2 / std::acos(Real(-1))) * (x + Real(0.044715L) * x * x * x)); }},
      {UnaryKind::softplus, [](Real x) { return std::log1p(std::exp(x)); }},
      {UnaryKind::softsign, [](Real x) { return x / (1 + std::fabs(x)); }},
      {UnaryKind::mish, [](Real x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {UnaryKind::silu, [](Real x) { return x * sigmoid(x); }},
      {UnaryKind::hard_sigmoid, [](Real x) { return std::clamp<Real>(Real(0.2f) * x + 0.5f, 0, 1); }},
      {UnaryKind::hard_swish, [](Real x) { return x * std::clamp<Real>(x / 6 + 0.5L, 0, 1); }},
      {UnaryKind::leaky_relu, [](Real x) { return x < 0 ? Real(0.2f) * x : x; }},
      {UnaryKind::elu, [](Real x) { return x < 0 ? Real(0.2f) * std::expm1(x) : x; }},
      {UnaryKind::selu, [](Real x) { return 0.5L * (x < 0 ? Real(0.2f) * std::expm1(x) : x); }},
      {UnaryKind::celu, [](Real x) { return x < 0 ? Real(0.2f) * std::expm1(x / Real(0.2f)) : x; }},
      {UnaryKind::thresholded_relu, [](Real x) { return x > Real(0.2f) ? x : 0; }},
      {UnaryKind::clip, [](Real x) { return std::clamp<Real>(x, Real(0.2f), 0.5L); }},
      {UnaryKind::logical_not, [](Real x) { return x == 0 ? 1 : 0; }},
      {UnaryKind::sin, [](Real x) { return std::sin(x); }},
      {UnaryKind::cos, [](Real x) { return std::cos(x); }},
      {UnaryKind::is_nan, [](Real x) { return std::isnan(x) ? 1 : 0; }},
      {UnaryKind::tan, [](Real x) { return std::tan(x); }},
      {UnaryKind::asin, [](Real x) { return std::asin(x); }},
      {UnaryKind::acos, [](Real x) { return std::acos(x); }},
      {UnaryKind::atan, [](Real x) { return std::atan(x); }},
      {UnaryKind::sinh, [](Real x) { return std::sinh(x); }},
      {UnaryKind::cosh, [](Real x) { return std::cosh(x); }},
      {UnaryKind::asinh, [](Real x) { return std::asinh(x); }},
      {UnaryKind::acosh, [](Real x) { return std::acosh(x); }},
      {UnaryKind::atanh, [](Real x) { return std::atanh(x); }},
      {UnaryKind::is_inf, [](Real x) { return std::isinf(x) ? 1 : 0; }},
      {UnaryKind::bitwise_not, [](Real x) { return x; }},  // of integers alone
      {UnaryKind::shrink, [](Real x) { return x < -Real(0.2f) ? x + 0.5L : (x > Real(0.2f) ? x - 0.5L : 0); }},
  };
  return table;
}

TEST(Unary, EveryFunctionRoundsToTheCorrectF32) {
  ASSERT_EQ(textbook().size(), static_cast<std::size_t>(count_of(UnaryKind{})));
  for (const auto& [kind, expected] : textbook()) {
    const UnaryAttrs attrs{.kind = kind, .alpha = 0.2f, .beta = 0.5f};
    for (int i = -4000; i <= 4000; ++i) {
      const auto x = static_cast<float>(i * 0.00731 + 1e-4);
      const auto found = static_cast<float>(evaluate_unary(attrs, x));
      const auto wanted = static_cast<float>(expected(x));
      ASSERT_TRUE(found == wanted || (std::isnan(found) && std::isnan(wanted)))
          << name_of(kind) << " of " << x << ": " << found << " for " << wanted;
    }
  }
}

TEST(Unary, SigmoidOfF32IsOnnxRuntimes) {
  const Tensor x =
      Tensor::of<float>({2}, std::vector<float>{-3.0f, 0.7f});  // correctly rounded: 0x1.848344p-5, 0x1.561cb6p-1
  EXPECT_EQ(values<float>(run(kUnary, UnaryAttrs{.kind = UnaryKind::sigmoid}, {x})),
            (std::vector<float>{0x1.84834p-5f, 0x1.561cb4p-1f}));
}

TEST(Unary, NanComesThrough) {
  const double nan = std::nan("");
  for (UnaryKind kind : {UnaryKind::relu, UnaryKind::clip, UnaryKind::sigmoid, UnaryKind::gelu, UnaryKind::sign,
                         UnaryKind::leaky_relu, UnaryKind::tanh}) {
    EXPECT_TRUE(std::isnan(evaluate_unary({.kind = kind, .alpha = 0.0f, .beta = 6.0f}, nan))) << name_of(kind);
  }
}

TEST(Unary, IntegersKeepTheirType) {
  const Tensor x = Tensor::of<std::int8_t>({5}, std::vector<std::int8_t>{-128, -1, 0, 1, 127});
  const auto result = [&](UnaryAttrs attrs) { return values<std::int8_t>(run(kUnary, attrs, {x})); };
  EXPECT_EQ(result({.kind = UnaryKind::relu}), (std::vector<std::int8_t>{0, 0, 0, 1, 127}));
  EXPECT_EQ(result({.kind = UnaryKind::neg}), (std::vector<std::int8_t>{-128, 1, 0, -1, -127}));
  EXPECT_EQ(result({.kind = UnaryKind::abs}), (std::vector<std::int8_t>{-128, 1, 0, 1, 127}));
  EXPECT_EQ(result({.kind = UnaryKind::sign}), (std::vector<std::int8_t>{-1, -1, 0, 1, 1}));
  EXPECT_EQ(result({.kind = UnaryKind::clip, .alpha = -1.5f, .beta = 1e30f}),
            (std::vector<std::int8_t>{-1, -1, 0, 1, 127}));
}

TEST(Unary, BitsOfIntegersTurn) {
  const Tensor x = Tensor::of<std::uint16_t>({3}, std::vector<std::uint16_t>{0, 1, 65280});
  EXPECT_EQ(values<std::uint16_t>(run(kUnary, UnaryAttrs{.kind = UnaryKind::bitwise_not}, {x})),
            (std::vector<std::uint16_t>{65535, 65534, 255}));
  const Tensor y = Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{0, -5});
  EXPECT_EQ(values<std::int64_t>(run(kUnary, UnaryAttrs{.kind = UnaryKind::bitwise_not}, {y})),
            (std::vector<std::int64_t>{-1, 4}));
  EXPECT_TRUE(refuses(kUnary, UnaryAttrs{.kind = UnaryKind::bitwise_not}, {fact(DType::f32, {2})}));
  EXPECT_TRUE(refuses(kUnary, UnaryAttrs{.kind = UnaryKind::bitwise_not}, {fact(DType::boolean, {2})}));
}

TEST(Unary, InfinitiesOfEitherSign) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::of<float>({4}, std::vector<float>{-inf, inf, NAN, 3e38f});
  const auto found = [&](float negative, float positive) {
    return values<std::uint8_t>(run(kUnary, UnaryAttrs{UnaryKind::is_inf, negative, positive}, {x}));
  };
  EXPECT_EQ(found(1, 1), (std::vector<std::uint8_t>{1, 1, 0, 0}));
  EXPECT_EQ(found(1, 0), (std::vector<std::uint8_t>{1, 0, 0, 0}));
  EXPECT_EQ(found(0, 1), (std::vector<std::uint8_t>{0, 1, 0, 0}));
  EXPECT_EQ(found(0, 0), (std::vector<std::uint8_t>{0, 0, 0, 0}));
}

TEST(Unary, BigIntegersAreExact) {
  const std::int64_t big = (std::int64_t{1} << 62) + 1;
  EXPECT_EQ(values<std::int64_t>(run(kUnary, UnaryAttrs{.kind = UnaryKind::neg}, {Tensor::scalar(big)})),
            std::vector<std::int64_t>{-big});
}

TEST(Unary, TypesOfResults) {
  EXPECT_EQ(run(kUnary, UnaryAttrs{.kind = UnaryKind::is_nan}, {Tensor::scalar(NAN)}).dtype(), DType::boolean);
  EXPECT_EQ(
      values<std::uint8_t>(run(kUnary, UnaryAttrs{.kind = UnaryKind::logical_not}, {Tensor(DType::boolean, {2})})),
      (std::vector<std::uint8_t>{1, 1}));
  EXPECT_TRUE(refuses(kUnary, UnaryAttrs{.kind = UnaryKind::exp}, {fact(DType::s32, {2})}));
  EXPECT_TRUE(refuses(kUnary, UnaryAttrs{.kind = UnaryKind::logical_not}, {fact(DType::f32, {2})}));
  EXPECT_TRUE(refuses(kUnary, UnaryAttrs{.kind = UnaryKind::clip, .alpha = NAN}, {fact(DType::f32, {2})}));
  EXPECT_TRUE(refuses(kUnary, UnaryAttrs{}, {}));
}

}  // namespace
}  // namespace octavo
