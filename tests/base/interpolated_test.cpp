// Functions of s16 values, interpolated, against the real functions and the source's numbers. Part of the tests of
// base/.
#include "base/interpolated.h"

#include <gtest/gtest.h>

#include <random>

#include "base/fixed_point.h"

namespace octavo {
namespace {

// floor(x * multiplier / 2^shift + 1/2), by 128-bit integers.
TEST(WideMultiplier, RoundsOnceHalvesUp) {
  EXPECT_EQ(WideMultiplier::of(FixedMultiplier::of(0.5)), (WideMultiplier{16384, 15}));
  EXPECT_EQ(WideMultiplier::of(FixedMultiplier::of(1.0)), (WideMultiplier{16384, 14}));
  // What would round up to 16 bits.
  EXPECT_EQ(WideMultiplier::of(FixedMultiplier::of(1.0 - 0x1p-20)), (WideMultiplier{32767, 15}));
  EXPECT_EQ((WideMultiplier{16384, 15}).apply(3), 2);
  EXPECT_EQ((WideMultiplier{16384, 15}).apply(-3), -1);
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const double factor = std::exp(std::uniform_real_distribution<double>(-15.0, 0.0)(random));
    const WideMultiplier wide = WideMultiplier::of(FixedMultiplier::of(factor));
    EXPECT_NEAR(std::ldexp(wide.multiplier, -wide.shift) / factor, 1.0, 0x1p-14);
    const auto x = static_cast<std::int64_t>(random()) >> (34 + random() % 20);
    const __int128 twice = (static_cast<__int128>(x) * wide.multiplier >> (wide.shift - 1)) + 1;
    EXPECT_EQ(wide.apply(x), static_cast<std::int32_t>(twice >> 1)) << x << " " << wide.shift;
  }
}

TEST(InterpolatedTable, MeetsEntriesAndIsALineBetweenThem) {
  InterpolatedTable table;
  for (int i = 0; i <= InterpolatedTable::kSteps; ++i)
    table.entries[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(64 * i - 16384);
  for (int x = -32768; x <= 32767; ++x) EXPECT_EQ(table.at(static_cast<std::int16_t>(x)), (x + 1) >> 1) << x;
}

// Entries are a 65536th nearer to one another than s16 values that they stand for: up to one value at the end.
TEST(InterpolatedTable, IsNearTheFunction) {
  constexpr float kScale = 1e-4f, kResult = 1e-3f;
  const auto table =
      InterpolatedTable::of<float>(kScale * -32768.0f, kScale * 32767.0f, kResult, [](float x) { return std::exp(x); });
  for (int x = -32768; x <= 32767; x += 7)
    EXPECT_NEAR(table.at(static_cast<std::int16_t>(x)), std::exp(static_cast<double>(kScale) * x) / 1e-3, 4.0);
}

TEST(InterpolatedSigmoid, IsNearTheFunctions) {
  for (const float scale : {0x1p-12f, 0x1p-11f, 3e-4f, 1e-3f, 2e-5f}) {
    const auto sigmoid = InterpolatedSigmoid::of_sigmoid(scale), tanh = InterpolatedSigmoid::of_tanh(scale);
    for (int x = -32768; x <= 32767; x += 5) {
      const double real = static_cast<double>(scale) * x;
      EXPECT_NEAR(sigmoid.sigmoid(static_cast<std::int16_t>(x)), 32768.0 / (1.0 + std::exp(-real)), 4.0) << scale;
      EXPECT_NEAR(tanh.tanh(static_cast<std::int16_t>(x)), 32768.0 * std::tanh(real), 12.0) << scale << " " << x;
    }
  }
}

TEST(InterpolatedSigmoid, PowersOfTwo) {
  int exponent = 0;
  EXPECT_TRUE(is_near_power_of_two(0x1p-12f, exponent));
  EXPECT_EQ(exponent, -12);
  EXPECT_TRUE(is_near_power_of_two(0x1p-11f * 1.0001f, exponent));
  EXPECT_FALSE(is_near_power_of_two(3e-4f, exponent));
  EXPECT_EQ(InterpolatedSigmoid::of_sigmoid(0x1p-12f).multiplier, 3);
  EXPECT_EQ(InterpolatedSigmoid::of_tanh(0x1p-11f).multiplier, 6);
  EXPECT_NE(InterpolatedSigmoid::of_sigmoid(0x1p-11f).multiplier, 6);
}

TEST(InterpolatedSoftmax, SharesAddUpToOne) {
  const std::vector<std::int16_t> exponentials = interpolated_exponentials(1e-3f, 1.0f);
  EXPECT_EQ(exponentials[0], 32762);  // the last entry of the table, moved
  EXPECT_NEAR(exponentials[1000], 32768.0 * std::exp(-1.0), 3.0);
  EXPECT_NEAR(exponentials[20000], 0, 2);
  std::mt19937 random(3);
  for (int length = 1; length < 300; length += 13) {
    std::vector<std::int16_t> line(static_cast<std::size_t>(length));
    std::int32_t sum = 32767;
    for (std::int16_t& value : line) sum += value = exponentials[random() % 3000];
    const InterpolatedReciprocal reciprocal = InterpolatedReciprocal::of(sum);
    std::int32_t total = reciprocal.share(32767);
    for (const std::int16_t value : line) total += reciprocal.share(value);
    EXPECT_NEAR(total, 32768, 10 + length);
  }
}

}  // namespace
}  // namespace octavo
