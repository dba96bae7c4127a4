// batch_norm, layer_norm, lrn, softmax and reduce.
#include <cmath>

#include "ops/batch_norm/batch_norm.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/lrn/lrn.h"
#include "ops/reduce/reduce.h"
#include "ops/softmax/softmax.h"
#include "ops_test.h"

namespace octavo::ops_test {
namespace {

Tensor vector_of(const std::vector<float>& values) {
  return Tensor::of({static_cast<std::int64_t>(values.size())}, values);
}

TEST(BatchNorm, NormalisesPerChannel) {
  const Tensor x = Tensor::of<float>({1, 2, 2}, std::vector<float>{1, 3, 10, 20});
  const Tensor y = run(kBatchNorm, BatchNormAttrs{.epsilon = 0.0f},
                       {x, vector_of({2, 1}), vector_of({0.5f, -1}), vector_of({1, 10}), vector_of({4, 25})});
  EXPECT_EQ(values<float>(y), (std::vector<float>{0.5f, 2.5f, -1.0f, 1.0f}));
  const Fact fx = fact(DType::f32, {1, 2, 2});
  const Fact c = fact(DType::f32, {2});
  EXPECT_TRUE(refuses(kBatchNorm, BatchNormAttrs{}, {fx, c, c, c, fact(DType::f32, {3})}));
  EXPECT_TRUE(refuses(kBatchNorm, BatchNormAttrs{.axis = 3}, {fx, c, c, c, c}));
  EXPECT_TRUE(refuses(kBatchNorm, BatchNormAttrs{}, {fact(DType::s32, {1, 2, 2}), c, c, c, c}));
}

TEST(BatchNorm, RoundsWhereOnnxRuntimeDoes) {
  // 0.1 * 3 and 1/sqrt(3) are inexact; one rounding at the end would give another last bit for some of these.
  const Tensor x = Tensor::of<float>({1, 1, 6}, std::vector<float>{0.1f, 0.2f, 0.3f, 0.7f, 1.1f, -5.3f});
  const Tensor y = run(kBatchNorm, BatchNormAttrs{.epsilon = 1e-5f},
                       {x, vector_of({3}), vector_of({0.7f}), vector_of({0.1f}), vector_of({3})});
  EXPECT_EQ(values<float>(y), (std::vector<float>{0x1.666666p-1f, 0x1.bf14b4p-1f, 0x1.0be18p0f, 0x1.bd3e18p0f,
                                                  0x1.374d58p1f, -0x1.14e5dcp3f}));
}

TEST(LayerNorm, NormalisesTheLastAxes) {
  const Tensor x = Tensor::of<float>({2, 2}, std::vector<float>{1, 3, -2, 2});
  const Tensor y =
      run(kLayerNorm, LayerNormAttrs{.axis = 1, .epsilon = 0.0f}, {x, vector_of({1, 2}), vector_of({0, 1})});
  EXPECT_EQ(values<float>(y), (std::vector<float>{-1, 3, -1, 3}));
  const Fact fx = fact(DType::f32, {2, 2});
  EXPECT_TRUE(refuses(kLayerNorm, LayerNormAttrs{.axis = 2}, {fx, fact(DType::f32, {2})}));
  EXPECT_TRUE(refuses(kLayerNorm, LayerNormAttrs{.axis = 1}, {fx, fact(DType::f32, {3})}));
  EXPECT_TRUE(refuses(kLayerNorm, LayerNormAttrs{.axis = 1}, {fx, fact(DType::f32, {2, 2})}));
}

TEST(Lrn, SumsNeighbouringChannels) {
  const Tensor x = Tensor::of<float>({1, 3, 1}, std::vector<float>{1, 2, 3});
  const Tensor y = run(kLrn, LrnAttrs{.size = 2, .alpha = 2.0f, .beta = 1.0f, .bias = 1.0f}, {x});
  // Size 2 reaches one channel ahead.
  EXPECT_EQ(values<float>(y), (std::vector<float>{1.0f / 6.0f, 2.0f / 14.0f, 3.0f / 10.0f}));
  EXPECT_TRUE(refuses(kLrn, LrnAttrs{.size = 0}, {fact(DType::f32, {1, 3, 1})}));
  EXPECT_TRUE(refuses(kLrn, LrnAttrs{.axis = -1}, {fact(DType::f32, {1, 3, 1})}));
}

TEST(Softmax, SumsToOneAndSurvivesLargeValues) {
  const Tensor x = Tensor::of<float>({2, 2}, std::vector<float>{1000, 1000, 0, 1000});
  EXPECT_EQ(values<float>(run(kSoftmax, SoftmaxAttrs{.axis = 1}, {x})), (std::vector<float>{0.5f, 0.5f, 0.0f, 1.0f}));
  EXPECT_EQ(values<float>(run(kSoftmax, SoftmaxAttrs{.axis = 0}, {x})), (std::vector<float>{1.0f, 0.5f, 0.0f, 0.5f}));
  const Tensor logs = run(kSoftmax, SoftmaxAttrs{.kind = SoftmaxKind::log_softmax, .axis = 1}, {x});
  EXPECT_EQ(values<float>(logs), (std::vector<float>{-std::log(2.0f), -std::log(2.0f), -1000.0f, 0.0f}));
  EXPECT_TRUE(refuses(kSoftmax, SoftmaxAttrs{.axis = 2}, {fact(DType::f32, {2, 2})}));
  EXPECT_TRUE(refuses(kSoftmax, SoftmaxAttrs{}, {fact(DType::u8, {2, 2})}));
}

TEST(Reduce, EveryKind) {
  const Tensor x = Tensor::of<float>({2, 2}, std::vector<float>{1, -2, 3, 4});
  const auto reduced = [&](ReduceKind kind) {
    return values<float>(run(kReduce, ReduceAttrs{.kind = kind, .axes = {1}, .keep_dims = false}, {x}));
  };
  EXPECT_EQ(reduced(ReduceKind::sum), (std::vector<float>{-1, 7}));
  EXPECT_EQ(reduced(ReduceKind::mean), (std::vector<float>{-0.5f, 3.5f}));
  EXPECT_EQ(reduced(ReduceKind::max), (std::vector<float>{1, 4}));
  EXPECT_EQ(reduced(ReduceKind::min), (std::vector<float>{-2, 3}));
  EXPECT_EQ(reduced(ReduceKind::prod), (std::vector<float>{-2, 12}));
  EXPECT_EQ(reduced(ReduceKind::l1), (std::vector<float>{3, 7}));
  EXPECT_EQ(reduced(ReduceKind::l2), (std::vector<float>{static_cast<float>(std::sqrt(5.0)), 5}));
  EXPECT_EQ(reduced(ReduceKind::sum_square), (std::vector<float>{5, 25}));
  EXPECT_FLOAT_EQ(reduced(ReduceKind::log_sum)[1], std::log(7.0f));
  EXPECT_FLOAT_EQ(reduced(ReduceKind::log_sum_exp)[1], 4.3132617f);
}

TEST(Reduce, AxesKeepDimsAndEmptySets) {
  const Tensor x = iota<float>({2, 3, 4});
  EXPECT_EQ(run(kReduce, ReduceAttrs{.axes = {0, 2}}, {x}).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(values<float>(run(kReduce, ReduceAttrs{.axes = {0, 2}, .keep_dims = false}, {x})),
            (std::vector<float>{60, 92, 124}));
  EXPECT_EQ(values<float>(run(kReduce, ReduceAttrs{}, {x})), values<float>(x));
  const Tensor none(DType::f32, {2, 0});
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(values<float>(run(kReduce, ReduceAttrs{.kind = ReduceKind::max, .axes = {1}}, {none})),
            (std::vector<float>{-infinity, -infinity}));
  EXPECT_EQ(values<float>(run(kReduce, ReduceAttrs{.kind = ReduceKind::prod, .axes = {1}}, {none})),
            (std::vector<float>{1, 1}));
}

TEST(Reduce, OfNoLinesTakesNoTime) {
  const Tensor none(DType::u8, {0, std::int64_t{1} << 32});
  EXPECT_EQ(run(kReduce, ReduceAttrs{.kind = ReduceKind::max, .axes = {1}}, {none}).shape(), (Shape{0, 1}));
}

TEST(Reduce, IntegersStayIntegers) {
  const Tensor x = Tensor::of<std::int64_t>({3}, std::vector<std::int64_t>{-7, 2, 1});
  EXPECT_EQ(values<std::int64_t>(run(kReduce, ReduceAttrs{.kind = ReduceKind::mean, .axes = {0}}, {x})),
            (std::vector<std::int64_t>{-1}));
  EXPECT_EQ(values<std::int64_t>(run(kReduce, ReduceAttrs{.kind = ReduceKind::l1, .axes = {0}}, {x})),
            (std::vector<std::int64_t>{10}));
  EXPECT_EQ(values<std::int64_t>(run(kReduce, ReduceAttrs{.kind = ReduceKind::min, .axes = {0}}, {x})),
            (std::vector<std::int64_t>{-7}));
}

TEST(Reduce, RefusesWhatDoesNotFit) {
  const Fact x = fact(DType::f32, {2, 3});
  EXPECT_TRUE(refuses(kReduce, ReduceAttrs{.axes = {2}}, {x}));
  EXPECT_TRUE(refuses(kReduce, ReduceAttrs{.axes = {1, 0}}, {x}));
  EXPECT_TRUE(refuses(kReduce, ReduceAttrs{.axes = {-1}}, {x}));
  EXPECT_TRUE(refuses(kReduce, ReduceAttrs{.kind = ReduceKind::l2, .axes = {0}}, {fact(DType::s32, {2})}));
  EXPECT_TRUE(refuses(kReduce, ReduceAttrs{.axes = {0}}, {fact(DType::u8, {2})}));
}

}  // namespace
}  // namespace octavo::ops_test
