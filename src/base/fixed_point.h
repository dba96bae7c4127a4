// Fixed-point arithmetic of TFLite's own kernels (profiles tflite-double, tflite-optimized and tflite-single); belongs
// to the rule book of requantize.h. Part of base/.
//
// Everything is exact integer arithmetic; what the sources leave undefined (sums and shifts beyond 32 bits) wraps.
// Measured against LiteRT 2.3's reference kernels, docs/numerics.md.
#ifndef OCTAVO_BASE_FIXED_POINT_H_
#define OCTAVO_BASE_FIXED_POINT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

#include "base/fields.h"
#include "base/fixed_quotient.h"
#include "base/requantize.h"

namespace octavo {

// a * b / 2^31, rounded to the nearest, halves up.
inline std::int32_t rounding_high_product(std::int32_t a, std::int32_t b) {
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
  if (a == kLowest && b == kLowest) return std::numeric_limits<std::int32_t>::max();
  const std::int64_t product = std::int64_t{a} * b;
  return static_cast<std::int32_t>((product + (product >= 0 ? std::int64_t{1} << 30 : 1 - (std::int64_t{1} << 30))) /
                                   (std::int64_t{1} << 31));
}

// x / 2^exponent, 0 <= exponent <= 31, rounded to the nearest, halves up; the half is added modulo 2^32.
inline std::int32_t rounding_up_divide(std::int32_t x, int exponent) {
  const std::uint32_t half = (std::uint32_t{1} << exponent) >> 1;
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) + half) >> exponent;
}

// The same, halves away from 0.
inline std::int32_t rounding_divide(std::int32_t x, int exponent) {
  const std::int64_t mask = (std::int64_t{1} << exponent) - 1;
  const std::int64_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + ((x & mask) > threshold ? 1 : 0);
}

inline std::int32_t wrapping_shift_left(std::int32_t x, int bits) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << bits);
}

// A real factor from 0 to below 2^30 as multiplier * 2^(shift - 31).
struct FixedMultiplier {
  static constexpr int kLowestShift = -31;
  static constexpr int kHighestShift = 30;

  std::int32_t multiplier = 0;  // 0, or in [2^30, 2^31)
  std::int32_t shift = 0;

  // The nearest one; 0 where the factor is below 2^-32, the largest there is where it is too large.
  static FixedMultiplier of(double factor) {
    if (!(factor > 0.0)) return {};
    if (!std::isfinite(factor)) return {std::numeric_limits<std::int32_t>::max(), kHighestShift};
    int shift = 0;
    const double fraction = std::frexp(factor, &shift);
    auto multiplier = static_cast<std::int64_t>(std::round(fraction * 0x1p31));
    if (multiplier == std::int64_t{1} << 31) {
      multiplier /= 2;
      ++shift;
    }
    if (shift < kLowestShift) return {};
    if (shift > kHighestShift) return {std::numeric_limits<std::int32_t>::max(), kHighestShift};
    return {static_cast<std::int32_t>(multiplier), shift};
  }

  // x times the factor. tflite-double: the high half of the product is rounded, halves up, then what the shift takes
  // away, halves away from 0; tflite-optimized: the same, both halves up; tflite-single: rounded once, halves up.
  std::int32_t apply(Profile profile, std::int32_t x) const {
    if (profile == Profile::tflite_single) {
      const int total = 31 - shift;
      return static_cast<std::int32_t>((std::int64_t{x} * multiplier + (std::int64_t{1} << (total - 1))) >> total);
    }
    const std::int32_t high = rounding_high_product(wrapping_shift_left(x, shift > 0 ? shift : 0), multiplier);
    const int exponent = shift > 0 ? 0 : -shift;
    return profile == Profile::tflite_optimized ? rounding_up_divide(high, exponent) : rounding_divide(high, exponent);
  }
  bool is_valid() const { return multiplier >= 0 && shift >= kLowestShift && shift <= kHighestShift; }

  bool operator==(const FixedMultiplier&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"multiplier", &FixedMultiplier::multiplier}, Field{"shift", &FixedMultiplier::shift});
  }
};

// The same factor for sums of 64 bits, with 15 bits of it, as TFLite multiplies such sums in all profiles
// (MultiplyByQuantizedMultiplier of an int64_t, kernels/internal/common.cc): x * multiplier / 2^shift, rounded once,
// halves up, the lowest 32 bits of that.
struct WideMultiplier {
  static constexpr int kMostShift = 46;

  std::int32_t multiplier = 0;  // 0 to 32767
  std::int32_t shift = 15;      // 1 to kMostShift

  static WideMultiplier of(const FixedMultiplier& factor) {
    constexpr std::int32_t kLargest = 0x7fff;
    const bool is_largest = factor.multiplier >= (kLargest << 16);
    return {is_largest ? kLargest : (factor.multiplier + (1 << 15)) >> 16,
            std::clamp(15 - factor.shift, 1, kMostShift)};
  }
  bool operator==(const WideMultiplier&) const = default;
  std::int32_t apply(std::int64_t x) const {
    const std::uint64_t product = static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(multiplier);
    return static_cast<std::int32_t>(static_cast<std::int64_t>(product + (std::uint64_t{1} << (shift - 1))) >> shift);
  }
};

// Mean over `count` elements: the multiplier of the sum's scale divided by the count, with as many bits as are left.
inline FixedMultiplier mean_multiplier(FixedMultiplier scale, std::int64_t count) {
  int shift = 0;
  while (shift < 62 && (count >> (shift + 1)) > 0) ++shift;
  shift = std::min({shift, 32, 31 + scale.shift});
  return {static_cast<std::int32_t>((std::int64_t{scale.multiplier} << shift) / count), scale.shift - shift};
}

// Addition and subtraction in 2^-20ths of twice the larger scale (2^-15ths of s16 values), product, PReLU, the square
// of a difference in 2^-7ths, and quotient (fixed_quotient.h, the same in all profiles): y = result of (a', b'), a' = a
// - a_zero_point.
enum class FixedBinaryKind : std::uint8_t { add = 0, sub = 1, mul = 2, prelu = 3, squared_difference = 4, div = 5 };
constexpr int count_of(FixedBinaryKind) { return 6; }
constexpr std::string_view name_of(FixedBinaryKind kind) {
  constexpr std::string_view names[] = {"add", "sub", "mul", "prelu", "squared_difference", "div"};
  return names[static_cast<int>(kind)];
}

struct FixedBinaryForm {
  static constexpr int kHeadroom = 20;
  static constexpr int kHeadroomOfS16 = 15;
  static constexpr int kSquareHeadroom = 7;

  FixedBinaryKind kind = FixedBinaryKind::add;
  FixedMultiplier a;                  // add, sub, squared_difference: of a'; prelu: of a' from 0 on
  FixedMultiplier b;                  // add, sub, squared_difference: of b'
  FixedMultiplier y;                  // of the sum, of a' * b', of the square, of a' / b'; prelu: of a' * b' below 0
  std::int32_t headroom = kHeadroom;  // add, sub: bits behind the point

  static FixedBinaryForm of(FixedBinaryKind kind, float a_scale, float b_scale, float y_scale,
                            std::int32_t headroom = kHeadroom) {
    const FixedMultiplier product = FixedMultiplier::of(static_cast<double>(a_scale * b_scale / y_scale));
    if (kind == FixedBinaryKind::mul) return {kind, {}, {}, product};
    if (kind == FixedBinaryKind::prelu)
      return {kind, FixedMultiplier::of(static_cast<double>(a_scale / y_scale)), {}, product};
    if (kind == FixedBinaryKind::div)
      return {kind, {}, {}, FixedMultiplier::of(static_cast<double>(a_scale / (b_scale * y_scale)))};
    const double twice = 2.0 * static_cast<double>(a_scale > b_scale ? a_scale : b_scale);
    const bool is_square = kind == FixedBinaryKind::squared_difference;
    const double unit = is_square ? twice * twice / (1 << (2 * kSquareHeadroom)) : twice / (1 << headroom);
    return {kind, FixedMultiplier::of(static_cast<double>(a_scale) / twice),
            FixedMultiplier::of(static_cast<double>(b_scale) / twice),
            FixedMultiplier::of(unit / static_cast<double>(y_scale)), headroom};
  }

  // a' and b' are differences of 8-bit values, or s16 values. Before the zero point.
  std::int32_t apply(Profile profile, std::int32_t a_part, std::int32_t b_part) const {
    if (kind == FixedBinaryKind::mul) return y.apply(profile, a_part * b_part);
    if (kind == FixedBinaryKind::prelu)
      return a_part >= 0 ? a.apply(profile, a_part) : y.apply(profile, a_part * b_part);
    if (kind == FixedBinaryKind::div) return fixed_quotient(y.multiplier, y.shift, a_part, b_part);
    const bool is_square = kind == FixedBinaryKind::squared_difference;
    const int bits = is_square ? kSquareHeadroom : headroom;
    const auto left = static_cast<std::uint32_t>(a.apply(profile, wrapping_shift_left(a_part, bits)));
    const auto right = static_cast<std::uint32_t>(b.apply(profile, wrapping_shift_left(b_part, bits)));
    if (is_square) return y.apply(profile, static_cast<std::int32_t>((left - right) * (left - right)));
    return y.apply(profile, static_cast<std::int32_t>(kind == FixedBinaryKind::sub ? left - right : left + right));
  }
  bool is_valid() const {
    return a.is_valid() && b.is_valid() && y.is_valid() && headroom >= 0 && headroom <= kHeadroom;
  }

  bool operator==(const FixedBinaryForm&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"kind", &FixedBinaryForm::kind}, Field{"a", &FixedBinaryForm::a},
                      Field{"b", &FixedBinaryForm::b}, Field{"y", &FixedBinaryForm::y},
                      Field{"headroom", &FixedBinaryForm::headroom});
  }
};

// ---- functions (fixed_point.cpp) ----

// exp(x / 2^26) * 2^31 for x <= 0.
std::int32_t fixed_exp(std::int32_t x);
// Entry i of the table of exponentials of a softmax: that of an element 255 - i below the largest of its line; 0: too
// far below to count.
std::int32_t fixed_softmax_exponential(Profile profile, int i, float x_scale, float beta);
// What softmax adds up.
inline std::int32_t fixed_softmax_term(std::int32_t exponential) { return rounding_divide(exponential, 12); }
// 1 / the sum of a line's terms, and an element's share of 256, from 0 on.
struct FixedReciprocal {
  std::int32_t scale = 0;
  int exponent = 0;

  static FixedReciprocal of(std::int32_t sum);
  std::int32_t share(std::int32_t exponential) const;
};

// 1 / sqrt of a sum of squares, for L2 normalization: x / |x| in units of 1/128 is that times 128 x.
FixedMultiplier fixed_inverse_sqrt(std::int32_t sum_of_squares);
// s8 files have the 128 in the factor, u8 files in x; tflite-double rounds the two differently.
enum class FixedNormForm : std::uint8_t { in_factor = 0, in_value = 1 };
constexpr int count_of(FixedNormForm) { return 2; }
constexpr std::string_view name_of(FixedNormForm form) {
  constexpr std::string_view names[] = {"in_factor", "in_value"};
  return names[static_cast<int>(form)];
}
std::int32_t fixed_normalized(Profile profile, FixedNormForm form, FixedMultiplier inverse, std::int32_t x);

// Hard-swish in 16 bits, of both profiles alike, before the clamp.
struct FixedHardSwish {
  std::int32_t output = 0, reluish = 0;  // multipliers of 15 bits
  int output_exponent = 0, reluish_exponent = 0;

  static FixedHardSwish of(float x_scale, float y_scale);
  // Scales for which the source has this formula.
  bool is_possible() const { return output_exponent <= 0; }
  // Of x without its zero point; the result's comes after.
  std::int32_t apply(std::int32_t x) const;
};

}  // namespace octavo

#endif  // OCTAVO_BASE_FIXED_POINT_H_
