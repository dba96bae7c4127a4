// softmax, layer_norm, lrn and reduce of f32: the reference's bits on every instruction set, whatever follows a line.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/float_cases.h"
#include "ops/evaluate.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/lrn/lrn.h"
#include "ops/reduce/reduce.h"
#include "ops/softmax/softmax.h"

namespace octavo::testing {
namespace {

constexpr DType kLinesF32 = DType::f32;
constexpr SoftmaxKind kSoftmaxKinds[] = {SoftmaxKind::softmax, SoftmaxKind::log_softmax};

TEST(LineKernels, Softmax) {
  std::mt19937 random(1);
  std::set<std::string> ran;
  for (const SoftmaxKind kind : kSoftmaxKinds) {
    for (const std::int64_t axis : {0, 1, 2}) {
      for (const Shape& shape : {Shape{9, 7, 33}, Shape{3, 17, 1}, Shape{40, 2, 70}, Shape{1, 130, 5}}) {
        ran.merge(check(kSoftmax, SoftmaxAttrs{kind, axis}, {random_tensor(random, kLinesF32, shape)}));
        check(kSoftmax, SoftmaxAttrs{kind, axis}, {with_special_values(random, shape)});
      }
    }
    for (const std::int64_t n : {1, 2, 7, 8, 9, 15, 16, 17, 31, 100, 512, 1030})
      check(kSoftmax, SoftmaxAttrs{kind, 1}, {random_tensor(random, kLinesF32, {3, n})});
    check(kSoftmax, SoftmaxAttrs{kind, 0}, {random_tensor(random, kLinesF32, {1030, 9})});
    check(kSoftmax, SoftmaxAttrs{kind, 1}, {random_tensor(random, kLinesF32, {0, 5})});
    check(kSoftmax, SoftmaxAttrs{kind, 0}, {random_tensor(random, kLinesF32, {5, 0})});
    check(kSoftmax, SoftmaxAttrs{kind, 1}, {random_tensor(random, DType::f64, {3, 50})});
  }
  EXPECT_TRUE(kernels_missing(ran, "lines_softmax").empty());
}

TEST(LineKernels, LayerNorm) {
  std::mt19937 random(2);
  std::set<std::string> ran;
  const auto floats = [&](Shape shape) { return random_tensor(random, kLinesF32, std::move(shape)); };
  for (const std::int64_t n : {1, 3, 8, 15, 16, 35, 384}) {
    ran.merge(check(kLayerNorm, LayerNormAttrs{2, 1e-6f}, {floats({3, 7, n}), floats({n}), floats({n})}));
    check(kLayerNorm, LayerNormAttrs{1, 1e-6f}, {floats({20, n}), floats({n})});
  }
  check(kLayerNorm, LayerNormAttrs{1, 1e-6f}, {floats({20, 3, 5}), floats({3, 5})});
  check(kLayerNorm, LayerNormAttrs{1, 1e-6f}, {floats({4, 3, 5}), floats({5})});
  check(kLayerNorm, LayerNormAttrs{1, 1e-6f}, {floats({4, 3, 5}), floats({3, 5}), floats({3, 1})});
  check(kLayerNorm, LayerNormAttrs{1, 1e-6f}, {floats({4, 3, 5}), floats({1}), floats({3, 5})});
  check(kLayerNorm, LayerNormAttrs{1, 1e-5f}, {with_special_values(random, {9, 40}), floats({40}), floats({40})});
  EXPECT_TRUE(kernels_missing(ran, "lines_layer_norm").empty());
}

TEST(LineKernels, Lrn) {
  std::mt19937 random(6);
  std::set<std::string> ran;
  for (const std::int64_t size : {1, 4, 5, 40}) {
    for (const std::int64_t axis : {1, 3}) {
      const LrnAttrs attrs{.size = size, .alpha = 0.3f, .beta = 0.75f, .bias = 2.0f, .axis = axis};
      ran.merge(check(kLrn, attrs, {random_tensor(random, kLinesF32, {2, 9, 6, 17})}));
      check(kLrn, attrs, {with_special_values(random, {1, 19, 1, 5})});
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "lines_lrn").empty());
}

TEST(LineKernels, ReduceIntegers) {
  std::mt19937 random(31);
  for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::mean, ReduceKind::max, ReduceKind::min, ReduceKind::prod,
                                ReduceKind::l1, ReduceKind::sum_square}) {
    for (const DType dtype : {DType::s32, DType::u32, DType::s64, DType::u64}) {
      for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{1}, {0, 2}, {}, {0, 1, 2}})
        check(kReduce, ReduceAttrs{kind, axes, true}, {random_tensor(random, dtype, {3, 5, 40})});
      check(kReduce, ReduceAttrs{kind, {1}, true}, {Tensor(dtype, {2, 0, 3})});
    }
  }
}

TEST(LineKernels, Reduce) {
  std::mt19937 random(3);
  std::set<std::string> ran;
  const std::vector<std::int64_t> all_axes[] = {{1, 2}, {3}, {2, 3}, {0, 1, 2, 3}, {0}, {}, {0, 2}, {1, 3}};
  for (int kind = 0; kind < count_of(ReduceKind{}); ++kind) {
    for (const auto& axes : all_axes) {
      const ReduceAttrs attrs{static_cast<ReduceKind>(kind), axes, kind % 2 == 0};
      ran.merge(check(kReduce, attrs, {random_tensor(random, kLinesF32, {2, 7, 6, 70})}));
      check(kReduce, attrs, {with_special_values(random, {3, 9, 2, 19})});
      check(kReduce, attrs, {with_special_values(random, {1, 1, 20, 3})});
    }
    check(kReduce, ReduceAttrs{static_cast<ReduceKind>(kind), {1}, true}, {Tensor(kLinesF32, {2, 0, 4})});
    check(kReduce, ReduceAttrs{static_cast<ReduceKind>(kind), {0, 2}, false},
          {random_tensor(random, DType::f64, {3, 5, 4})});
    for (const std::int64_t n : {1, 15, 16, 17, 1000})
      check(kReduce, ReduceAttrs{static_cast<ReduceKind>(kind), {1}, true}, {random_tensor(random, kLinesF32, {5, n})});
  }
  EXPECT_TRUE(kernels_missing(ran, "lines_reduce").empty());
}

TEST(LineKernels, ExtremesOfIntegers) {
  std::mt19937 random(7);
  std::set<std::string> ran;
  for (const DType dtype : {DType::u8, DType::s8, DType::s32, DType::s64, DType::boolean}) {
    for (const ReduceKind kind : {ReduceKind::max, ReduceKind::min}) {
      for (const auto& axes : {std::vector<std::int64_t>{1, 2}, {3}, {0, 1, 2, 3}, {0}, {}})
        ran.merge(check(kReduce, ReduceAttrs{kind, axes, false}, {random_tensor(random, dtype, {2, 7, 5, 300})}));
    }
  }
  EXPECT_TRUE(ran.contains("reduce_extremes_portable"));
}

Tensor evaluated(const OpSpec& spec, const Attrs& attrs, const Tensor& x) {
  const ConstTensorView input = x.view();
  auto result = evaluate_op(spec, attrs, {&input, 1});
  EXPECT_TRUE(result.ok());
  return result->front();
}

// n elements of which the first `count` are x's, the others `rest`, along the last axis or the first one.
Tensor padded(const Tensor& x, std::int64_t n, float rest, bool is_last) {
  const std::int64_t lines = x.shape()[is_last ? 0 : 1], count = x.shape()[is_last ? 1 : 0];
  Tensor y(kLinesF32, is_last ? Shape{lines, n} : Shape{n, lines});
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t i = 0; i < n; ++i) {
      const float value = i < count ? x.as<float>()[is_last ? line * count + i : i * lines + line] : rest;
      y.as<float>()[is_last ? line * n + i : i * lines + line] = value;
    }
  }
  return y;
}

TEST(LineKernels, MaskedElementsBehindALineChangeNothing) {
  std::mt19937 random(4);
  for (const bool is_last : {true, false}) {
    for (const std::int64_t count : {1, 7, 16, 50, 500}) {
      const Tensor x = random_tensor(random, kLinesF32, is_last ? Shape{6, count} : Shape{count, 6});
      for (const SoftmaxKind kind : kSoftmaxKinds) {
        const SoftmaxAttrs attrs{kind, is_last ? 1 : 0};
        const Tensor y = evaluated(kSoftmax, attrs, x);
        for (const std::int64_t n : {count + 1, count + 16, count + 45}) {
          const Tensor longer = evaluated(kSoftmax, attrs, padded(x, n, -INFINITY, is_last));
          const float masked = kind == SoftmaxKind::softmax ? 0.0f : -INFINITY;
          const Tensor expected = padded(y, n, masked, is_last);
          EXPECT_EQ(std::memcmp(longer.data(), expected.data(), expected.bytes()), 0);
        }
      }
      for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::l1, ReduceKind::l2, ReduceKind::log_sum}) {
        const ReduceAttrs attrs{kind, {is_last ? 1 : 0}, true};
        const Tensor y = evaluated(kReduce, attrs, x),
                     longer = evaluated(kReduce, attrs, padded(x, 590, 0.0f, is_last));
        EXPECT_EQ(std::memcmp(y.data(), longer.data(), y.bytes()), 0) << name_of(kind);
      }
    }
  }
}

TEST(LineKernels, AMaskedLineIsNan) {
  const Tensor y = evaluated(kSoftmax, SoftmaxAttrs{SoftmaxKind::softmax, 0},
                             Tensor::of<float>(Shape{3}, {-INFINITY, -INFINITY, -INFINITY}));
  for (const float value : y.span<float>()) EXPECT_TRUE(std::isnan(value));
}

// Largest error relative to the largest exact value, of lines of n.
TEST(LineKernels, LongLinesStayAccurate) {
  std::mt19937 random(5);
  const std::int64_t n = 100000;
  Tensor x(kLinesF32, Shape{1, n}), wide(DType::f64, Shape{1, n});
  std::normal_distribution<float> normal(3.0f, 2.0f);
  for (std::int64_t i = 0; i < n; ++i) wide.as<double>()[i] = x.as<float>()[i] = normal(random);
  const auto error = [&](const OpSpec& spec, const Attrs& attrs) {
    const Tensor found = evaluated(spec, attrs, x), exact = evaluated(spec, attrs, wide);
    double largest = 0.0, worst = 0.0;
    for (std::int64_t i = 0; i < found.elements(); ++i) {
      const double expected = exact.as<double>()[i];
      largest = std::max(largest, std::fabs(expected));
      worst = std::max(worst, std::fabs(static_cast<double>(found.as<float>()[i]) - expected));
    }
    return worst / largest;
  };
  for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::mean, ReduceKind::l1, ReduceKind::l2,
                                ReduceKind::sum_square, ReduceKind::log_sum, ReduceKind::log_sum_exp})
    EXPECT_LT(error(kReduce, ReduceAttrs{kind, {1}, true}), 1.2e-7) << name_of(kind);
  EXPECT_LT(error(kSoftmax, SoftmaxAttrs{SoftmaxKind::softmax, 1}), 3e-7);
  EXPECT_LT(error(kSoftmax, SoftmaxAttrs{SoftmaxKind::log_softmax, 1}), 2e-7);
}

}  // namespace
}  // namespace octavo::testing
