// quantized_binary kernels: all kinds, all broadcasts, all type pairs, tables, shifts.
#include <gtest/gtest.h>

#include "kernels/harness.h"
#include "ops/quantized_binary/quantized_binary.h"

namespace octavo::testing {
namespace {

struct Shapes {
  Shape a, b;
};
const Shapes kShapes[] = {
    {{1}, {1}},
    {{}, {7}},
    {{3, 5, 7, 19}, {3, 5, 7, 19}},
    {{2, 5, 6, 35}, {2, 1, 1, 35}},
    {{1, 1, 1, 24}, {1, 9, 9, 24}},
    {{2, 33, 70}, {1}},
    {{1}, {2, 33, 70}},
    {{4, 1, 17}, {1, 6, 1}},
    {{1, 40000}, {1, 40000}},
    {{0, 4}, {0, 4}},
};

QuantizedBinaryAttrs attrs_of(QuantizedBinaryKind kind, DType to, std::int32_t shift) {
  QuantizedBinaryAttrs attrs{.kind = kind, .to = to};
  attrs.add = AddForm::of(0.031f, 117, 0.0247f, -9, 0.04f, 3);
  attrs.add.shift = kind == QuantizedBinaryKind::add ? shift : 0;
  attrs.integer_add = IntegerAddForm::of(0.031f, 117, 0.0247f, -9, 0.04f, 3, -1);
  if (kind == QuantizedBinaryKind::integer_add) shift = 0;
  attrs.a_zero_point = 0;
  attrs.b_zero_point = 11;
  attrs.ratio = 0.0071f;
  attrs.zero_point = to == DType::u8 ? 20 : -5;
  attrs.shift = kind == QuantizedBinaryKind::mul ? shift : 0;
  const IntegerRange range = range_of(to);
  attrs.lowest = static_cast<std::int32_t>(range.lowest) + 3 - std::max(0, shift);
  attrs.highest = static_cast<std::int32_t>(range.highest) - 2 - shift;
  return attrs;
}

class QuantizedEltwise : public ::testing::TestWithParam<QuantizedBinaryKind> {};

TEST_P(QuantizedEltwise, EqualsTheReference) {
  std::mt19937 random(1);
  std::set<std::string> ran;
  for (const Shapes& shapes : kShapes) {
    for (DType a : {DType::u8, DType::s8}) {
      for (DType b : {DType::u8, DType::s8}) {
        for (DType to : {DType::u8, DType::s8}) {
          KernelCase test{.spec = &kQuantizedBinary, .attrs = attrs_of(GetParam(), to, 0)};
          test.inputs = {random_tensor(random, a, shapes.a), random_tensor(random, b, shapes.b)};
          ran.merge(check_kernels(test));
          test.inputs.push_back(random_tensor(random, DType::s8, {256}));
          ran.merge(check_kernels(test));
        }
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "eltwise_q8").empty());
}

TEST_P(QuantizedEltwise, ShiftsRelabelledValues) {
  std::mt19937 random(2);
  KernelCase test{.spec = &kQuantizedBinary, .attrs = attrs_of(GetParam(), DType::u8, 128)};
  test.inputs = {random_tensor(random, DType::u8, {3, 100}), random_tensor(random, DType::u8, {3, 100})};
  EXPECT_FALSE(check_kernels(test).empty());
}

// Ratios of one half make many ties.
TEST_P(QuantizedEltwise, RoundsTies) {
  std::mt19937 random(3);
  QuantizedBinaryAttrs attrs = attrs_of(GetParam(), DType::u8, 0);
  attrs.add = AddForm::of(0.5f, 0, 0.5f, 0, 1.0f, 7);
  attrs.integer_add = IntegerAddForm::of(0.5f, 0, 0.5f, 0, 1.0f, 7, 1);
  attrs.ratio = 0.5f;
  KernelCase test{.spec = &kQuantizedBinary, .attrs = attrs};
  test.inputs = {random_tensor(random, DType::u8, {256, 16}), random_tensor(random, DType::u8, {256, 16})};
  EXPECT_FALSE(check_kernels(test).empty());
}

// Of a product whose zero point is added after the rounding.
TEST(QuantizedMul, ShiftsByAnyZeroPoint) {
  std::mt19937 random(4);
  KernelCase test{.spec = &kQuantizedBinary,
                  .attrs = QuantizedBinaryAttrs{
                      .kind = QuantizedBinaryKind::mul, .ratio = 0.004f, .lowest = -31, .highest = 224, .shift = 31}};
  test.inputs = {random_tensor(random, DType::u8, {7, 100}), random_tensor(random, DType::u8, {7, 100})};
  EXPECT_FALSE(check_kernels(test).empty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, QuantizedEltwise,
                         ::testing::Values(QuantizedBinaryKind::add, QuantizedBinaryKind::mul,
                                           QuantizedBinaryKind::integer_add));

}  // namespace
}  // namespace octavo::testing
