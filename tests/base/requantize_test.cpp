// The rule book of rounding: ties, saturation, and where the zero point is added.
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

TEST(Requantize, ZeroPointBeforeOrAfterRoundingDiffersOnTies) {
  // 0.5 rounds to 0, then 3; 3.5 rounds to 4.
  EXPECT_EQ(round_then_zero_point(0.5f, 3, 0, 255), 3);
  EXPECT_EQ(zero_point_then_round(0.5f, 3, 0, 255), 4);
}

TEST(Requantize, SaturatesWithoutOverflow) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (float x : {1e30f, kInfinity, 255.4f}) EXPECT_EQ(round_then_zero_point(x, 10, 0, 255), 255);
  for (float x : {-1e30f, -kInfinity, -10.4f}) EXPECT_EQ(round_then_zero_point(x, 10, 0, 255), 0);
  EXPECT_EQ(round_then_zero_point(std::numeric_limits<float>::quiet_NaN(), 10, 0, 255), 0);
  EXPECT_EQ(zero_point_then_round(kInfinity, 10, -128, 127), 127);
  EXPECT_EQ(requantize(std::numeric_limits<std::int32_t>::min(), 1.0f, 0, -128, 127), -128);
  EXPECT_EQ(requantize(std::numeric_limits<std::int32_t>::max(), 1.0f, 0, -128, 127), 127);
}

TEST(Requantize, QuantizeDividesTruly) {
  EXPECT_EQ(quantize_value(7.5f, 3.0f, 0, -128, 127), 2);  // 2.5, a tie
  EXPECT_EQ(quantize_value(-1.0f, 0.5f, 128, 0, 255), 126);
  EXPECT_FLOAT_EQ(dequantize_value(126, 0.5f, 128), -1.0f);
}

TEST(Requantize, AddFormIsTheSumOfWhatIsMeant) {
  const AddForm form = AddForm::of(0.5f, 3, 0.25f, 4, 0.25f, 5);
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      // All ratios are powers of two, so that the exact answer is an integer.
      const int exact = (a - 3) * 2 + (b - 4) + 5;
      ASSERT_EQ(form.apply(a, b, 0, 255), std::min(255, std::max(0, exact)));
    }
  }
}

TEST(Requantize, ResidualIsOneRounding) {
  EXPECT_EQ(requantize_with_residual(10, 0.25f, 3, 0.5f, 7, 0, 255), 4 + 7);
  EXPECT_EQ(requantize_with_residual(100000, 1.0f, 0, 0.5f, 7, 0, 255), 255);
}

}  // namespace
}  // namespace octavo
