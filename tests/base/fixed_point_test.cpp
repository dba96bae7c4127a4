// Fixed-point arithmetic against the real numbers and against exact integers. Part of the tests of base/.
#include "base/fixed_point.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace octavo {
namespace {

constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kSmallest = std::numeric_limits<std::int32_t>::min();

double real(FixedMultiplier factor) { return std::ldexp(factor.multiplier, factor.shift - 31); }

TEST(FixedMultiplier, IsTheNearestOf31Bits) {
  EXPECT_EQ(FixedMultiplier::of(std::numeric_limits<double>::infinity()), FixedMultiplier::of(0x1p40));
  EXPECT_EQ(FixedMultiplier::of(1.0), (FixedMultiplier{1 << 30, 1}));
  EXPECT_EQ(FixedMultiplier::of(0.5), (FixedMultiplier{1 << 30, 0}));
  EXPECT_EQ(FixedMultiplier::of(0.75), (FixedMultiplier{3 << 29, 0}));
  // The fraction rounds up to 1.
  EXPECT_EQ(FixedMultiplier::of(1.0 - 0x1p-40), (FixedMultiplier{1 << 30, 1}));
  EXPECT_EQ(FixedMultiplier::of(0.0), FixedMultiplier{});
  EXPECT_EQ(FixedMultiplier::of(-1.0), FixedMultiplier{});
  EXPECT_EQ(FixedMultiplier::of(std::nan("")), FixedMultiplier{});
  EXPECT_EQ(FixedMultiplier::of(0x1p-40), FixedMultiplier{});
  EXPECT_EQ(FixedMultiplier::of(0x1p40), (FixedMultiplier{kLargest, 30}));
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const double factor = std::exp(std::uniform_real_distribution<double>(-15.0, 15.0)(random));
    EXPECT_NEAR(real(FixedMultiplier::of(factor)) / factor, 1.0, 0x1p-31);
    EXPECT_TRUE(FixedMultiplier::of(factor).is_valid());
  }
}

// tflite-single: floor(x * factor + 1/2), by 128-bit integers.
TEST(FixedMultiplier, SingleRoundsOnceHalvesUp) {
  EXPECT_EQ(FixedMultiplier::of(0.5).apply(Profile::tflite_single, 3), 2);
  EXPECT_EQ(FixedMultiplier::of(0.5).apply(Profile::tflite_single, -3), -1);
  std::mt19937 random(2);
  for (int i = 0; i < 20000; ++i) {
    const auto x = static_cast<std::int32_t>(random()) >> (random() % 24);
    const FixedMultiplier factor =
        FixedMultiplier::of(std::exp(std::uniform_real_distribution<double>(-12.0, 0.0)(random)));
    const __int128 twice = (static_cast<__int128>(x) * factor.multiplier >> (30 - factor.shift)) + 1;
    EXPECT_EQ(factor.apply(Profile::tflite_single, x), static_cast<std::int32_t>(twice >> 1))
        << x << " " << print(factor);
  }
}

// tflite-double: halves up, of the high half of the product; halves away from 0 of what the shift takes away.
TEST(FixedMultiplier, DoubleRoundsTwice) {
  EXPECT_EQ(FixedMultiplier::of(0.5).apply(Profile::tflite_double, 3), 2);
  EXPECT_EQ(FixedMultiplier::of(0.5).apply(Profile::tflite_double, -3), -1);
  EXPECT_EQ(FixedMultiplier::of(0.25).apply(Profile::tflite_double, -6), -2);
  // 0.4999.. becomes 0.5 in the first rounding and 1 in the second.
  const FixedMultiplier factor{kLargest, -1};
  EXPECT_EQ(factor.apply(Profile::tflite_double, 1), 1);
  EXPECT_EQ(factor.apply(Profile::tflite_single, 1), 0);
  const auto away = [](double value) {
    return std::trunc(value) + (std::fabs(value - std::trunc(value)) >= 0.5 ? std::copysign(1.0, value) : 0.0);
  };
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    // Products of 53 bits are exact in f64.
    const std::int32_t x = (static_cast<std::int32_t>(random()) >> 10) >> (random() % 16);
    const FixedMultiplier one =
        FixedMultiplier::of(std::exp(std::uniform_real_distribution<double>(-12.0, 0.0)(random)));
    const double high = std::floor(static_cast<double>(x) * one.multiplier / 0x1p31 + 0.5);
    EXPECT_EQ(one.apply(Profile::tflite_double, x), static_cast<std::int32_t>(away(std::ldexp(high, one.shift))))
        << x << " " << print(one);
  }
}

// tflite-optimized: halves up in both roundings.
TEST(FixedMultiplier, OptimizedRoundsUpTwice) {
  EXPECT_EQ(FixedMultiplier::of(0.25).apply(Profile::tflite_optimized, 6), 2);
  EXPECT_EQ(FixedMultiplier::of(0.25).apply(Profile::tflite_optimized, -6), -1);
  EXPECT_EQ(FixedMultiplier::of(0.25).apply(Profile::tflite_double, -6), -2);
  EXPECT_EQ(FixedMultiplier::of(3.0).apply(Profile::tflite_optimized, -7), -21);
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    const std::int32_t x = (static_cast<std::int32_t>(random()) >> 10) >> (random() % 16);
    const FixedMultiplier one =
        FixedMultiplier::of(std::exp(std::uniform_real_distribution<double>(-12.0, 0.0)(random)));
    const double high = std::floor(static_cast<double>(x) * one.multiplier / 0x1p31 + 0.5);
    EXPECT_EQ(one.apply(Profile::tflite_optimized, x),
              static_cast<std::int32_t>(std::floor(std::ldexp(high, one.shift) + 0.5)))
        << x << " " << print(one);
  }
}

// LiteRT 2.3's, also where its shifts leave 31 bits: of x, y steps of 0.05 in steps of 0.01.
TEST(FixedBinaryForm, Quotients) {
  const FixedBinaryForm form = FixedBinaryForm::of(FixedBinaryKind::div, 0.05f, 0.05f, 0.01f);
  for (const int a : {-255, -40, 3, 255}) {
    for (const int b : {-255, -3, 17, 255}) {
      const double real = static_cast<double>(a) / b / 0.01;
      EXPECT_NEAR(form.apply(Profile::tflite_double, a, b), real, 0.51 + std::fabs(real) * 1e-6) << a << " " << b;
    }
  }
  EXPECT_EQ(form.apply(Profile::tflite_double, 7, 0), form.apply(Profile::tflite_double, 7, 1));
}

// (a - b)² in 2^-7ths of twice the larger scale.
TEST(FixedBinaryForm, SquaresOfDifferences) {
  const FixedBinaryForm form = FixedBinaryForm::of(FixedBinaryKind::squared_difference, 0.02f, 0.03f, 0.05f);
  for (const int a : {-255, -40, 0, 3, 255}) {
    for (const int b : {-255, -1, 0, 17, 255}) {
      const double real = (a * 0.02 - b * 0.03) * (a * 0.02 - b * 0.03) / 0.05;
      EXPECT_NEAR(form.apply(Profile::tflite_double, a, b), real, 0.6 + real * 0.002) << a << " " << b;
    }
  }
}

TEST(FixedMultiplier, ExtremesAreDefined) {
  for (const std::int32_t x : {kSmallest, kLargest, -1, 0, 1}) {
    for (const int shift : {-31, -1, 0, 1, 30}) {
      for (const std::int32_t multiplier : {0, 1, 1 << 30, kLargest, kSmallest}) {
        const FixedMultiplier factor{multiplier, shift};
        factor.apply(Profile::tflite_double, x);
        factor.apply(Profile::tflite_single, x);
        factor.apply(Profile::tflite_optimized, x);
      }
    }
  }
  EXPECT_EQ(rounding_high_product(kSmallest, kSmallest), kLargest);
  EXPECT_EQ(rounding_divide(kSmallest, 31), -1);
  EXPECT_EQ(rounding_divide(kLargest, 31), 1);
  EXPECT_EQ(rounding_divide(7, 0), 7);
}

TEST(FixedPoint, MeansDivideTheFactor) {
  for (const std::int64_t count : {1, 2, 3, 49, 1000, 1 << 22}) {
    const FixedMultiplier scale = FixedMultiplier::of(0.7);
    EXPECT_NEAR(real(mean_multiplier(scale, count)) * static_cast<double>(count) / 0.7, 1.0, 1e-8);
  }
}

TEST(FixedPoint, ExponentialsAreNearTheRealOnes) {
  EXPECT_EQ(fixed_exp(0), kLargest);
  for (double x = -30.9; x < 0.0; x += 0.0137) {
    EXPECT_NEAR(fixed_exp(static_cast<std::int32_t>(x * 0x1p26)) / 0x1p31, std::exp(x), 3e-7) << x;
  }
}

TEST(FixedPoint, SoftmaxTablesCutOffWhatIsTooSmall) {
  for (const Profile profile : {Profile::tflite_double, Profile::tflite_single}) {
    EXPECT_EQ(fixed_softmax_exponential(profile, 255, 0.1f, 1.0f), kLargest);
    EXPECT_NEAR(fixed_softmax_exponential(profile, 245, 0.1f, 1.0f) / 0x1p31, std::exp(-1.0), 1e-6);
    EXPECT_NEAR(fixed_softmax_exponential(profile, 245, 0.1f, 2.0f) / 0x1p31, std::exp(-2.0), 1e-6);
    EXPECT_EQ(fixed_softmax_exponential(profile, 0, 1.0f, 1.0f), 0);
    EXPECT_EQ(fixed_softmax_exponential(profile, 254, 1e30f, 1.0f), 0);
    EXPECT_EQ(fixed_softmax_exponential(profile, 255, 1e30f, 1.0f), kLargest);
  }
}

TEST(FixedPoint, SharesAddUpTo256) {
  for (const int count : {1, 2, 3, 10, 100, 500}) {
    const std::int32_t one = fixed_exp(0);
    const FixedReciprocal reciprocal = FixedReciprocal::of(fixed_softmax_term(one) * count);
    EXPECT_NEAR(reciprocal.share(one), 256.0 / count, 0.51) << count;
  }
  // Sums that no line gives.
  for (const std::int32_t sum : {kSmallest, -1, 0, 1, kLargest}) FixedReciprocal::of(sum).share(kLargest);
}

TEST(FixedPoint, InverseSquareRoots) {
  for (const std::int32_t sum : {1, 2, 3, 4, 100, 65025, 1 << 28, 1 << 29, kLargest}) {
    EXPECT_NEAR(real(fixed_inverse_sqrt(sum)) * std::sqrt(static_cast<double>(sum)), 1.0, 2e-6) << sum;
  }
  EXPECT_EQ(fixed_inverse_sqrt(0), fixed_inverse_sqrt(1));
}

TEST(FixedPoint, HardSwishIsAStepFromTheRealOne) {
  for (const float x_scale : {0.01f, 0.05f, 0.2f}) {
    const float y_scale = x_scale * 0.9f;
    const FixedHardSwish form = FixedHardSwish::of(x_scale, y_scale);
    ASSERT_TRUE(form.is_possible());
    for (int q = -200; q <= 200; ++q) {
      const double x = static_cast<double>(x_scale) * q;
      EXPECT_NEAR(form.apply(q), x * std::min(std::max(x + 3.0, 0.0), 6.0) / 6.0 / static_cast<double>(y_scale), 1.0)
          << q;
    }
  }
  EXPECT_FALSE(FixedHardSwish::of(1.0f, 0.001f).is_possible());
}

}  // namespace
}  // namespace octavo
