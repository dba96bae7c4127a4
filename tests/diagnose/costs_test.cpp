// What nodes are said to cost: by the layout of what they read, by groups, and by weights that no cache holds.
#include <gtest/gtest.h>

#include "diagnose/rules.h"
#include "sketch.h"

namespace octavo::diagnose {
namespace {

const EngineRates& rates() { return rates_of(Engine::ort); }

// Of a max pool between pairs, behind a convolution that is fused, or whose results somebody reads in floats.
NodeCost cost_of_pool(bool is_conv_fused, bool is_first = false) {
  Sketch s(FileFormat::onnx, Dialect::qdq);
  int x = s.pair(s.input());
  if (!is_first) {
    const int made = s.conv(x, s.weights());
    x = s.pair(made);
    if (!is_conv_fused) s.node("Relu", {made});
  }
  s.node("MaxPool", {x});
  const std::size_t pool = s.index_of_last();
  s.pair(s.last().outputs[0]);
  return costs_in(s.view(), Engine::ort, rates())[pool];
}

TEST(Costs, MaxPoolsOnBytesAreFastBehindConvolutionsOnBytes) {
  const NodeCost fast = cost_of_pool(true), slow = cost_of_pool(false), alone = cost_of_pool(true, true);
  EXPECT_EQ(fast.cause, std::nullopt);
  EXPECT_EQ(fast.ms, fast.best_ms);
  EXPECT_GT(slow.ms, 5.0 * fast.ms);
  EXPECT_EQ(slow.best_ms, fast.ms);
  EXPECT_EQ(slow.cause, Cause::missing_output_pair);  // the convolution's, which is to blame
  EXPECT_EQ(alone.ms, slow.ms);
  EXPECT_EQ(alone.best_ms, alone.ms);  // nobody is
}

double ms_of_product(FileFormat format, const std::string& op, std::vector<std::int64_t> given,
                     std::vector<std::int64_t> weights, int groups = 1) {
  Sketch s(format, Dialect::fp32);
  const int x = s.input(), w = s.constant();
  s.reshape(x, std::move(given));
  s.reshape(w, std::move(weights));
  s.node(op, {x, w});
  if (groups > 1) s.last().attributes["group"] = std::int64_t{groups};
  return product_ms(s.view(), s.view().nodes[0], rates(), Form::integer);
}

TEST(Costs, GroupsAreCallsOfTheirOwn) {
  const auto onnx = [](int groups) {
    return ms_of_product(FileFormat::onnx, "Conv", {1, 8, 16, 16}, {8, 8 / groups, 3, 3}, groups);
  };
  EXPECT_GT(onnx(4) - onnx(2), 1.9e-3 * rates().products[2][1]->call_us);
  // TFLite has no attribute: weights have fewer channels than x.
  const auto tflite = [](std::int64_t taken) {
    return ms_of_product(FileFormat::tflite, "CONV_2D", {1, 16, 16, 8}, {8, 3, 3, taken});
  };
  EXPECT_GT(tflite(2) - tflite(4), 1.9e-3 * rates().products[2][1]->call_us);
}

TEST(Costs, WeightsBeyondCachesCostMore) {
  const auto of = [](std::int64_t rows) {
    return ms_of_product(FileFormat::onnx, "MatMul", {1, rows}, {rows, 1000}) / static_cast<double>(rows);
  };
  EXPECT_NEAR(of(1000) / of(500), 1.0, 0.2);
  EXPECT_GT(of(16000), 1.5 * of(8000));
  EXPECT_NEAR(of(32000) / of(16000), 1.0, 0.1);
}

// The first convolution of a network brings three bytes at a time to its windows: as many copies as one of 32 channels.
TEST(Costs, WindowsOfFewChannelsAreCopies) {
  const auto of = [](std::int64_t channels) {
    return ms_of_product(FileFormat::onnx, "Conv", {1, channels, 112, 112}, {16, channels, 3, 3});
  };
  EXPECT_LT(of(32), 2.0 * of(3));
}

}  // namespace
}  // namespace octavo::diagnose
