// Differences, ranks and latency quantiles. Part of tests/analyze/.
#include "analyze/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analyze/bench.h"
#include "analyze/evaluate_accuracy.h"

namespace octavo {
namespace {

Tensor compare_floats(const std::vector<float>& values) {
  return Tensor::of<float>(Shape{1, static_cast<std::int64_t>(values.size())}, values);
}

TEST(CompareTensors, IntegersStandForReals) {
  const std::vector<std::int8_t> s8 = {-128, 0, 127};
  const Tensor q = Tensor::of<std::int8_t>(Shape{3}, s8);
  const Tensor real = dequantized(q.view(), 0.25f, -4);
  EXPECT_EQ(real.dtype(), DType::f32);
  EXPECT_FALSE(compare_tensors(compare_floats({-31, 1, 32.75f}).view(), real.view()).first.has_value());
}

TEST(Compare, CountsAndFirstDifference) {
  const Difference same = compare_tensors(compare_floats({1, 2, NAN}).view(), compare_floats({1, 2, NAN}).view());
  EXPECT_EQ(same.differing, 0);
  EXPECT_FALSE(same.first);
  EXPECT_TRUE(std::isinf(same.sqnr_db));
  const Difference other =
      compare_tensors(compare_floats({3, 4, 0, 0}).view(), compare_floats({3, 4.5, 0, -0.5}).view());
  EXPECT_EQ(other.differing, 2);
  EXPECT_EQ(other.first, 1);
  EXPECT_DOUBLE_EQ(other.largest, 0.5);
  EXPECT_NEAR(other.sqnr_db, 10.0 * std::log10(25.0 / 0.5), 1e-9);
}

TEST(Compare, PositionInShape) {
  EXPECT_EQ(position_in(Shape{2, 3, 4}, 23), "[1, 2, 3]");
  EXPECT_EQ(position_in(Shape{}, 0), "[]");
}

TEST(Accuracy, RankCountsTiesBefore) {
  const Tensor scores = compare_floats({5, 7, 7, 1});
  EXPECT_EQ(rank_of(scores.view(), 1), 0);
  EXPECT_EQ(rank_of(scores.view(), 2), 1);
  EXPECT_EQ(rank_of(scores.view(), 0), 2);
  EXPECT_EQ(rank_of(scores.view(), 3), 3);
}

// The textbook's example: 15 of 20 at 95 %.
TEST(LikelyShare, IsWilsons) {
  const auto [low, high] = likely_share(15, 20);
  EXPECT_NEAR(low, 0.5313, 5e-5);
  EXPECT_NEAR(high, 0.8881, 5e-5);
  EXPECT_EQ(likely_share(0, 0), std::pair(0.0, 1.0));
  EXPECT_NEAR(likely_share(0, 10).first, 0.0, 1e-12);
  EXPECT_NEAR(likely_share(10, 10).second, 1.0, 1e-12);
}

TEST(Bench, QuantilesAreMeasuredRuns) {
  BenchRun run;
  run.times.runs_ns.resize(1);
  for (int i = 10; i >= 1; --i) run.times.runs_ns[0].push_back(i * 1'000'000);
  EXPECT_DOUBLE_EQ(run.latency_ms(0.0), 1.0);
  EXPECT_DOUBLE_EQ(run.latency_ms(0.5), 5.0);
  EXPECT_DOUBLE_EQ(run.latency_ms(0.9), 9.0);
  EXPECT_DOUBLE_EQ(run.latency_ms(0.99), 10.0);
  run.batch = 4;
  EXPECT_DOUBLE_EQ(run.throughput(), 800.0);
  EXPECT_DOUBLE_EQ(BenchRun{}.latency_ms(0.5), 0.0);
}

}  // namespace
}  // namespace octavo
