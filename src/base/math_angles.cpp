// The angles and hyperbolic functions of base/math.h that follow from sin, cos, exp and log, and atan. Part of base/.
#include <array>
#include <cmath>
#include <limits>

#include "base/math.h"

namespace octavo {
namespace {

constexpr double kAngleInfinity = std::numeric_limits<double>::infinity();
constexpr double kAngleNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2 = 0x1.62e42fefa39efp-1;
constexpr double kAngleHalfPi = 0x1.921fb54442d18p+0, kAngleHalfPiLow = 0x1.1a62633145c07p-54;
// sqrt(x² +- 1) is x from here on.
constexpr double kSquaresMatter = 0x1p28;

// atan(k / 8) in two parts.
struct AngleDouble2 {
  double high = 0.0, low = 0.0;
};
constexpr std::array<AngleDouble2, 9> kAtanOfEighths = {{{0.0, 0.0},
                                                         {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
                                                         {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
                                                         {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
                                                         {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
                                                         {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
                                                         {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
                                                         {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
                                                         {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55}}};

// atan(r) - r, |r| <= 1/16: Taylor to r^17, error below 2^-60 of r.
double atan_tail(double r) {
  constexpr std::array<double, 8> c = {-1.0 / 3, 1.0 / 5, -1.0 / 7, 1.0 / 9, -1.0 / 11, 1.0 / 13, -1.0 / 15, 1.0 / 17};
  const double square = r * r;
  double sum = c.back();
  for (std::size_t i = c.size() - 1; i > 0; --i) sum = std::fma(sum, square, c[i - 1]);
  return r * square * sum;
}

// u in [0, 1]: atan(u) = atan(c) + atan((u - c) / (1 + u c)), c the nearest eighth.
AngleDouble2 small_atan(double u) {
  const double c = std::nearbyint(u * 8.0) / 8.0;
  const double r = c == 0.0 ? u : (u - c) / std::fma(u, c, 1.0);
  const AngleDouble2& of_c = kAtanOfEighths[static_cast<std::size_t>(c * 8.0)];
  return {of_c.high, of_c.low + (r + atan_tail(r))};
}

}  // namespace

double math_tan(double x) { return x == 0.0 ? x : math_sin(x) / math_cos(x); }

double math_atan(double x) {
  if (std::isnan(x) || x == 0.0) return x;
  const double magnitude = std::fabs(x);
  const bool is_large = magnitude > 1.0;
  const AngleDouble2 value = small_atan(is_large ? 1.0 / magnitude : magnitude);
  const double y = is_large ? (kAngleHalfPi - value.high) - (value.low - kAngleHalfPiLow) : value.high + value.low;
  return std::copysign(y, x);
}

double math_asin(double x) {
  if (std::isnan(x) || x == 0.0) return x;
  if (std::fabs(x) > 1.0) return kAngleNan;
  return math_atan(x / std::sqrt((1.0 - x) * (1.0 + x)));
}

double math_acos(double x) {
  if (!(std::fabs(x) <= 1.0)) return kAngleNan;
  return 2.0 * math_atan(std::sqrt((1.0 - x) / (1.0 + x)));
}

double math_sinh(double x) {
  if (std::isnan(x) || x == 0.0) return x;
  const double t = std::fabs(x);
  double y = 0.0;
  if (t < 22.0) {
    const double e = math_expm1(t);
    y = 0.5 * (e + e / (e + 1.0));
  } else if (t < 709.0) {
    y = 0.5 * math_exp(t);
  } else {
    const double root = math_exp(0.5 * t);
    y = 0.5 * root * root;
  }
  return std::copysign(y, x);
}

double math_cosh(double x) {
  const double t = std::fabs(x);
  if (t < 709.0) {
    const double e = math_exp(t);
    return 0.5 * (e + 1.0 / e);
  }
  const double root = math_exp(0.5 * t);
  return 0.5 * root * root;
}

double math_asinh(double x) {
  if (std::isnan(x) || x == 0.0) return x;
  const double t = std::fabs(x);
  const double square = t * t;
  const double y = t > kSquaresMatter ? math_log(t) + kLog2 : math_log1p(t + square / (1.0 + std::sqrt(1.0 + square)));
  return std::copysign(y, x);
}

double math_acosh(double x) {
  if (!(x >= 1.0)) return kAngleNan;
  if (x > kSquaresMatter) return math_log(x) + kLog2;
  const double t = x - 1.0;
  return math_log1p(t + std::sqrt(t * (t + 2.0)));
}

double math_atanh(double x) {
  if (std::isnan(x) || x == 0.0) return x;
  const double t = std::fabs(x);
  if (t >= 1.0) return t == 1.0 ? std::copysign(kAngleInfinity, x) : kAngleNan;
  return std::copysign(0.5 * math_log1p(2.0 * t / (1.0 - t)), x);
}

}  // namespace octavo
