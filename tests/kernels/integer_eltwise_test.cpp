// binary and unary of integers and booleans against their meaning.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kernels/harness.h"
#include "ops/binary/binary.h"
#include "ops/unary/unary.h"

namespace octavo::testing {
namespace {

constexpr DType kIntegers[] = {DType::u8,  DType::s8,  DType::u16, DType::s16,
                               DType::u32, DType::s32, DType::u64, DType::s64};

// Few values, so that some are equal and some divisors 0.
Tensor small_values(std::mt19937& random, DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  const bool is_boolean = dtype == DType::boolean;
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    store_double(tensor.view(), i, static_cast<double>(random() % (is_boolean ? 2 : 5)));
  return tensor;
}

std::set<std::string> check_pair(std::mt19937& random, BinaryKind kind, DType dtype, const Shape& a, const Shape& b) {
  std::set<std::string> ran =
      check_kernels({&kBinary, BinaryAttrs{kind}, {small_values(random, dtype, a), small_values(random, dtype, b)}});
  if (dtype != DType::boolean)
    check_kernels({&kBinary, BinaryAttrs{kind}, {random_tensor(random, dtype, a), random_tensor(random, dtype, b)}});
  return ran;
}

bool is_logic(BinaryKind kind) { return kind >= BinaryKind::logical_and && kind <= BinaryKind::logical_xor; }

TEST(IntegerKernels, Binary) {
  std::mt19937 random(1);
  for (int i = 0; i < count_of(BinaryKind{}); ++i) {
    const auto kind = static_cast<BinaryKind>(i);
    for (const DType dtype : kIntegers) {
      if (is_logic(kind)) continue;
      const auto ran = check_pair(random, kind, dtype, {3, 1, 7}, {2, 7});
      EXPECT_TRUE(kernels_missing(ran, "eltwise_integer_binary").empty()) << name_of(kind);
      check_pair(random, kind, dtype, {5, 9}, {});
    }
    if (is_logic(kind) || kind == BinaryKind::equal) check_pair(random, kind, DType::boolean, {4, 1}, {1, 33});
  }
}

TEST(IntegerKernels, Unary) {
  std::mt19937 random(2);
  for (const UnaryKind kind : {UnaryKind::identity, UnaryKind::relu, UnaryKind::neg, UnaryKind::abs, UnaryKind::sign,
                               UnaryKind::clip, UnaryKind::bitwise_not}) {
    for (const DType dtype : kIntegers) {
      const UnaryAttrs attrs{.kind = kind, .alpha = -3.5f, .beta = 100.0f};
      const auto ran = check_kernels({&kUnary, attrs, {random_tensor(random, dtype, {3, 37})}});
      EXPECT_TRUE(kernels_missing(ran, "eltwise_integer_unary").empty()) << name_of(kind);
    }
  }
  for (const UnaryKind kind : {UnaryKind::identity, UnaryKind::logical_not})
    check_kernels({&kUnary, UnaryAttrs{.kind = kind}, {small_values(random, DType::boolean, {65})}});
}

}  // namespace
}  // namespace octavo::testing
