// Observers and scales. Part of tests/quantize/.
#include "quantize/observer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "quantize/histogram.h"
#include "quantize/node_pattern.h"
#include "quantize/scales.h"

namespace octavo {
namespace {

std::vector<float> random_values(unsigned seed, float scale, int count) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(random);
  return values;
}

TEST(Observer, MinMax) {
  Observer observer(CalibrationMethod::minmax);
  EXPECT_TRUE(observer.add(std::vector<float>{2.0f, 5.0f}).has_value());
  EXPECT_TRUE(observer.add(std::vector<float>{3.0f, 1.0f}).has_value());
  EXPECT_EQ(observer.range(99.0).lowest, 1.0f);
  EXPECT_EQ(observer.range(99.0).highest, 5.0f);
}

TEST(Observer, RefusesWhatIsNotFinite) {
  Observer observer(CalibrationMethod::percentile);
  EXPECT_TRUE(observer.add(std::vector<float>{1.0f}).has_value());
  EXPECT_FALSE(observer.add(std::vector<float>{9.0f, std::numeric_limits<float>::quiet_NaN()}).has_value());
  EXPECT_FALSE(observer.add(std::vector<float>{std::numeric_limits<float>::infinity()}).has_value());
  EXPECT_EQ(observer.range(100.0).highest, 1.0f);
}

TEST(Observer, NearestRangeClipsOutliersOnly) {
  Observer even(CalibrationMethod::mse);
  EXPECT_TRUE(even.add(random_values(1, 3.0f, 100000)).has_value());
  EXPECT_NEAR(even.range(0.0).lowest, -3.0f, 0.05f);
  EXPECT_NEAR(even.range(0.0).highest, 3.0f, 0.05f);
  Observer outlier(CalibrationMethod::mse);
  EXPECT_TRUE(outlier.add(random_values(1, 3.0f, 10000000)).has_value());
  EXPECT_TRUE(outlier.add(std::vector<float>{6.0f}).has_value());
  EXPECT_NEAR(outlier.range(0.0).highest, 3.0f, 0.2f);
  EXPECT_NEAR(outlier.range(0.0).lowest, -3.0f, 0.05f);
}

TEST(Observer, NothingSeen) {
  const TensorRange range = Observer(CalibrationMethod::percentile).range(99.0);
  EXPECT_EQ(range.lowest, 0.0f);
  EXPECT_EQ(range.highest, 0.0f);
}

TEST(Observer, PercentileLeavesOutTheTails) {
  Observer observer(CalibrationMethod::percentile);
  std::vector<float> values(10000);
  for (int i = 0; i < 10000; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i) / 10000.0f;
  values[9999] = 900.0f;  // one outlier
  observer.add(values);
  const TensorRange range = observer.range(99.9);
  EXPECT_LT(range.highest, 1.6f);  // bins of 1024 / 2048
  EXPECT_GE(range.highest, 0.99f);
  EXPECT_EQ(observer.range(100.0).highest, 900.0f);
}

TEST(Observer, DoesNotDependOnTheOrderOfSamples) {
  const std::vector<float> parts[] = {random_values(1, 0.01f, 1000), random_values(2, 30.0f, 999),
                                      random_values(3, 1.0f, 1001), std::vector<float>(10, 0.0f)};
  Observer forward(CalibrationMethod::percentile);
  for (const auto& part : parts) forward.add(part);
  Observer backward(CalibrationMethod::percentile);
  for (int i = 3; i >= 0; --i) backward.add(parts[i]);
  for (const double percentile : {60.0, 90.0, 99.0, 99.99}) {
    const TensorRange expected = forward.range(percentile);
    EXPECT_EQ(backward.range(percentile).lowest, expected.lowest) << percentile;
    EXPECT_EQ(backward.range(percentile).highest, expected.highest) << percentile;
  }
}

TEST(Observer, ExtremeMagnitudes) {
  Observer observer(CalibrationMethod::percentile);
  const float huge = std::numeric_limits<float>::max();
  EXPECT_TRUE(observer.add(std::vector<float>{std::numeric_limits<float>::denorm_min(), -huge, huge}).has_value());
  EXPECT_EQ(observer.range(100.0).lowest, -huge);
  EXPECT_EQ(observer.range(100.0).highest, huge);
}

TEST(Observer, AverageIsAMeanAndThenForgets) {
  Observer observer(CalibrationMethod::average);
  for (int sample = 0; sample < 4; ++sample) {
    const float highest = sample == 3 ? 11.0f : 3.0f;
    observer.add_to_average(*observer.add(std::vector<float>{-1.0f, highest}));
  }
  EXPECT_FLOAT_EQ(observer.range(0.0).highest, 5.0f);
  EXPECT_FLOAT_EQ(observer.range(0.0).lowest, -1.0f);
  for (int sample = 0; sample < 2000; ++sample) observer.add_to_average({-7.0f, 9.0f});
  EXPECT_NEAR(observer.range(0.0).lowest, -7.0f, 0.01f);
  EXPECT_NEAR(observer.range(0.0).highest, 9.0f, 0.01f);
}

TEST(Observer, FiniteRangeOfEveryLength) {
  const std::vector<float> values = random_values(4, 5.0f, 70);
  for (std::size_t count = 1; count <= values.size(); ++count) {
    const std::span<const float> part(values.data(), count);
    const auto range = finite_range(part);
    ASSERT_TRUE(range);
    EXPECT_EQ(range->lowest, *std::min_element(part.begin(), part.end()));
    EXPECT_EQ(range->highest, *std::max_element(part.begin(), part.end()));
    for (std::size_t bad = 0; bad < count; ++bad) {
      std::vector<float> broken(part.begin(), part.end());
      broken[bad] = bad % 2 ? std::numeric_limits<float>::quiet_NaN() : -std::numeric_limits<float>::infinity();
      EXPECT_FALSE(finite_range(broken)) << count << " " << bad;
    }
  }
  EXPECT_FALSE(finite_range({}));
}

TEST(Histogram, EveryValueIsInTheBinThatHoldsIt) {
  const std::vector<float> values = random_values(6, 3.9f, 1001);
  Histogram histogram;
  histogram.add(values, 4.0f);  // 2^2 is not less than 4: the limit becomes 8
  std::vector<std::int64_t> expected(2 * Histogram::kHalf);
  for (const float value : values) {
    int bin = 0;
    while (bin >= 0 && value > 0.0f && value >= histogram.edge(bin + 1)) ++bin;
    while (value < 0.0f && value <= histogram.edge(bin)) --bin;
    if (value < 0.0f && bin == 0) bin = -1;
    ++expected[static_cast<std::size_t>(bin + Histogram::kHalf)];
  }
  EXPECT_EQ(histogram.edge(Histogram::kHalf), 8.0);
  for (int bin = -Histogram::kHalf; bin < Histogram::kHalf; ++bin)
    ASSERT_EQ(histogram.in_bin(bin), expected[static_cast<std::size_t>(bin + Histogram::kHalf)]) << bin;
  EXPECT_EQ(histogram.count(), 1001);
  EXPECT_EQ(histogram.zeros(), 0);
}

TEST(Observer, MethodsOnAHeavyTail) {
  // A normal distribution with a few values ten times as far out.
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(200000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = normal(random) * (i % 20000 == 0 ? 10.0f : 1.0f);
  const auto highest_by = [&](CalibrationMethod calibration) {
    Observer observer(calibration);
    observer.add_to_average(*observer.add(values));
    const TensorRange range = observer.range(99.9);
    EXPECT_LT(range.lowest, 0.0f);
    return std::max(range.highest, -range.lowest);
  };
  const float all = highest_by(CalibrationMethod::minmax);
  EXPECT_EQ(highest_by(CalibrationMethod::average), all);
  EXPECT_NEAR(highest_by(CalibrationMethod::percentile), 3.3f, 0.2f);
  const float entropy = highest_by(CalibrationMethod::entropy), squares = highest_by(CalibrationMethod::mse),
              careful = highest_by(CalibrationMethod::automatic);
  EXPECT_LT(entropy, 0.7f * all);
  EXPECT_LT(squares, 0.9f * all);
  EXPECT_GE(careful, squares);
  EXPECT_LE(careful, all);
}

TEST(Scales, ActivationsContainZero) {
  EXPECT_EQ(activation_scale({0.0f, 25.5f}), (ActivationScale{DType::u8, 25.5f / 255.0f, 0}));
  EXPECT_EQ(activation_scale({5.0f, 25.5f}), (ActivationScale{DType::u8, 25.5f / 255.0f, 0}));
  EXPECT_EQ(activation_scale({-1.0f, 1.0f}),
            (ActivationScale{DType::u8, 2.0f / 255.0f, 127}));  // the scale is just above 2/255, so 127.49999
  EXPECT_EQ(activation_scale({-3.0f, -1.0f}).zero_point, 255);
  EXPECT_EQ(activation_scale({0.0f, 0.0f}), (ActivationScale{DType::u8, 1.0f, 0}));
  const float huge = std::numeric_limits<float>::max();
  EXPECT_TRUE(std::isfinite(activation_scale({-huge, huge}).scale));
  EXPECT_GT(activation_scale({0.0f, std::numeric_limits<float>::denorm_min()}).scale, 0.0f);
}

TEST(Scales, GlobalScaleAsRelayQuantize) {
  EXPECT_EQ(global_activation_scale(8.0f), (ActivationScale{DType::s8, 0.0625f, 0}));
}

TEST(Scales, WeightsPerChannel) {
  const Tensor weights = Tensor::of<float>(Shape{3, 2}, std::vector<float>{1.27f, -0.5f, 0.0f, 0.0f, -254.0f, 254.0f});
  const QuantizedWeights result = quantize_weights(weights, 0, {}, 0.1f);
  EXPECT_EQ(result.scale, (std::vector<float>{1.27f / 127.0f, 1.0f, 2.0f}));
  const auto values = result.values.span<std::int8_t>();
  EXPECT_EQ((std::vector<int>(values.begin(), values.end())), (std::vector<int>{127, -50, 0, 0, -127, 127}));
  const QuantizedWeights columns = quantize_weights(weights, 1, {}, 0.1f);
  EXPECT_EQ(columns.scale, (std::vector<float>{2.0f, 2.0f}));
}

TEST(Scales, BiasStaysInside32Bits) {
  const Tensor weights = Tensor::of<float>(Shape{3, 1}, std::vector<float>{1e-9f, 1.27f, 0.0f});
  const std::vector<float> bias{1000.0f, 0.5f, 0.3f};
  const QuantizedWeights result = quantize_weights(weights, 0, bias, 0.01f);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_LE(std::abs(result.bias[c]), 1 << 30);
    EXPECT_NEAR(static_cast<double>(result.bias[c]) * 0.01 * result.scale[c], bias[c], std::abs(bias[c]) * 1e-3) << c;
  }
}

TEST(NodePattern, Globs) {
  EXPECT_TRUE(matches_glob("conv1", "conv1"));
  EXPECT_FALSE(matches_glob("conv1", "conv12"));
  EXPECT_TRUE(matches_glob("layer?/*", "layer1/conv/x"));
  EXPECT_TRUE(matches_glob("*conv*1*", "a/conv/b/1"));
  EXPECT_FALSE(matches_glob("*conv*2", "a/conv/b/1"));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_FALSE(matches_glob("", "a"));
  EXPECT_FALSE(matches_glob(std::string(40, '*') + "b", std::string(2000, 'a')));  // no exponential search
}

}  // namespace
}  // namespace octavo
