// quantized_elementwise kernels of two real values: all kinds, all broadcasts, all type pairs, tables, shifts.
#include <gtest/gtest.h>

#include "kernels/harness.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"

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

enum class Kind { add, mul, integer_add };

// Stored as `to` with `shift` added to both operands (but of integer_add) and the result.
Epilogue quantized_eltwise_epilogue_of(Kind kind, DType to, std::int32_t shift) {
  const IntegerRange range = range_of(to);
  const Round round{.after = shift,
                    .lowest = static_cast<std::int32_t>(range.lowest) + 3,
                    .highest = static_cast<std::int32_t>(range.highest) - 2};
  const AddForm form = AddForm::of(0.031f, 117, 0.0247f, -9, 0.04f, 3);
  switch (kind) {
    case Kind::add: return {{AddReal{Side::first, form.a_ratio, form.b_ratio, form.fixed, shift, shift}, round}, to};
    case Kind::mul: return {{Multiply{shift, 11 + shift}, Affine{0.0071f, to == DType::u8 ? 20.0f : -5.0f}, round}, to};
    case Kind::integer_add: break;
  }
  return {{AddInteger{IntegerAddForm::of(0.031f, 117, 0.0247f, -9, 0.04f, 3, -1), round.lowest, round.highest}}, to};
}

class QuantizedEltwise : public ::testing::TestWithParam<Kind> {};

std::set<std::string> check_quantized_eltwise(const Epilogue& epilogue, std::vector<std::optional<Tensor>> inputs) {
  return check_kernels(
      {.spec = &kQuantizedElementwise, .attrs = QuantizedElementwiseAttrs{epilogue}, .inputs = std::move(inputs)});
}

TEST_P(QuantizedEltwise, EqualsTheReference) {
  std::mt19937 random(1);
  std::set<std::string> ran;
  for (const Shapes& shapes : kShapes) {
    for (DType a : {DType::u8, DType::s8}) {
      for (DType b : {DType::u8, DType::s8}) {
        for (DType to : {DType::u8, DType::s8}) {
          Epilogue epilogue = quantized_eltwise_epilogue_of(GetParam(), to, 0);
          const Tensor x = random_tensor(random, a, shapes.a), y = random_tensor(random, b, shapes.b);
          ran.merge(check_quantized_eltwise(epilogue, {x, y}));
          epilogue.stages.emplace_back(Lookup{});
          ran.merge(check_quantized_eltwise(epilogue, {x, y, random_tensor(random, DType::s8, {256})}));
        }
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "eltwise_q8").empty());
}

TEST_P(QuantizedEltwise, ShiftsRelabelledValues) {
  std::mt19937 random(2);
  const Epilogue epilogue = quantized_eltwise_epilogue_of(GetParam(), DType::u8, 128);
  EXPECT_FALSE(check_quantized_eltwise(
                   epilogue, {random_tensor(random, DType::u8, {3, 100}), random_tensor(random, DType::u8, {3, 100})})
                   .empty());
}

// Ratios of one half make many ties.
TEST_P(QuantizedEltwise, RoundsTies) {
  std::mt19937 random(3);
  Epilogue epilogue = quantized_eltwise_epilogue_of(GetParam(), DType::u8, 0);
  const AddForm form = AddForm::of(0.5f, 0, 0.5f, 0, 1.0f, 7);
  if (GetParam() == Kind::add) epilogue.stages[0] = AddReal{Side::first, form.a_ratio, form.b_ratio, form.fixed};
  if (GetParam() == Kind::mul) std::get<Affine>(epilogue.stages[1]).multiplier = 0.5f;
  if (GetParam() == Kind::integer_add)
    std::get<AddInteger>(epilogue.stages[0]).form = IntegerAddForm::of(0.5f, 0, 0.5f, 0, 1.0f, 7, 1);
  EXPECT_FALSE(check_quantized_eltwise(
                   epilogue, {random_tensor(random, DType::u8, {256, 16}), random_tensor(random, DType::u8, {256, 16})})
                   .empty());
}

// Of a product whose zero point is added after the rounding.
TEST(QuantizedMul, ShiftsByAnyZeroPoint) {
  std::mt19937 random(4);
  const Epilogue epilogue{{Multiply{}, Affine{0.004f}, Round{.after = 31}}, DType::u8};
  EXPECT_FALSE(check_quantized_eltwise(
                   epilogue, {random_tensor(random, DType::u8, {7, 100}), random_tensor(random, DType::u8, {7, 100})})
                   .empty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, QuantizedEltwise, ::testing::Values(Kind::add, Kind::mul, Kind::integer_add));

}  // namespace
}  // namespace octavo::testing
