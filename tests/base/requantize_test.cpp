// The rule book of rounding: ties and saturation.
#include "base/requantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace octavo {
namespace {

TEST(Requantize, RoundsTiesToEven) {
  for (int i = -200; i < 200; ++i)
    EXPECT_EQ(round_then_zero_point(static_cast<float>(i) + 0.5f, 0, -1000, 1000), i + (i % 2 != 0 ? 1 : 0)) << i;
}

TEST(Requantize, SaturatesWithoutOverflow) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (float x : {1e30f, kInfinity, 255.4f}) EXPECT_EQ(round_then_zero_point(x, 10, 0, 255), 255);
  for (float x : {-1e30f, -kInfinity, -10.4f}) EXPECT_EQ(round_then_zero_point(x, 10, 0, 255), 0);
  EXPECT_EQ(round_then_zero_point(std::numeric_limits<float>::quiet_NaN(), 10, 0, 255), 0);
}

TEST(Requantize, QuantizeDividesTruly) {
  EXPECT_EQ(quantize_value(7.5f, 3.0f, 0, -128, 127), 2);  // 2.5, a tie
  EXPECT_EQ(quantize_value(-1.0f, 0.5f, 128, 0, 255), 126);
  EXPECT_FLOAT_EQ(dequantize_value(126, 0.5f, 128), -1.0f);
}

}  // namespace
}  // namespace octavo
