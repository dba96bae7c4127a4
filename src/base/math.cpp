// Elementary functions in f64 by series and exact argument reduction. Part of base/.
#include "base/math.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace octavo {
namespace {

constexpr double kExactInfinity = std::numeric_limits<double>::infinity();
constexpr double kExactNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2e = 0x1.71547652b82fep+0;
// log(2) in two parts; the first has 20 trailing zero bits, so that its product with an exponent is exact.
constexpr double kLog2High = 0x1.62e42fee00000p-1;
constexpr double kLog2Low = 0x1.a39ef35793c76p-33;
constexpr double kExactHalfPi = 0x1.921fb54442d18p+0;
constexpr double kTwoOverSqrtPi = 0x1.20dd750429b6dp+0;

// An unevaluated sum: `low` is what `high` lost to rounding.
struct ExactDouble2 {
  double high = 0.0;
  double low = 0.0;
};

// sum of c[i] * x^i.
template <std::size_t N>
double polynomial(const std::array<double, N>& c, double x) {
  double sum = c[N - 1];
  for (std::size_t i = N - 1; i > 0; --i) sum = std::fma(sum, x, c[i - 1]);
  return sum;
}

// 1/from!, 1/(from+step)!, ...; divisions of exact integers, hence correctly rounded while the factorial is below 2^53.
template <std::size_t N>
constexpr std::array<double, N> inverse_factorials(int from, int step) {
  std::array<double, N> c{};
  for (std::size_t i = 0; i < N; ++i) {
    double factorial = 1.0;
    for (int k = 2; k <= from + step * static_cast<int>(i); ++k) factorial *= k;
    c[i] = 1.0 / factorial;
  }
  return c;
}

// 2^k for k in [-1022, 1023].
double power_of_two(int k) { return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52); }

// x * 2^k, k in [-2044, 2046]: two factors, so that a subnormal result is rounded once.
double scaled(double x, int k) {
  const int first = k < -1000 ? -1000 : k > 1000 ? 1000 : k;
  return x * power_of_two(first) * power_of_two(k - first);
}

// x = k * log(2) + high + low with |high| <= log(2)/2; |x| < 800.
struct ExpReduction {
  int k = 0;
  double high = 0.0;
  double low = 0.0;
};
ExpReduction reduce_exp(double x) {
  const double k = std::nearbyint(x * kLog2e);
  const double first = x - k * kLog2High;  // both exact
  const double high = first - k * kLog2Low;
  return {static_cast<int>(k), high, (first - high) - k * kLog2Low};
}

// exp(r) - 1 for |r.high| <= 0.35: Taylor to r^14, error below 2^-57 of the result.
double expm1_series(double high, double low) {
  static constexpr auto c = inverse_factorials<13>(2, 1);
  return high + std::fma(high * high, polynomial(c, high), std::fma(high, low, low));
}

// exp(x + low), low at most about an ulp of x.
double exp_sum(double x, double low) {
  if (std::isnan(x)) return x;
  if (x > 709.79) return kExactInfinity;
  if (x < -745.2) return 0.0;
  const ExpReduction r = reduce_exp(x);
  const double both = r.low + low;
  const double high = r.high + both;
  return scaled(1.0 + expm1_series(high, (r.high - high) + both), r.k);
}

// x = 2^k * m, m in [sqrt(1/2), sqrt(2)); x positive and finite.
struct Split {
  int k = 0;
  double m = 0.0;
};
Split split(double x) {
  const bool is_subnormal = x < 0x1p-1022;
  const auto bits = std::bit_cast<std::uint64_t>(is_subnormal ? x * 0x1p54 : x);
  int k = static_cast<int>(bits >> 52) - 1023 - (is_subnormal ? 54 : 0);
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  if (m >= 0x1.6a09e667f3bcdp+0) {
    m *= 0.5;
    ++k;
  }
  return {k, m};
}

// log(m) = 2 atanh(s), s = f / (2 + f), f = m - 1: this is 2 atanh(s) / s - 2 as a function of s^2, divided by s^2.
double atanh_tail(double s_squared) {
  static constexpr std::array<double, 11> c = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                               2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  return polynomial(c, s_squared);
}

// log(x) with about 12 bits more than f64, for powers; x positive and finite.
ExactDouble2 log_double2(double x) {
  const Split parts = split(x);
  const double f = parts.m - 1.0;  // exact
  const double d = 2.0 + f;
  const double d_low = f - (d - 2.0);
  const double s = f / d;
  const double s_low = (std::fma(-s, d, f) - s * d_low) / d;
  const double tail = s * (s * s) * atanh_tail(s * s);
  const double k = parts.k;
  const double large = k * kLog2High;  // exact
  const double high = large + 2.0 * s;
  const double lost = k != 0.0 ? (large - high) + 2.0 * s : 0.0;
  return {high, lost + (tail + (2.0 * s_low + k * kLog2Low))};
}

// erfc(x) * exp(x^2) * (1 + 2x), x >= 0, as a polynomial in (x - 4) / (x + 4): Chebyshev fit of degree 28, error 2^-54.
constexpr std::array<double, 29> kScaledErfc = {
    0x1.3ba5916e9fd7fp+0,   -0x1.1df1ad154a28ep-3,  0x1.f7f5df66fd7bfp-7,   0x1.16ecefcfa5391p-4,
    -0x1.9ddb23c3e911ap-4,  0x1.7fee004e125ffp-4,   -0x1.0fb06dfe4881ap-4,  0x1.3079edf680fd1p-5,
    -0x1.09623885556bcp-6,  0x1.49c67286a6641p-8,   -0x1.8d4a9981cc481p-11, -0x1.a1df25a4fabf4p-13,
    0x1.3be0317bc1c6ep-13,  -0x1.995949e52807dp-16, -0x1.78813327c210dp-17, 0x1.7f2a0628ba261p-18,
    0x1.383ec7e7fe60ap-22,  -0x1.bb421df9c6ca7p-21, 0x1.53dbfe9d6c3fap-24,  0x1.dccdf7ccceb9dp-24,
    -0x1.7cda53f76bed3p-26, -0x1.0a84489be74e3p-26, 0x1.20a48d0097b07p-28,  0x1.34efd4dd74883p-29,
    -0x1.7222771ac3211p-31, -0x1.3ecffb65f70bfp-32, 0x1.76a7a2d9cd6e4p-34,  0x1.8d6f440511baap-36,
    -0x1.b411c16d4cba7p-38,
};

// erfc for x >= 0.
double erfc_positive(double x) {
  if (x > 27.5) return 0.0;
  const double square = x * x;
  const double square_low = std::fma(x, x, -square);
  return exp_sum(-square, -square_low) * (polynomial(kScaledErfc, (x - 4.0) / (x + 4.0)) / std::fma(2.0, x, 1.0));
}

// erf for |x| <= 0.65: Taylor; coefficient n is (-1)^n / (n! (2n + 1)), times 2/sqrt(pi).
double erf_series(double x) {
  static constexpr auto c = [] {
    auto inverse = inverse_factorials<16>(0, 1);
    for (std::size_t n = 0; n < inverse.size(); ++n)
      inverse[n] *= (n % 2 == 0 ? 1.0 : -1.0) / static_cast<double>(2 * n + 1);
    inverse[0] = 0.0;  // the first term is added last, unrounded
    return inverse;
  }();
  constexpr double kTwoOverSqrtPiLow = 0x1.1ae3a914fed80p-56;
  return std::fma(kTwoOverSqrtPi, x, x * std::fma(kTwoOverSqrtPi, polynomial(c, x * x), kTwoOverSqrtPiLow));
}

// x = quarter_turns * pi/2 + rest, |rest| <= pi/4, exact to f64 whatever the size of x; quarter_turns modulo 4.
struct Angle {
  int quarter_turns = 0;
  double rest = 0.0;
};

// 64 zero bits, then the fraction bits of 2/pi: bit i (from the top) has weight 2^(63 - i).
constexpr std::array<std::uint64_t, 21> kTwoOverPi = {
    0x0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
};

std::uint64_t two_over_pi_bits(int first) {
  const auto word = static_cast<std::size_t>(first / 64);
  const int shift = first % 64;
  if (shift == 0) return kTwoOverPi[word];
  return kTwoOverPi[word] << shift | kTwoOverPi[word + 1] >> (64 - shift);
}

// Payne and Hanek: x = m * 2^e with an integer m; of the product m * 2^e * 2/pi only the bits below 4 matter, so that
// 192 bits of 2/pi do.
Angle reduce_angle(double x) {
  using Wide = unsigned __int128;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  const int e = biased - 1075;
  const std::uint64_t m = (bits & 0x000fffffffffffffu) | 0x0010000000000000u;
  const int first = e + 62;  // the bit whose product with m * 2^e weighs 2 in its unit place
  const Wide low = Wide{m} * two_over_pi_bits(first + 128);
  const Wide middle = Wide{m} * two_over_pi_bits(first + 64) + (low >> 64);
  const Wide high = Wide{m} * two_over_pi_bits(first) + (middle >> 64);
  // Fixed point, 2 integer bits (modulo 4) and 126 fraction bits.
  const Wide turns = (high << 64) | static_cast<std::uint64_t>(middle);
  const Wide fraction = turns << 2;  // now 128 fraction bits; the top one says whether to round up
  const bool rounds_up = (fraction >> 127) != 0;
  const Wide magnitude = rounds_up ? Wide{0} - fraction : fraction;
  // The bits that `turns` drops matter only where the fraction is tiny, and no f64 comes closer to a multiple of pi/2
  // than 2^-62.
  const double distance = (static_cast<double>(static_cast<std::uint64_t>(magnitude >> 64)) * 0x1p-64) +
                          (static_cast<double>(static_cast<std::uint64_t>(magnitude)) * 0x1p-128);
  const double rest = distance * kExactHalfPi;
  return {static_cast<int>(static_cast<unsigned>(turns >> 126) + (rounds_up ? 1u : 0u)) & 3, rounds_up ? -rest : rest};
}

// |x| <= pi/4.
double sin_series(double x) {
  static constexpr auto c = [] {
    auto inverse = inverse_factorials<9>(3, 2);
    for (std::size_t i = 0; i < inverse.size(); i += 2) inverse[i] = -inverse[i];
    return inverse;
  }();
  return std::fma(x * (x * x), polynomial(c, x * x), x);
}
double cos_series(double x) {
  static constexpr auto c = [] {
    auto inverse = inverse_factorials<9>(2, 2);
    for (std::size_t i = 0; i < inverse.size(); i += 2) inverse[i] = -inverse[i];
    return inverse;
  }();
  return std::fma(x * x, polynomial(c, x * x), 1.0);
}

// sin(x + shift * pi/2).
double shifted_sin(double x, int shift) {
  if (!std::isfinite(x)) return kExactNan;
  const double magnitude = std::fabs(x);
  const bool is_small = magnitude < 0.785;
  Angle angle = is_small ? Angle{0, magnitude} : reduce_angle(magnitude);
  // The angle of -x: all signs turn.
  if (std::signbit(x)) angle = {4 - angle.quarter_turns, -angle.rest};
  const int turns = (angle.quarter_turns + shift) & 3;
  const double value = turns % 2 == 0 ? sin_series(angle.rest) : cos_series(angle.rest);
  return turns < 2 ? value : -value;
}

bool is_odd_integer(double y) { return std::fabs(y) < 0x1p53 && std::floor(y) == y && std::fmod(y, 2.0) != 0.0; }

// x^y for y of which a few multiplications give more exact results than the logarithm; NaN where it is none of those.
double small_power(double x, double y) {
  if (y == 1.0) return x;
  if (y == 2.0) return x * x;
  if (y == 3.0) return x * x * x;
  if (y == -1.0) return 1.0 / x;
  if (y == 0.5) return x == -kExactInfinity ? kExactInfinity : std::sqrt(x + 0.0);
  return kExactNan;
}

}  // namespace

double math_exp(double x) { return exp_sum(x, 0.0); }

double math_expm1(double x) {
  if (std::isnan(x) || x == 0.0) return x;
  if (x > 709.79) return kExactInfinity;
  if (x < -40.0) return -1.0;
  const ExpReduction r = reduce_exp(x);
  const double p = expm1_series(r.high, r.low);
  if (r.k == 0) return p;
  // 2^k (1 + p) - 1, the larger parts first.
  if (r.k > 60) return scaled(1.0 + p, r.k);
  const double scale = power_of_two(r.k);
  return (scale - 1.0) + scale * p;
}

double math_log(double x) {
  if (std::isnan(x) || x == kExactInfinity) return x;
  if (x == 0.0) return -kExactInfinity;
  if (x < 0.0) return kExactNan;
  const ExactDouble2 value = log_double2(x);
  return value.high + value.low;
}

double math_log1p(double x) {
  if (std::isnan(x) || x == kExactInfinity || x == 0.0) return x;
  if (x <= -1.0) return x == -1.0 ? -kExactInfinity : kExactNan;
  const double u = 1.0 + x;
  if (u == 1.0) return x;
  // What the sum lost, as a first-order correction.
  const double lost = x >= 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
  return math_log(u) + lost / u;
}

double math_tanh(double x) {
  if (std::isnan(x) || x == 0.0) return x;
  const double magnitude = std::fabs(x);
  const double t = math_expm1(2.0 * magnitude);
  const double value = magnitude < 0.55 ? t / (t + 2.0) : 1.0 - 2.0 / (t + 2.0);
  return x < 0.0 ? -value : value;
}

double math_erf(double x) {
  if (std::isnan(x)) return x;
  const double magnitude = std::fabs(x);
  if (magnitude <= 0.65) return erf_series(x);
  const double value = 1.0 - erfc_positive(magnitude);
  return x < 0.0 ? -value : value;
}

double math_erfc(double x) {
  if (std::isnan(x)) return x;
  if (std::fabs(x) <= 0.25) return 1.0 - erf_series(x);
  return x < 0.0 ? 2.0 - erfc_positive(-x) : erfc_positive(x);
}

double math_pow(double x, double y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (std::isnan(x) || std::isnan(y)) return kExactNan;
  const bool is_odd = is_odd_integer(y);
  const bool is_integer = std::isinf(y) || std::floor(y) == y;
  const double magnitude = std::fabs(x);
  if (magnitude == 1.0) return is_integer ? (is_odd ? x : 1.0) : kExactNan;
  if (std::isinf(y)) return (magnitude > 1.0) == (y > 0.0) ? kExactInfinity : 0.0;
  if (const double exact = small_power(x, y); !std::isnan(exact)) return exact;
  const bool is_negative = std::signbit(x) && is_odd;
  if (x == 0.0 || std::isinf(x)) {
    const double value = (x == 0.0) == (y > 0.0) ? 0.0 : kExactInfinity;
    return is_negative ? -value : value;
  }
  if (x < 0.0 && !is_integer) return kExactNan;
  const ExactDouble2 log = log_double2(magnitude);
  const double high = y * log.high;
  const double low = std::fma(y, log.high, -high) + y * log.low;
  const double value = std::fabs(high) < 800.0 ? exp_sum(high + low, (high - (high + low)) + low) : exp_sum(high, 0.0);
  return is_negative ? -value : value;
}

double math_sin(double x) { return x == 0.0 ? x : shifted_sin(x, 0); }
double math_cos(double x) { return shifted_sin(x, 1); }

double math_sigmoid(double x) {
  const double e = math_exp(-std::fabs(x));
  return x < 0.0 ? e / (1.0 + e) : 1.0 / (1.0 + e);
}

double math_softplus(double x) {
  const double tail = math_log1p(math_exp(-std::fabs(x)));
  return x > 0.0 ? x + tail : tail;
}

}  // namespace octavo
