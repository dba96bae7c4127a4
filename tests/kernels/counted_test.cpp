// Operators whose results' extents depend on data: their meaning, and kernels with the references' bits. Part of
// tests/kernels/.
#include <gtest/gtest.h>

#include "kernels/harness.h"
#include "ops/compress/compress.h"
#include "ops/dynamic_slice/dynamic_slice.h"
#include "ops/evaluate.h"
#include "ops/non_max_suppression/non_max_suppression.h"
#include "ops/nonzero/nonzero.h"
#include "ops/unique/unique.h"
#include "support/control_flow.h"

namespace octavo::testing {
namespace {

using Numbers = std::vector<std::int64_t>;

std::vector<Tensor> results_of(const OpSpec& spec, const Attrs& attrs, const std::vector<Tensor>& inputs) {
  std::vector<ConstTensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  auto results = evaluate_op(spec, attrs, views);
  EXPECT_TRUE(results.ok()) << to_string(results.errors());
  return results.ok() ? std::move(*results) : std::vector<Tensor>(6);
}

Numbers numbers(const Tensor& tensor) { return to_int64s(tensor.view()); }

Tensor mask(const std::vector<bool>& values) {
  Tensor tensor(DType::boolean, Shape{std::ssize(values)});
  for (std::size_t i = 0; i < values.size(); ++i) tensor.data()[i] = std::byte{values[i]};
  return tensor;
}

TEST(Nonzero, FindsAllButBothZeros) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto found = results_of(kNonzero, NoAttrs{}, {floats({2, 2}, {0, nan, -0.0f, 5})});
  EXPECT_EQ(numbers(found[0]), (Numbers{0, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(numbers(found[1]), (Numbers{2, 2}));
  EXPECT_EQ(numbers(results_of(kNonzero, NoAttrs{}, {floats({}, {3})})[1]), (Numbers{1, 1}));
  EXPECT_EQ(numbers(results_of(kNonzero, NoAttrs{}, {Tensor(DType::u8, Shape{2, 0})})[1]), (Numbers{2, 0}));
}

TEST(Compress, TakesSlicesThatTheMaskHas) {
  const Tensor x = integers({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto columns = results_of(kCompress, CompressAttrs{.axis = 1}, {x, mask({true, false, true})});
  EXPECT_EQ(numbers(columns[0]), (Numbers{1, 3, 4, 6, 0, 0}));
  EXPECT_EQ(numbers(columns[1]), (Numbers{2, 2}));
  const auto line = results_of(kCompress, CompressAttrs{}, {x, mask({false, true, false, false, true})});
  EXPECT_EQ(numbers(line[0]), (Numbers{2, 5, 0, 0, 0}));
  EXPECT_EQ(numbers(line[1]), (Numbers{2}));
}

Tensor sliced(const DynamicSliceAttrs& attrs, const Numbers& starts, const Numbers& ends, Numbers* shape) {
  const Tensor x = integers({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Shape list{std::ssize(starts)};
  auto results = results_of(kDynamicSlice, attrs, {x, integers(list, starts), integers(list, ends)});
  *shape = numbers(results[1]);
  return std::move(results[0]);
}

TEST(DynamicSlice, TakesWhatIsBetween) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                         kLeast = std::numeric_limits<std::int64_t>::min();
  Numbers shape;
  EXPECT_EQ(numbers(sliced({{1}, {1}}, {1}, {3}, &shape)), (Numbers{2, 3, 6, 7, 0, 0, 0, 0}));
  EXPECT_EQ(shape, (Numbers{2, 2}));
  EXPECT_EQ(numbers(sliced({{1, 0}, {-2, 1}}, {-1, 1}, {kLeast, kMost}, &shape)), (Numbers{8, 6, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(shape, (Numbers{1, 2}));
  EXPECT_EQ(numbers(sliced({{0}, {kMost}}, {0}, {2}, &shape)), (Numbers{1, 2, 3, 4, 0, 0, 0, 0}));
  EXPECT_EQ(numbers(sliced({{1}, {kLeast}}, {kMost}, {kLeast}, &shape)), (Numbers{4, 8, 0, 0, 0, 0, 0, 0}));
  sliced({{1}, {1}}, {3}, {1}, &shape);
  EXPECT_EQ(shape, (Numbers{2, 0}));
}

TEST(Unique, SortsOrKeepsTheOrder) {
  const Tensor x = integers({6}, {2, 1, 1, 3, 4, 3});
  const auto sorted = results_of(kUnique, UniqueAttrs{}, {x});
  EXPECT_EQ(numbers(sorted[0]), (Numbers{1, 2, 3, 4, 0, 0}));
  EXPECT_EQ(numbers(sorted[1]), (Numbers{1, 0, 3, 4, 0, 0}));
  EXPECT_EQ(numbers(sorted[2]), (Numbers{1, 0, 0, 2, 3, 2}));
  EXPECT_EQ(numbers(sorted[3]), (Numbers{2, 1, 2, 1, 0, 0}));
  EXPECT_EQ(numbers(sorted[4]), (Numbers{4}));
  const auto first = results_of(kUnique, UniqueAttrs{.is_sorted = false}, {x});
  EXPECT_EQ(numbers(first[0]), (Numbers{2, 1, 3, 4, 0, 0}));
  EXPECT_EQ(numbers(first[2]), (Numbers{0, 1, 1, 2, 3, 2}));
  const auto rows = results_of(kUnique, UniqueAttrs{.axis = 0}, {integers({3, 2}, {1, 0, 0, 9, 1, 0})});
  EXPECT_EQ(numbers(rows[0]), (Numbers{0, 9, 1, 0, 0, 0}));
  EXPECT_EQ(numbers(rows[4]), (Numbers{2, 2}));
}

TEST(NonMaxSuppression, RefusesWhatDoesNotFit) {
  const Fact boxes{.dtype = DType::f32, .shape = OpenShape({Dim(1), Dim(6), Dim(4)})};
  const Fact scores{.dtype = DType::f32, .shape = OpenShape({Dim(1), Dim(2), Dim(6)})};
  const Fact others{.dtype = DType::f32, .shape = OpenShape({Dim(1), Dim(2), Dim(5)})};
  const Fact corners{.dtype = DType::f32, .shape = OpenShape({Dim(1), Dim(6), Dim(3)})};
  const auto is_taken = [](const Fact& a, const Fact& b, std::int64_t most) {
    const Fact* inputs[] = {&a, &b};
    return infer_checked(kNonMaxSuppression, NonMaxSuppressionAttrs{.most = most}, inputs).ok();
  };
  EXPECT_TRUE(is_taken(boxes, scores, 3));
  EXPECT_FALSE(is_taken(boxes, scores, -1) || is_taken(boxes, others, 3) || is_taken(corners, scores, 3));
}

TEST(Counted, KernelsHaveTheReferencesBits) {
  std::mt19937 random(11);
  std::set<std::string> ran;
  for (const DType dtype : {DType::f32, DType::u8, DType::s64, DType::f16, DType::boolean}) {
    for (const Shape& shape : {Shape{}, Shape{37}, Shape{3, 5, 7}, Shape{2, 0, 4}}) {
      const Tensor x = random_tensor(random, dtype, shape);
      ran.merge(check_kernels({&kNonzero, NoAttrs{}, {x}, {}}));
      ran.merge(check_kernels({&kUnique, UniqueAttrs{}, {x}, {}}));
      for (std::int64_t axis = -1; axis < shape.rank(); ++axis) {
        ran.merge(check_kernels({&kUnique, UniqueAttrs{.axis = axis, .is_sorted = axis % 2 == 0}, {x}, {}}));
        const Tensor condition = random_tensor(random, DType::boolean, Shape{4});
        ran.merge(check_kernels({&kCompress, CompressAttrs{.axis = axis}, {x, condition}, {}}));
      }
    }
  }
  for (const DType dtype : {DType::u8, DType::f32, DType::s64}) {
    const Tensor x = random_tensor(random, dtype, Shape{3, 6, 5}), starts = integers({2}, {-4, 1});
    ran.merge(
        check_kernels({&kDynamicSlice, DynamicSliceAttrs{{1, 2}, {1, 3}}, {x, starts, integers({2}, {5, 9})}, {}}));
    ran.merge(
        check_kernels({&kDynamicSlice, DynamicSliceAttrs{{0, 2}, {-1, 1}}, {x, starts, integers({2}, {0, 1})}, {}}));
  }
  for (const bool is_centered : {false, true}) {
    const Tensor boxes = random_tensor(random, DType::f32, Shape{2, 40, 4});
    const Tensor scores = random_tensor(random, DType::f32, Shape{2, 3, 40});
    const NonMaxSuppressionAttrs attrs{.is_centered = is_centered, .most = 9};
    ran.merge(check_kernels({&kNonMaxSuppression, attrs, {boxes, scores}, {}}));
    ran.merge(check_kernels({&kNonMaxSuppression,
                             attrs,
                             {boxes, scores, integers({1}, {5}), floats({1}, {0.3f}), floats({}, {0.0f})},
                             {}}));
  }
  for (const char* name :
       {"plain_compress", "plain_dynamic_slice", "plain_non_max_suppression", "plain_nonzero", "plain_unique"})
    EXPECT_TRUE(kernels_missing(ran, name).empty()) << name;
}

}  // namespace
}  // namespace octavo::testing
