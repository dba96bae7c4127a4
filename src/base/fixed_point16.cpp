// Functions of 16-bit fixed-point numbers: the series and Newton steps of base/fixed_point.cpp with half of the bits.
// Part of base/.
#include "base/fixed_point16.h"

#include <algorithm>
#include <limits>

#include "base/fixed_point.h"

namespace octavo {
namespace {

constexpr std::int16_t kQ15One = std::numeric_limits<std::int16_t>::max();  // nearly, without integer bits

std::int16_t wrapped(std::int32_t x) { return static_cast<std::int16_t>(static_cast<std::uint16_t>(x)); }
std::int16_t q15_saturated(std::int64_t x) {
  return static_cast<std::int16_t>(std::clamp<std::int64_t>(x, std::numeric_limits<std::int16_t>::min(), kQ15One));
}

// a * b / 2^15, rounded to the nearest, halves up.
std::int16_t q15_product(std::int16_t a, std::int16_t b) {
  const std::int32_t exact = std::int32_t{a} * b;
  return static_cast<std::int16_t>(std::min((exact + (exact >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15), 32767));
}
std::int16_t times_power(std::int16_t x, int exponent) {
  if (exponent < 0) return static_cast<std::int16_t>(rounding_divide(x, -exponent));
  return q15_saturated(std::int64_t{x} * (std::int64_t{1} << exponent));
}
// A constant of 32 bits with as many integer bits.
std::int16_t shortened(std::int32_t x) { return static_cast<std::int16_t>(rounding_divide(x, 16)); }

// exp(x / 2^15) for -1/4 <= x / 2^15 < 0: the series around -1/8.
std::int16_t q15_exp_above_minus_quarter(std::int16_t x) {
  const std::int16_t exp_of_minus_eighth = shortened(1895147668), third = shortened(715827883);
  const std::int16_t d = wrapped(x + (1 << 12));
  const std::int16_t d2 = q15_product(d, d), d3 = q15_product(d2, d), d4 = q15_product(d2, d2);
  const std::int16_t inner = q15_product(wrapped(times_power(d4, -2) + d3), third);
  const std::int16_t higher = times_power(wrapped(inner + d2), -1);
  return q15_saturated(exp_of_minus_eighth + q15_product(exp_of_minus_eighth, wrapped(d + higher)));
}

// exp of x <= 0 with so many integer bits.
std::int16_t exp_of_negative(std::int16_t x, int integer_bits) {
  if (x == 0) return kQ15One;
  const int fraction_bits = 15 - integer_bits;
  // Numbers of seven integer bits reach beyond what the factors cover.
  if (integer_bits > 5 && x < -(1 << (5 + fraction_bits))) return 0;
  const auto quarter = static_cast<std::int16_t>(1 << (fraction_bits - 2));
  const std::int16_t part = wrapped((x & (quarter - 1)) - quarter);
  std::int16_t result = q15_exp_above_minus_quarter(times_power(part, integer_bits));
  const std::int16_t remainder = wrapped(part - x);
  // exp(-1/4), exp(-1/2), exp(-1), ... exp(-16).
  constexpr std::int32_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  for (int i = 0; i < 7 && i - 2 < integer_bits; ++i) {
    if ((remainder & (1 << (fraction_bits - 2 + i))) != 0) result = q15_product(result, shortened(kFactors[i]));
  }
  return result;
}

// 2 / (1 + x) with two integer bits, 0 <= x < 1.
std::int16_t two_over_one_plus(std::int16_t x) {
  const std::int32_t sum = std::int32_t{x} + kQ15One;
  const auto half_denominator = static_cast<std::int16_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
  std::int16_t y = wrapped(shortened(1515870810) + q15_product(half_denominator, shortened(-1010580540)));
  for (int i = 0; i < 3; ++i) {
    const std::int16_t rest = wrapped((1 << 13) - q15_product(half_denominator, y));
    y = wrapped(y + times_power(q15_product(y, rest), 2));
  }
  return y;
}

}  // namespace

std::int16_t fixed_sigmoid16(std::int16_t x) {
  if (x == 0) return 1 << 14;
  const std::int16_t negative = x > 0 ? wrapped(-x) : x;
  const std::int16_t above_half = times_power(two_over_one_plus(exp_of_negative(negative, 3)), 1);
  return x > 0 ? above_half : wrapped(kQ15One - above_half);
}

std::int16_t fixed_tanh16(std::int16_t x, int integer_bits) {
  if (x == 0) return 0;
  const std::int16_t negative = x < 0 ? x : wrapped(-x);
  // (1 - exp(2x)) / (1 + exp(2x)): twice a number has an integer bit more.
  const std::int16_t y = two_over_one_plus(exp_of_negative(negative, integer_bits + 1));
  const std::int16_t size = times_power(wrapped(y - (1 << 13)), 2);
  return x < 0 ? wrapped(-size) : size;
}

}  // namespace octavo
