// Reductions of integers: sums wrap, extremes are exact, over any neighbouring axes. Part of tests/kernels/.
#include "ops/reduce/reduce.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "kernels/harness.h"

namespace octavo::testing {
namespace {

TEST(ReduceIntegers, KernelsHaveTheReferencesBits) {
  std::mt19937 random(5);
  std::set<std::string> ran;
  const std::vector<std::vector<std::int64_t>> all_axes{{}, {0}, {1}, {2}, {0, 1}, {1, 2}, {0, 1, 2}};
  for (const DType dtype : {DType::s32, DType::u32, DType::s64, DType::u64}) {
    for (const Shape& shape : {Shape{3, 5, 70}, Shape{40, 1, 7}, Shape{2, 0, 4}}) {
      for (const std::vector<std::int64_t>& axes : all_axes) {
        for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::mean, ReduceKind::max, ReduceKind::min,
                                      ReduceKind::prod, ReduceKind::l1, ReduceKind::sum_square}) {
          const ReduceAttrs attrs{.kind = kind, .axes = axes, .keep_dims = axes.size() != 2};
          ran.merge(check_kernels({&kReduce, attrs, {random_tensor(random, dtype, shape)}, {}}));
        }
      }
    }
  }
  for (const DType dtype : {DType::u8, DType::s8, DType::boolean}) {
    const ReduceAttrs attrs{.kind = ReduceKind::max, .axes = {1}};
    ran.merge(check_kernels({&kReduce, attrs, {random_tensor(random, dtype, {3, 5, 70})}, {}}));
  }
  EXPECT_TRUE(kernels_missing(ran, "lines_reduce_any").empty());
}

}  // namespace
}  // namespace octavo::testing
