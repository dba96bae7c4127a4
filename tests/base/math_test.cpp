// Our elementary functions against the C library's in long double.
#include "base/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace octavo {
namespace {

constexpr double kMathInfinity = std::numeric_limits<double>::infinity();

// Distance in units of the last place of the expected f64.
double math_ulps(double found, long double expected) {
  const double rounded = static_cast<double>(expected);
  if (std::isnan(rounded) || std::isnan(found)) return std::isnan(rounded) == std::isnan(found) ? 0.0 : kMathInfinity;
  if (rounded == found) return 0.0;
  if (std::isinf(rounded) || std::isinf(found)) return kMathInfinity;
  const double magnitude = std::fabs(rounded);
  const long double unit = static_cast<long double>(std::nextafter(magnitude, kMathInfinity)) - magnitude;
  return static_cast<double>(std::fabs(found - expected) / unit);
}

// Dense near 0, every exponent, and the special values.
std::vector<double> math_arguments() {
  std::vector<double> values = {0.0,    -0.0,    1.0,   -1.0,   kMathInfinity, -kMathInfinity, std::nan(""),
                                1e-320, -1e-320, 1e308, -1e308, 709.78,        709.8,          -745.1,
                                -745.2, -708.5,  22.0,  27.3,   0.65,          -0.65};
  for (int i = -40000; i <= 40000; ++i) values.push_back(i * 0x1p-10 + i * 1e-9);
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) values.push_back(std::bit_cast<double>(random()));
  for (int i = 0; i < 100000; ++i) values.push_back((static_cast<double>(random() >> 11) * 0x1p-53 - 0.5) * 1500.0);
  return values;
}

void math_expect_close(double (*ours)(double), long double (*theirs)(long double), double tolerance) {
  double worst = 0.0;
  double where = 0.0;
  for (double x : math_arguments()) {
    const double distance = math_ulps(ours(x), theirs(x));
    if (distance > worst) {
      worst = distance;
      where = x;
    }
  }
  EXPECT_LE(worst, tolerance) << "at " << where << " found " << ours(where) << " expected "
                              << static_cast<double>(theirs(where));
}

TEST(Math, AnglesAgreeWithLongDouble) {
  math_expect_close(math_tan, std::tan, 4.0);
  math_expect_close(math_asin, std::asin, 3.0);
  math_expect_close(math_acos, std::acos, 3.0);
  math_expect_close(math_atan, std::atan, 2.0);
  math_expect_close(math_sinh, std::sinh, 3.0);
  math_expect_close(math_cosh, std::cosh, 3.0);
  math_expect_close(math_asinh, std::asinh, 3.0);
  math_expect_close(math_acosh, std::acosh, 3.0);
  math_expect_close(math_atanh, std::atanh, 3.0);
}

TEST(Math, AgreesWithLongDouble) {
  {
    SCOPED_TRACE("exp");
    math_expect_close(math_exp, std::exp, 1.01);
  }
  {
    SCOPED_TRACE("expm1");
    math_expect_close(math_expm1, std::expm1, 2.0);
  }
  {
    SCOPED_TRACE("log");
    math_expect_close(math_log, std::log, 1.0);
  }
  {
    SCOPED_TRACE("log1p");
    math_expect_close(math_log1p, std::log1p, 2.0);
  }
  {
    SCOPED_TRACE("tanh");
    math_expect_close(math_tanh, std::tanh, 2.0);
  }
  {
    SCOPED_TRACE("erf");
    math_expect_close(math_erf, std::erf, 1.5);
  }
  {
    SCOPED_TRACE("erfc");
    math_expect_close(math_erfc, std::erfc, 4.0);
  }
  {
    SCOPED_TRACE("sin");
    math_expect_close(math_sin, std::sin, 2.5);
  }
  {
    SCOPED_TRACE("cos");
    math_expect_close(math_cos, std::cos, 2.5);
  }
}

TEST(Math, SigmoidAndSoftplus) {
  const auto sigmoid = +[](long double x) { return 1.0L / (1.0L + std::exp(-x)); };
  const auto softplus = +[](long double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); };
  math_expect_close(math_sigmoid, sigmoid, 2.5);
  math_expect_close(math_softplus, softplus, 2.5);
}

// Arguments and answers of ONNX Runtime 1.31; most are not the correctly rounded value.
TEST(Math, SigmoidOfF32HasOnnxRuntimesBits) {
  constexpr std::pair<float, float> pairs[] = {
      {-25.0f, 0.0f},          {-17.9f, 0x1p-25f},      {-8.3f, 0x1.0488p-12f}, {-3.0f, 0x1.84834p-5f},
      {-1.0f, 0x1.136562p-2f}, {-0.1f, 0x1.e66bdcp-2f}, {0.0f, 0.5f},           {0.001f, 0x1.0020c4p-1f},
      {0.7f, 0x1.561cb4p-1f},  {2.5f, 0x1.d9291ep-1f},  {6.1f, 0x1.fedaacp-1f}, {30.0f, 1.0f},
  };
  for (const auto& [x, y] : pairs) EXPECT_EQ(math_sigmoid_f32(x), y) << x;
  EXPECT_EQ(math_sigmoid_f32(17.844f), 1.0f);  // ONNX Runtime: 1 + 2^-23
  EXPECT_TRUE(std::isnan(math_sigmoid_f32(std::nanf(""))));
}

TEST(Math, Pow) {
  std::mt19937_64 random(2);
  double worst = 0.0;
  for (int i = 0; i < 300000; ++i) {
    const double x =
        std::exp((static_cast<double>(random() >> 11) * 0x1p-53 - 0.5) * 40.0) * (random() % 2 == 0 ? 1.0 : -1.0);
    const double y = random() % 2 == 0 ? static_cast<double>(random() % 41) - 20.0
                                       : (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5) * 60.0;
    const double distance =
        math_ulps(math_pow(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y)));
    if (distance > worst) worst = distance;
    ASSERT_LE(distance, 2.0) << x << " ^ " << y;
  }
  RecordProperty("worst_ulps", std::to_string(worst));
}

TEST(Math, PowSpecialValues) {
  const std::vector<double> special = {
      0.0, -0.0, 0.25,  0.5,    -0.5,   1.0,  -1.0,  2.0,           -2.0,           3.0,         -3.0,
      2.5, -2.5, 1e300, -1e300, 1e-300, 1e17, -1e17, kMathInfinity, -kMathInfinity, std::nan("")};
  for (double x : special) {
    for (double y : special) {
      const double expected = std::pow(x, y);
      const double found = math_pow(x, y);
      EXPECT_LE(math_ulps(found, expected), 1.0) << x << " ^ " << y;
      EXPECT_TRUE(std::isnan(expected) || std::signbit(found) == std::signbit(expected)) << x << " ^ " << y;
    }
  }
}

TEST(Math, KeepsTheSignOfZero) {
  for (auto function : {math_expm1, math_log1p, math_tanh, math_erf, math_sin}) {
    EXPECT_TRUE(std::signbit(function(-0.0)));
    EXPECT_FALSE(std::signbit(function(0.0)));
  }
}

// The bits themselves, recorded once: another compiler or machine must give the same.
TEST(Math, SameBitsEverywhere) {
  std::uint64_t hash = 14695981039346656037u;
  const auto mix = [&](double value) { hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 1099511628211u; };
  for (int i = -3000; i <= 3000; ++i) {
    const double x = i * 0.01 + 0.0003;
    for (auto function :
         {math_exp, math_expm1, math_tanh, math_erf, math_erfc, math_sin, math_cos, math_sigmoid, math_softplus})
      mix(function(x));
    mix(math_log(std::fabs(x)));
    mix(math_log1p(std::fabs(x)));
    mix(math_pow(std::fabs(x), 1.7));
  }
  EXPECT_EQ(hash, 6147037607579361704u);
}

}  // namespace
}  // namespace octavo
