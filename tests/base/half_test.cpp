// f16 and bf16 conversions: all halves, and every boundary between two of them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/dtype.h"

namespace octavo {
namespace {

// The value of an f16 by its definition.
double f16_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST(Half, EveryF16IsExactAndComesBack) {
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = f16_to_f32(bits);
    if (std::isnan(f16_value(bits))) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value))));
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), f16_value(bits)) << i;
    ASSERT_EQ(f32_to_f16(value), bits) << i;
  }
}

TEST(Half, F16RoundsToNearestEvenBetweenAnyTwo) {
  for (int i = 0; i < 0x7c00; ++i) {
    const auto low = static_cast<std::uint16_t>(i);
    const auto high = static_cast<std::uint16_t>(i + 1);
    const double next = i + 1 == 0x7c00 ? 65536.0 : f16_value(high);
    const auto middle = static_cast<float>((f16_value(low) + next) / 2);  // exact in f32
    ASSERT_EQ(f32_to_f16(middle), i % 2 == 0 ? low : high) << i;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), low) << i;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 1e9f)), high) << i;
    ASSERT_EQ(f32_to_f16(-middle), (i % 2 == 0 ? low : high) | 0x8000) << i;
  }
  EXPECT_EQ(f32_to_f16(1e30f), 0x7c00);
  EXPECT_EQ(f32_to_f16(1e-30f), 0);
}

TEST(Half, Bf16RoundsToNearestEvenBetweenAnyTwo) {
  for (int i = 0; i < 0x7f80; ++i) {
    const std::uint32_t low = static_cast<std::uint32_t>(i) << 16;
    const auto at = [&](std::uint32_t offset) { return f32_to_bf16(std::bit_cast<float>(low + offset)); };
    ASSERT_EQ(bf16_to_f32(static_cast<std::uint16_t>(i)), std::bit_cast<float>(low));
    ASSERT_EQ(at(0), i);
    ASSERT_EQ(at(0x7fff), i);
    ASSERT_EQ(at(0x8000), i + i % 2);
    ASSERT_EQ(at(0x8001), i + 1);
  }
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(f32_to_bf16(-std::numeric_limits<float>::infinity()), 0xff80);
}

}  // namespace
}  // namespace octavo
