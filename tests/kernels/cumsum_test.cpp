// cumsum: its meaning, its kernel, and the files that have it. Part of tests/kernels/.
#include "ops/cumsum/cumsum.h"

#include <gtest/gtest.h>

#include "kernels/harness.h"
#include "ops/evaluate.h"
#include "support/onnx_builder.h"

namespace octavo::testing {
namespace {

using Values = std::vector<float>;

Values sums_of(const CumsumAttrs& attrs, const Tensor& x) {
  const std::vector<ConstTensorView> inputs{x.view()};
  const auto results = evaluate_op(kCumsum, attrs, inputs);
  EXPECT_TRUE(results.ok()) << to_string(results.errors());
  return results.ok() ? as_floats(results->front()) : Values{};
}

TEST(Cumsum, SumsFromEitherEndWithOrWithoutTheElement) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(sums_of({.axis = 1}, x), (Values{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(sums_of({.axis = 1, .exclusive = true}, x), (Values{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(sums_of({.axis = 1, .reverse = true}, x), (Values{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(sums_of({.axis = 1, .exclusive = true, .reverse = true}, x), (Values{5, 3, 0, 11, 6, 0}));
  EXPECT_EQ(sums_of({.axis = 0}, x), (Values{1, 2, 3, 5, 7, 9}));
}

TEST(Cumsum, FloatsAreSummedInDoublesAndIntegersWrap) {
  EXPECT_EQ(sums_of({}, floats({3}, {16777216.0f, 1, 1})), (Values{16777216, 16777216, 16777218}));
  const Tensor x = Tensor::of<std::int32_t>(Shape{2}, {2147483647, 2});
  EXPECT_EQ(sums_of({}, x), (Values{2147483648.0f, -2147483647.0f}));
}

TEST(Cumsum, RefusesAxesAndTypesThatItHasNot) {
  const Fact x{.dtype = DType::f32, .shape = Shape{2, 3}}, bytes{.dtype = DType::u8, .shape = Shape{2, 3}};
  const Fact* inputs[] = {&x};
  EXPECT_FALSE(infer_checked(kCumsum, CumsumAttrs{.axis = 2}, inputs).ok());
  EXPECT_FALSE(infer_checked(kCumsum, CumsumAttrs{.axis = -1}, inputs).ok());
  EXPECT_TRUE(infer_checked(kCumsum, CumsumAttrs{.axis = 1}, inputs).ok());
  inputs[0] = &bytes;
  EXPECT_FALSE(infer_checked(kCumsum, CumsumAttrs{.axis = 1}, inputs).ok());
}

TEST(Cumsum, KernelsHaveTheReferencesBits) {
  std::mt19937 random(7);
  std::set<std::string> ran;
  for (const DType dtype : {DType::f32, DType::f64, DType::s32, DType::u32, DType::s64, DType::u64}) {
    for (const std::int64_t axis : {0, 1, 2}) {
      for (const bool exclusive : {false, true}) {
        for (const Shape& shape : {Shape{3, 5, 70}, Shape{40, 1, 7}, Shape{33, 9, 1}, Shape{2, 0, 4}}) {
          const CumsumAttrs attrs{.axis = axis, .exclusive = exclusive, .reverse = axis == 1};
          ran.merge(check_kernels({&kCumsum, attrs, {random_tensor(random, dtype, shape)}, {}}));
        }
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "plain_cumsum").empty());
}

}  // namespace
}  // namespace octavo::testing
