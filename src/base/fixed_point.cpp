// Functions in fixed point: exponentials, reciprocals, inverse square roots, hard-swish. Part of base/.
//
// Newton steps and series with the sources' numbers of bits; Qn below means n integer bits before the binary point.
#include "base/fixed_point.h"

#include <bit>

namespace octavo {
namespace {

constexpr std::int32_t kHighest = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();

std::int32_t wrapping_add(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
std::int32_t wrapping_subtract(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}

std::int32_t saturating_shift_left(std::int32_t x, int bits) {
  if (x > (kHighest >> bits)) return kHighest;
  if (x < -(kHighest >> bits) - 1) return kLowest;
  return wrapping_shift_left(x, bits);
}

// exp(x / 2^31) in Q0 for -1/4 <= x / 2^31 < 0: the series around -1/8.
std::int32_t q31_exp_above_minus_quarter(std::int32_t x) {
  constexpr std::int32_t kExpOfMinusEighth = 1895147668;
  constexpr std::int32_t kThird = 715827883;
  const std::int32_t d = wrapping_add(x, 1 << 28);
  const std::int32_t d2 = rounding_high_product(d, d);
  const std::int32_t d3 = rounding_high_product(d2, d);
  const std::int32_t d4 = rounding_high_product(d2, d2);
  const std::int32_t higher = wrapping_add(rounding_high_product(wrapping_add(rounding_divide(d4, 2), d3), kThird), d2);
  return wrapping_add(kExpOfMinusEighth,
                      rounding_high_product(kExpOfMinusEighth, wrapping_add(d, rounding_divide(higher, 1))));
}

// (a + b) / 2, halves away from 0.
std::int32_t half_sum(std::int32_t a, std::int32_t b) {
  const std::int64_t sum = std::int64_t{a} + b;
  return static_cast<std::int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
}

// 1 / (1 + x) in Q0 for 0 <= x < 1 in Q0.
std::int32_t one_over_one_plus(std::int32_t x) {
  constexpr std::int32_t k48Over17 = 1515870810;        // Q2
  constexpr std::int32_t kMinus32Over17 = -1010580540;  // Q2
  const std::int32_t half_denominator = half_sum(x, kHighest);
  std::int32_t y = wrapping_add(k48Over17, rounding_high_product(half_denominator, kMinus32Over17));
  for (int i = 0; i < 3; ++i) {
    const std::int32_t rest = wrapping_subtract(1 << 29, rounding_high_product(half_denominator, y));
    y = wrapping_add(y, saturating_shift_left(rounding_high_product(y, rest), 2));
  }
  return saturating_shift_left(y, 1);
}

// The sources' 16-bit counterparts.
std::int32_t wrapped_16(std::int32_t x) { return static_cast<std::int16_t>(static_cast<std::uint16_t>(x)); }
std::int32_t rounding_high_product_16(std::int32_t a, std::int32_t b) {
  const std::int32_t product = a * b;
  return std::min((product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15), 32767);
}
std::int32_t saturating_shift_left_16(std::int32_t x, int bits) {
  return static_cast<std::int32_t>(
      std::clamp(std::int64_t{x} * (std::int64_t{1} << bits), std::int64_t{-32768}, std::int64_t{32767}));
}

}  // namespace

std::int32_t fixed_exp(std::int32_t x) {
  if (x == 0) return kHighest;
  constexpr int kFractionBits = 26;
  constexpr std::int32_t kQuarter = 1 << (kFractionBits - 2);
  const std::int32_t part = (x & (kQuarter - 1)) - kQuarter;
  std::int32_t result = q31_exp_above_minus_quarter(saturating_shift_left(part, 5));
  const std::int32_t remainder = wrapping_subtract(part, x);
  // exp(-1/4), exp(-1/2), exp(-1), ... exp(-16) in Q0.
  constexpr std::int32_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  for (int i = 0; i < 7; ++i) {
    if ((remainder & (1 << (kFractionBits - 2 + i))) != 0) result = rounding_high_product(result, kFactors[i]);
  }
  return result;
}

std::int32_t fixed_softmax_exponential(Profile profile, int i, float x_scale, float beta) {
  const int below = 255 - i;
  const double factor = std::min(static_cast<double>(beta) * static_cast<double>(x_scale) * 0x1p26, 0x1p31 - 1.0);
  if (factor >= 0x1p30) return below == 0 ? kHighest : 0;
  const FixedMultiplier multiplier = FixedMultiplier::of(factor);
  // Differences whose products would leave 32 bits.
  const double radius = std::floor(31.0 * 0x1p26 / std::ldexp(1.0, multiplier.shift));
  if (static_cast<double>(below) > radius) return 0;
  return fixed_exp(multiplier.apply(profile, -below));
}

FixedReciprocal FixedReciprocal::of(std::int32_t sum) {
  constexpr int kIntegerBits = 12, kResultBits = 8;
  const auto bits = static_cast<std::uint32_t>(std::max(sum, 1));
  const int headroom = std::countl_zero(bits);
  const auto above_one = static_cast<std::int32_t>((bits << headroom) - (std::uint32_t{1} << 31));
  return {one_over_one_plus(above_one), std::clamp(kIntegerBits - headroom + 31 - kResultBits, 0, 31)};
}

std::int32_t fixed_quotient(std::int32_t multiplier, std::int32_t shift, std::int32_t a, std::int32_t b) {
  const std::int32_t dividend = b < 0 ? -a : a;
  const std::uint32_t divisor = b == 0 ? 1u : static_cast<std::uint32_t>(std::abs(b));
  const int headroom = std::countl_zero(divisor);
  const auto above_one = static_cast<std::int32_t>((divisor << headroom) - (std::uint32_t{1} << 31));
  const int bits = std::countl_zero(static_cast<std::uint32_t>(dividend < 0 ? ~dividend : dividend)) - 1;
  const std::int32_t quotient =
      rounding_high_product(wrapping_shift_left(dividend, bits), one_over_one_plus(above_one));
  const std::int32_t scaled = rounding_high_product(quotient, multiplier);
  const int exponent = std::max(31 - headroom + bits - shift, 0);
  if (exponent < 32) return rounding_divide(scaled, exponent);
  return (scaled >> (exponent & 31)) + (scaled >= 0 ? 1 : 0);
}

std::int32_t FixedReciprocal::share(std::int32_t exponential) const {
  return rounding_divide(rounding_high_product(scale, exponential), exponent);
}

FixedMultiplier fixed_inverse_sqrt(std::int32_t sum_of_squares) {
  if (sum_of_squares <= 1) return {kHighest, 0};
  int right_shift = 11;
  while (sum_of_squares >= (1 << 29)) {
    sum_of_squares /= 4;
    ++right_shift;
  }
  const int pairs = (std::countl_zero(static_cast<std::uint32_t>(sum_of_squares)) - 1) / 2 - 1;
  right_shift -= pairs;
  sum_of_squares <<= 2 * pairs;
  // Newton in Q3: y = y (3 - x y^2) / 2.
  const std::int32_t half_x = rounding_divide(sum_of_squares >> 1, 1);
  constexpr std::int32_t kHalfThree = (1 << 28) + (1 << 27);
  std::int32_t y = 1 << 28;
  for (int i = 0; i < 5; ++i) {
    const std::int32_t cube = saturating_shift_left(rounding_high_product(rounding_high_product(y, y), y), 6);
    y = saturating_shift_left(
        wrapping_subtract(rounding_high_product(kHalfThree, y), rounding_high_product(half_x, cube)), 3);
  }
  constexpr std::int32_t kHalfSqrt2 = 1518500250;
  y = rounding_high_product(y, kHalfSqrt2);
  if (right_shift < 0) return {wrapping_shift_left(y, -right_shift), 0};
  return {y, -right_shift};
}

std::int32_t fixed_normalized(Profile profile, FixedNormForm form, FixedMultiplier inverse, std::int32_t x) {
  if (form == FixedNormForm::in_value) return inverse.apply(profile, 128 * x);
  return FixedMultiplier{inverse.multiplier, inverse.shift + 7}.apply(profile, x);
}

FixedHardSwish FixedHardSwish::of(float x_scale, float y_scale) {
  const auto in_15_bits = [](std::int32_t multiplier) {
    return multiplier >= kHighest - (1 << 15) ? 32767 : (multiplier + (1 << 15)) >> 16;
  };
  const float fine_scale = (1.0f / 128.0f) * x_scale;
  const FixedMultiplier output = FixedMultiplier::of(static_cast<double>(fine_scale / y_scale));
  const FixedMultiplier reluish = FixedMultiplier::of(static_cast<double>(fine_scale / (3.0f / 32768.0f)));
  return {in_15_bits(output.multiplier), in_15_bits(reluish.multiplier), output.shift, reluish.shift};
}

std::int32_t FixedHardSwish::apply(std::int32_t x) const {
  const std::int32_t fine = wrapped_16(x * 128);
  const std::int32_t scaled = rounding_high_product_16(fine, output);
  // relu6(x + 3) / 6: x from [-3, 3] to [-1, 1], then to [0, 1], 15 bits behind the point.
  std::int32_t factor = fine;
  if (reluish_exponent > 0) factor = saturating_shift_left_16(factor, reluish_exponent - 1);
  factor = rounding_high_product_16(factor, reluish);
  if (reluish_exponent > 0) factor = saturating_shift_left_16(factor, 1);
  if (reluish_exponent < 0) factor = rounding_divide(factor, -reluish_exponent);
  factor = (factor + (1 << 15)) >> 1;
  // This product is cut off, not rounded.
  const std::int32_t product = wrapped_16(factor * scaled / (1 << 15));
  return rounding_divide(product, -output_exponent);
}

}  // namespace octavo
