// The elementary functions of f32 against long double, over all exponents, and their special values.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "base/elementary_angles.h"
#include "base/elementary_pow.h"
#include "base/partial_sums.h"

namespace octavo {
namespace {

constexpr float kElementaryInfinity = std::numeric_limits<float>::infinity();
constexpr long double kSqrtHalf = 0.70710678118654752440L, kSqrtTwoOverPi = 0.79788456080286535588L;

// Distance in units of the last place of the expected f32.
double elementary_ulps(float found, long double expected) {
  const auto rounded = static_cast<float>(expected);
  if (std::isnan(rounded) || std::isnan(found)) return std::isnan(rounded) == std::isnan(found) ? 0.0 : 1e9;
  if (rounded == found) return 0.0;
  if (std::isinf(rounded) || std::isinf(found)) return 1e9;
  const float magnitude = std::fabs(rounded);
  const long double unit = static_cast<long double>(std::nextafter(magnitude, kElementaryInfinity)) - magnitude;
  return static_cast<double>(std::fabs(found - expected) / unit);
}

// Equally many of every exponent and both signs, and more where the functions bend.
std::vector<float> elementary_arguments() {
  std::vector<float> values = {0.0f,   -0.0f,  kElementaryInfinity, -kElementaryInfinity, NAN, 1.0f, -1.0f, 0x1p-149f,
                               88.72f, -103.9f};
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 65521)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  std::mt19937 random(1);
  for (int i = 0; i < 40000; ++i) values.push_back(static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-27f);
  return values;
}

using Exact = long double (*)(long double);
// An error counts beyond `share` of |x| alone.
struct Limit {
  double ulp = 0.0;
  double share = 0.0;
  float lowest = -kElementaryInfinity;  // of x
};

void elementary_expect_close(const char* name, float (*ours)(float), Exact exact, Limit limit) {
  SCOPED_TRACE(name);
  double worst = 0.0;
  float where = 0.0f;
  for (const float x : elementary_arguments()) {
    if (x < limit.lowest) continue;
    const long double value = exact(x);
    const double distance = elementary_ulps(ours(x), value);
    const bool is_near = std::fabs(ours(x) - value) <= limit.share * std::fabs(static_cast<long double>(x));
    if (distance > worst && !is_near) {
      worst = distance;
      where = x;
    }
  }
  EXPECT_LE(worst, limit.ulp) << "at " << where << " found " << ours(where) << " expected "
                              << static_cast<double>(exact(where));
}

long double sigmoid(long double x) { return 1.0L / (1.0L + std::exp(-x)); }

TEST(Elementary, AgreesWithLongDouble) {
  elementary_expect_close("exp", exp_f32<Lane>, [](long double x) { return std::exp(x); }, {.ulp = 1.0});
  elementary_expect_close("expm1", expm1_f32<Lane>, [](long double x) { return std::expm1(x); }, {.ulp = 1.4});
  elementary_expect_close("log", log_f32<Lane>, [](long double x) { return std::log(x); }, {.ulp = 0.9});
  elementary_expect_close("tanh", tanh_f32<Lane>, [](long double x) { return std::tanh(x); }, {.ulp = 1.5});
  elementary_expect_close("erf", erf_f32<Lane>, [](long double x) { return std::erf(x); }, {.ulp = 1.0});
  elementary_expect_close("sin", sin_f32<Lane>, [](long double x) { return std::sin(x); }, {.ulp = 1.6});
  elementary_expect_close("cos", cos_f32<Lane>, [](long double x) { return std::cos(x); }, {.ulp = 1.6});
  elementary_expect_close("softplus", softplus_f32<Lane>,
                          [](long double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); },
                          {.ulp = 1.8});
}

TEST(Elementary, WeightsAreExponentialsThatAreNotDenormal) {
  constexpr float kLast = -0x1.5d589ep+6f;
  EXPECT_GE(exp_weight_f32<Lane>(kLast), 0x1p-126f);
  EXPECT_LT(exp_f32<Lane>(std::nextafter(kLast, -kElementaryInfinity)), 0x1p-126f);
  for (const float x : {std::nextafter(kLast, -kElementaryInfinity), -100.0f, -1e9f, -kElementaryInfinity})
    EXPECT_EQ(exp_weight_f32<Lane>(x), 0.0f) << x;
  EXPECT_TRUE(std::isnan(exp_weight_f32<Lane>(std::numeric_limits<float>::quiet_NaN())));
  for (float x = 0.0f; x >= kLast; x -= 0.001f) ASSERT_EQ(exp_weight_f32<Lane>(x), exp_f32<Lane>(x)) << x;
}

TEST(Elementary, AnglesAgreeWithLongDouble) {
  elementary_expect_close("tan", tan_f32<Lane>, [](long double x) { return std::tan(x); }, {.ulp = 3.1});
  elementary_expect_close("asin", asin_f32<Lane>, [](long double x) { return std::asin(x); }, {.ulp = 2.3});
  elementary_expect_close("acos", acos_f32<Lane>, [](long double x) { return std::acos(x); }, {.ulp = 1.1});
  elementary_expect_close("atan", atan_f32<Lane>, [](long double x) { return std::atan(x); }, {.ulp = 1.3});
  elementary_expect_close("sinh", sinh_f32<Lane>, [](long double x) { return std::sinh(x); }, {.ulp = 1.6});
  elementary_expect_close("cosh", cosh_f32<Lane>, [](long double x) { return std::cosh(x); }, {.ulp = 1.4});
  elementary_expect_close("asinh", asinh_f32<Lane>, [](long double x) { return std::asinh(x); }, {.ulp = 1.8});
  elementary_expect_close("acosh", acosh_f32<Lane>, [](long double x) { return std::acosh(x); }, {.ulp = 1.8});
  elementary_expect_close("atanh", atanh_f32<Lane>, [](long double x) { return std::atanh(x); }, {.ulp = 2.0});
}

// -infinity is left out: gelu is 0 there, the others are NaN, and what the formulas give is not their limit.
TEST(Elementary, ActivationsAgreeWithLongDouble) {
  constexpr float kLowest = -std::numeric_limits<float>::max();
  const auto gelu = [](long double x) { return x * 0.5L * std::erfc(-x * kSqrtHalf); };
  elementary_expect_close("gelu", gelu_f32<Lane>, gelu, {.ulp = 5.1, .lowest = kLowest});
  elementary_expect_close("gelu", gelu_f32<Lane>, gelu, {.ulp = 4.0, .share = 7e-8, .lowest = kLowest});
  const auto gelu_tanh = [](long double x) { return x * sigmoid(2.0L * kSqrtTwoOverPi * (x + 0.044715L * x * x * x)); };
  elementary_expect_close("gelu_tanh", gelu_tanh_f32<Lane>, gelu_tanh,
                          {.ulp = 2.0, .share = 1.4e-7, .lowest = kLowest});
  const auto silu = [](long double x) { return x * sigmoid(x); };
  elementary_expect_close("silu", silu_f32<Lane>, silu, {.ulp = 3.0, .lowest = -85.0f});
  elementary_expect_close("silu", silu_f32<Lane>, silu, {.ulp = 3.0, .share = 1e-40, .lowest = kLowest});
  const auto mish = [](long double x) { return x * std::tanh(std::log1p(std::exp(x))); };
  elementary_expect_close("mish", mish_f32<Lane>, mish, {.ulp = 4.5, .lowest = -85.0f});
  elementary_expect_close("mish", mish_f32<Lane>, mish, {.ulp = 4.5, .share = 1e-40, .lowest = kLowest});
  elementary_expect_close("sigmoid", sigmoid_f32<Lane>, sigmoid, {.ulp = 0.0, .share = 1e30});
}

TEST(Elementary, SpecialValues) {
  EXPECT_EQ(exp_f32<Lane>(0.0f), 1.0f);
  EXPECT_EQ(exp_f32<Lane>(-kElementaryInfinity), 0.0f);
  EXPECT_EQ(exp_f32<Lane>(kElementaryInfinity), kElementaryInfinity);
  EXPECT_EQ(exp_f32<Lane>(-104.0f), 0.0f);
  EXPECT_EQ(exp_f32<Lane>(-103.0f), static_cast<float>(std::exp(-103.0)));  // a denormal
  EXPECT_EQ(log_f32<Lane>(0.0f), -kElementaryInfinity);
  EXPECT_EQ(log_f32<Lane>(-0.0f), -kElementaryInfinity);
  EXPECT_EQ(log_f32<Lane>(1.0f), 0.0f);
  EXPECT_TRUE(std::isnan(log_f32<Lane>(-1.0f)));
  EXPECT_EQ(log_f32<Lane>(kElementaryInfinity), kElementaryInfinity);
  for (float (*odd)(float) : {tanh_f32<Lane>, erf_f32<Lane>, sin_f32<Lane>, tan_f32<Lane>, asin_f32<Lane>,
                              atan_f32<Lane>, sinh_f32<Lane>, asinh_f32<Lane>, atanh_f32<Lane>}) {
    EXPECT_TRUE(std::signbit(odd(-0.0f)) && odd(-0.0f) == 0.0f);
    EXPECT_EQ(odd(-0x1p-149f), -0x1p-149f);
  }
  EXPECT_EQ(tanh_f32<Lane>(-kElementaryInfinity), -1.0f);
  EXPECT_EQ(erf_f32<Lane>(kElementaryInfinity), 1.0f);
  EXPECT_TRUE(std::isnan(sin_f32<Lane>(kElementaryInfinity)));
  EXPECT_EQ(gelu_f32<Lane>(kElementaryInfinity), kElementaryInfinity);
  EXPECT_EQ(gelu_f32<Lane>(-kElementaryInfinity), 0.0f);
  EXPECT_LT(gelu_f32<Lane>(-13.0f), 0.0f);  // -7.9e-38
  for (float (*f)(float) :
       {exp_f32<Lane>,       expm1_f32<Lane>, log_f32<Lane>,   tanh_f32<Lane>,     erf_f32<Lane>,     gelu_f32<Lane>,
        gelu_tanh_f32<Lane>, silu_f32<Lane>,  mish_f32<Lane>,  softplus_f32<Lane>, sigmoid_f32<Lane>, sin_f32<Lane>,
        cos_f32<Lane>,       tan_f32<Lane>,   asin_f32<Lane>,  acos_f32<Lane>,     atan_f32<Lane>,    sinh_f32<Lane>,
        cosh_f32<Lane>,      asinh_f32<Lane>, acosh_f32<Lane>, atanh_f32<Lane>})
    EXPECT_TRUE(std::isnan(f(NAN)));
}

TEST(Elementary, PowersAgreeWithLongDouble) {
  std::mt19937 random(3);
  const auto number = [&](float scale) { return static_cast<float>(static_cast<std::int32_t>(random())) * scale; };
  double worst = 0.0;
  for (int i = 0; i < 40000; ++i) {
    const std::pair<float, float> cases[] = {
        {std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0x7fffffffu), number(0x1p-28f)},
        {1.0f + number(0x1p-33f), number(0x1p-22f)},
        {number(0x1p-28f), static_cast<float>(random() % 41) - 20.0f}};
    for (const auto& [x, y] : cases)
      worst = std::max(worst, elementary_ulps(pow_f32<Lane>(x, y), std::pow(static_cast<long double>(x), y)));
  }
  EXPECT_LE(worst, 1.3);
}

TEST(Elementary, PowersOfSpecialValuesAreThoseOfTheCLibrary) {
  const float special[] = {0.0f,
                           -0.0f,
                           1.0f,
                           -1.0f,
                           2.0f,
                           -2.0f,
                           3.0f,
                           -3.0f,
                           0.5f,
                           -0.5f,
                           kElementaryInfinity,
                           -kElementaryInfinity,
                           NAN,
                           3e38f,
                           -3e38f,
                           1e-42f,
                           1e9f,
                           1.5f,
                           16777217.0f,
                           -2.5f,
                           100.0f,
                           -101.0f};
  for (const float x : special) {
    for (const float y : special) {
      const float found = pow_f32<Lane>(x, y), expected = std::pow(x, y);
      EXPECT_LE(elementary_ulps(found, expected), 2.0) << x << "^" << y << " is " << found;
      EXPECT_TRUE(std::isnan(expected) || std::signbit(found) == std::signbit(expected)) << x << "^" << y;
    }
  }
}

TEST(PartialSums, JoinInATreeAndIgnoreZerosBehind) {
  std::mt19937 random(2);
  for (const std::int64_t count : {0, 1, 15, 16, 17, 511, 1000}) {
    std::vector<float> x(static_cast<std::size_t>(count) + 40, 0.0f);
    for (std::int64_t i = 0; i < count; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(random()) * 0x1p-20f;
    const auto at = [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; };
    const float sum = partial_sum<float>(count, at);
    const double long_one = long_sum(count, at);
    for (std::int64_t more = 1; more < 40; ++more) {
      EXPECT_EQ(partial_sum<float>(count + more, at), sum);
      EXPECT_EQ(long_sum(count + more, at), long_one);
    }
  }
  float parts[kPartialSums] = {1e8f, 1.0f, 0, 0, 0, 0, 0, 0, -1e8f};
  EXPECT_EQ(joined(parts), 1.0f);
}

}  // namespace
}  // namespace octavo
