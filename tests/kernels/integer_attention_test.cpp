// quantized_attention kernels: sizes around vectors, types, masks of both kinds in every broadcast, packed operands.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/harness.h"
#include "ops/quantized_attention/quantized_attention.h"

namespace octavo::testing {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

Tensor weights_table() {
  Tensor table(DType::u8, {256});
  for (int i = 0; i < 256; ++i)
    table.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(std::nearbyint(255.0 * std::exp(-i * 0.0245)));
  return table;
}

struct Sizes {
  std::int64_t images = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, head_size = 1, value_size = 1;
};

QuantizedAttentionAttrs attrs_of(const Sizes& s) {
  return {.heads = {.heads = s.heads, .kv_heads = s.kv_heads, .head_size = s.head_size, .value_size = s.value_size},
          .q_zero_point = 100,
          .k_zero_point = 131,
          .v_zero_point = 90,
          .multiplier = 0.00031f,
          .steps = 40.9f,
          .epilogue = {{Affine{0.9f, 0.0f}, Round{.after = 120, .lowest = 3, .highest = 250}}, DType::u8}};
}

KernelCase integer_attention_case_of(std::mt19937& random, const Sizes& s, const QuantizedAttentionAttrs& attrs,
                                     std::optional<Tensor> mask = std::nullopt) {
  KernelCase test{.spec = &kQuantizedAttention, .attrs = attrs};
  test.inputs = {random_tensor(random, DType::u8, {s.images, s.queries, s.heads * s.head_size}),
                 random_tensor(random, DType::u8, {s.images, s.keys, s.kv_heads * s.head_size}),
                 random_tensor(random, DType::u8, {s.images, s.keys, s.kv_heads * s.value_size}), std::move(mask),
                 weights_table()};
  return test;
}

const Sizes kIntegerAttentionSizes[] = {
    {},
    {.heads = 2, .queries = 5, .keys = 7, .head_size = 3, .value_size = 5},
    {.images = 2, .heads = 3, .queries = 9, .keys = 16, .head_size = 32, .value_size = 32},
    {.heads = 2, .queries = 4, .keys = 33, .head_size = 64, .value_size = 64},
    {.heads = 1, .queries = 130, .keys = 65, .head_size = 17, .value_size = 24},
    {.images = 2, .heads = 4, .kv_heads = 2, .queries = 8, .keys = 31, .head_size = 16, .value_size = 40},
    {.heads = 2, .queries = 3, .keys = 197, .head_size = 48, .value_size = 12},
    {.heads = 1, .queries = 70, .keys = 300, .head_size = 80, .value_size = 100},
    {.heads = 2, .kv_heads = 2, .queries = 33, .keys = 129, .head_size = 65, .value_size = 65},
    {.heads = 1, .queries = 0, .keys = 4, .head_size = 8, .value_size = 8},
    {.heads = 1, .queries = 3, .keys = 0, .head_size = 8, .value_size = 8},
};

TEST(IntegerAttention, EqualsTheReference) {
  std::mt19937 random(1);
  std::set<std::string> ran;
  for (const Sizes& sizes : kIntegerAttentionSizes) {
    for (const bool is_causal : {false, true}) {
      QuantizedAttentionAttrs attrs = attrs_of(sizes);
      attrs.heads.is_causal = is_causal;
      ran.merge(check_kernels(integer_attention_case_of(random, sizes, attrs)));
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "attention_q8").empty());
}

// Every mixture of u8 and s8, with zero points at both ends of their ranges.
TEST(IntegerAttention, SignedValuesAndResults) {
  std::mt19937 random(2);
  const Sizes s{.images = 2, .heads = 2, .queries = 6, .keys = 20, .head_size = 16, .value_size = 16};
  for (unsigned types = 0; types < 8; ++types) {
    for (const bool is_high : {false, true}) {
      const auto zero_point = [&](std::size_t i) {
        return static_cast<std::int32_t>(types >> i & 1u) * -128 + (is_high ? 255 : 0);
      };
      QuantizedAttentionAttrs attrs = attrs_of(s);
      attrs.q_zero_point = zero_point(0), attrs.k_zero_point = zero_point(1), attrs.v_zero_point = zero_point(2);
      attrs.epilogue = {{Affine{0.9f, 0.0f}, Round{.after = -5, .lowest = -128, .highest = 127}}, DType::s8};
      KernelCase test = integer_attention_case_of(random, s, attrs);
      for (std::size_t i = 0; i < 3; ++i) {
        if ((types >> i & 1u) != 0) test.inputs[i] = random_tensor(random, DType::s8, test.inputs[i]->shape());
      }
      EXPECT_FALSE(check_kernels(test).empty());
    }
  }
}

// What is made into rows of bytes afterwards.
TEST(IntegerAttention, RealResults) {
  std::mt19937 random(6);
  std::set<std::string> ran;
  for (const Sizes& sizes : kIntegerAttentionSizes) {
    QuantizedAttentionAttrs attrs = attrs_of(sizes);
    attrs.epilogue = {{Affine{0.013f, 0.0f}}, DType::f32};
    ran.merge(check_kernels(integer_attention_case_of(random, sizes, attrs)));
  }
  EXPECT_TRUE(kernels_missing(ran, "attention_q8").empty());
}

// On tensor cores: more than one tile of queries, keys and columns, and what is left of one; queries 16, 32 and 64 by
// 64; copies by 4 and by 16; hidden keys, zero points at the ends of their range.
TEST(IntegerAttention, ByTilesOnDevices) {
  std::mt19937 random(7);
  for (const Sizes& sizes :
       {Sizes{.images = 1, .heads = 4, .kv_heads = 2, .queries = 37, .keys = 70, .head_size = 8, .value_size = 36},
        Sizes{.images = 2, .heads = 4, .kv_heads = 4, .queries = 1, .keys = 130, .head_size = 64, .value_size = 32},
        Sizes{.images = 33, .heads = 4, .kv_heads = 1, .queries = 67, .keys = 5, .head_size = 32, .value_size = 4},
        Sizes{.images = 1, .heads = 2, .kv_heads = 2, .queries = 300, .keys = 65, .head_size = 12, .value_size = 132},
        Sizes{.images = 40, .heads = 4, .kv_heads = 2, .queries = 130, .keys = 64, .head_size = 4, .value_size = 64},
        Sizes{
            .images = 1, .heads = 1, .kv_heads = 1, .queries = 16, .keys = 2100, .head_size = 96, .value_size = 80}}) {
    for (const bool is_causal : {false, true}) {
      QuantizedAttentionAttrs attrs = attrs_of(sizes);
      attrs.heads.is_causal = is_causal;
      if (is_causal) attrs.q_zero_point = attrs.v_zero_point = 255, attrs.k_zero_point = 0;
      const Tensor mask =
          random_tensor(random, is_causal ? DType::boolean : DType::f32, {sizes.images, 1, sizes.queries, sizes.keys});
      const std::set<std::string> ran = check_kernels(integer_attention_case_of(random, sizes, attrs, mask));
      EXPECT_TRUE(ran.contains("attention_q8_tile_cuda"));
    }
  }
}

// Some keys, all of them, and none.
TEST(IntegerAttention, Masks) {
  std::mt19937 random(3);
  const Sizes s{.images = 2, .heads = 3, .queries = 5, .keys = 21, .head_size = 8, .value_size = 8};
  const Shape shapes[] = {{s.images, 1, 1, s.keys},        {s.images, s.heads, s.queries, s.keys},
                          {1, s.heads, s.queries, s.keys}, {s.queries, s.keys},
                          {s.images, 1, s.queries, 1},     {1}};
  for (const Shape& shape : shapes) {
    Tensor added(DType::f32, shape), shown(DType::boolean, shape);
    for (std::int64_t i = 0; i < added.elements(); ++i) {
      const unsigned kind = random() % 5;
      added.as<float>()[i] = kind == 0 ? kNever : (kind == 1 ? -3.4e38f : static_cast<float>(random() % 100) * 0.03f);
      shown.as<std::uint8_t>()[i] = kind > 1;
    }
    EXPECT_FALSE(check_kernels(integer_attention_case_of(random, s, attrs_of(s), added)).empty());
    EXPECT_FALSE(check_kernels(integer_attention_case_of(random, s, attrs_of(s), shown)).empty());
    std::fill_n(added.as<float>(), added.elements(), kNever);
    std::fill_n(shown.as<std::uint8_t>(), shown.elements(), std::uint8_t{0});
    EXPECT_FALSE(check_kernels(integer_attention_case_of(random, s, attrs_of(s), added)).empty());
    EXPECT_FALSE(check_kernels(integer_attention_case_of(random, s, attrs_of(s), shown)).empty());
    added.as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(check_kernels(integer_attention_case_of(random, s, attrs_of(s), added)).empty());
    added.as<float>()[0] = -kNever;
    EXPECT_FALSE(check_kernels(integer_attention_case_of(random, s, attrs_of(s), added)).empty());
  }
}

// q, k and v are columns of one tensor.
TEST(IntegerAttention, PackedOperands) {
  std::mt19937 random(4);
  const Sizes s{.images = 2, .heads = 3, .kv_heads = 3, .queries = 18, .keys = 18, .head_size = 8, .value_size = 8};
  QuantizedAttentionAttrs attrs = attrs_of(s);
  attrs.heads.k_first = 24, attrs.heads.v_first = 49;
  KernelCase test = integer_attention_case_of(random, s, attrs);
  for (std::size_t i = 0; i < 3; ++i) test.inputs[i] = random_tensor(random, DType::u8, {s.images, s.queries, 75});
  EXPECT_FALSE(check_kernels(test).empty());
}

// Large scores of one key leave nothing to the others; the sums are the largest there are.
TEST(IntegerAttention, ExtremeValues) {
  std::mt19937 random(5);
  const Sizes s{.heads = 1, .queries = 4, .keys = 600, .head_size = 128, .value_size = 8};
  for (const float multiplier : {0.0f, 1e-9f, 1.0f, 3e38f, -0.01f}) {
    QuantizedAttentionAttrs attrs = attrs_of(s);
    attrs.multiplier = multiplier;
    attrs.q_zero_point = attrs.k_zero_point = attrs.v_zero_point = 0;
    KernelCase test = integer_attention_case_of(random, s, attrs);
    std::fill_n(test.inputs[0]->as<std::uint8_t>(), 512, std::uint8_t{255});
    std::fill_n(test.inputs[2]->as<std::uint8_t>(), test.inputs[2]->elements(), std::uint8_t{255});
    EXPECT_FALSE(check_kernels(test).empty());
  }
}

}  // namespace
}  // namespace octavo::testing
