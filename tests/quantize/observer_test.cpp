// Observers and scales. Part of tests/quantize/.
#include "quantize/observer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

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
  Observer observer(Calibration::minmax);
  EXPECT_TRUE(observer.add(std::vector<float>{2.0f, 5.0f}));
  EXPECT_TRUE(observer.add(std::vector<float>{3.0f, 1.0f}));
  EXPECT_EQ(observer.range(99.0).lowest, 1.0f);
  EXPECT_EQ(observer.range(99.0).highest, 5.0f);
}

TEST(Observer, RefusesWhatIsNotFinite) {
  Observer observer(Calibration::percentile);
  EXPECT_TRUE(observer.add(std::vector<float>{1.0f}));
  EXPECT_FALSE(observer.add(std::vector<float>{9.0f, std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_FALSE(observer.add(std::vector<float>{std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(observer.range(100.0).highest, 1.0f);
}

TEST(Observer, NearestRangeClipsOutliersOnly) {
  Observer even(Calibration::mse);
  EXPECT_TRUE(even.add(random_values(1, 3.0f, 100000)));
  EXPECT_NEAR(even.range(0.0).lowest, -3.0f, 0.05f);
  EXPECT_NEAR(even.range(0.0).highest, 3.0f, 0.05f);
  Observer outlier(Calibration::mse);
  EXPECT_TRUE(outlier.add(random_values(1, 3.0f, 10000000)));
  EXPECT_TRUE(outlier.add(std::vector<float>{6.0f}));
  EXPECT_NEAR(outlier.range(0.0).highest, 3.0f, 0.2f);
  EXPECT_NEAR(outlier.range(0.0).lowest, -3.0f, 0.05f);
}

TEST(Observer, NothingSeen) {
  const TensorRange range = Observer(Calibration::percentile).range(99.0);
  EXPECT_EQ(range.lowest, 0.0f);
  EXPECT_EQ(range.highest, 0.0f);
}

TEST(Observer, PercentileLeavesOutTheTails) {
  Observer observer(Calibration::percentile);
  std::vector<float> values(10000);
  for (int i = 0; i < 10000; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i) / 10000.0f;
  values[9999] = 900.0f;  // one outlier
  observer.add(values);
  const TensorRange range = observer.range(99.9);
  EXPECT_LT(range.highest, 1.3f);  // bins of 1024 / 4096
  EXPECT_GE(range.highest, 0.99f);
  EXPECT_EQ(observer.range(100.0).highest, 900.0f);
}

TEST(Observer, DoesNotDependOnTheOrderOfSamples) {
  const std::vector<float> parts[] = {random_values(1, 0.01f, 1000), random_values(2, 30.0f, 999), random_values(3, 1.0f, 1001),
                                      std::vector<float>(10, 0.0f)};
  Observer forward(Calibration::percentile);
  for (const auto& part : parts) forward.add(part);
  Observer backward(Calibration::percentile);
  for (int i = 3; i >= 0; --i) backward.add(parts[i]);
  Observer first(Calibration::percentile);
  Observer second(Calibration::percentile);
  first.add(parts[0]);
  first.add(parts[2]);
  second.add(parts[1]);
  second.add(parts[3]);
  first.merge(second);
  for (const double percentile : {60.0, 90.0, 99.0, 99.99}) {
    const TensorRange expected = forward.range(percentile);
    for (const Observer* other : {&backward, &first}) {
      EXPECT_EQ(other->range(percentile).lowest, expected.lowest) << percentile;
      EXPECT_EQ(other->range(percentile).highest, expected.highest) << percentile;
    }
  }
}

TEST(Observer, ExtremeMagnitudes) {
  Observer observer(Calibration::percentile);
  const float huge = std::numeric_limits<float>::max();
  EXPECT_TRUE(observer.add(std::vector<float>{std::numeric_limits<float>::denorm_min(), -huge, huge}));
  EXPECT_EQ(observer.range(100.0).lowest, -huge);
  EXPECT_EQ(observer.range(100.0).highest, huge);
}

TEST(Scales, ActivationsContainZero) {
  EXPECT_EQ(activation_scale({0.0f, 25.5f}), (ActivationScale{DType::u8, 25.5f / 255.0f, 0}));
  EXPECT_EQ(activation_scale({5.0f, 25.5f}), (ActivationScale{DType::u8, 25.5f / 255.0f, 0}));
  EXPECT_EQ(activation_scale({-1.0f, 1.0f}), (ActivationScale{DType::u8, 2.0f / 255.0f, 127}));  // the scale is just above 2/255, so 127.49999
  EXPECT_EQ(activation_scale({-3.0f, -1.0f}).zero_point, 255);
  EXPECT_EQ(activation_scale({0.0f, 0.0f}), (ActivationScale{DType::u8, 1.0f, 0}));
  const float huge = std::numeric_limits<float>::max();
  EXPECT_TRUE(std::isfinite(activation_scale({-huge, huge}).scale));
  EXPECT_GT(activation_scale({0.0f, std::numeric_limits<float>::denorm_min()}).scale, 0.0f);
}

TEST(Scales, GlobalScaleAsRelayQuantize) { EXPECT_EQ(global_activation_scale(8.0f), (ActivationScale{DType::s8, 0.0625f, 0})); }

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
