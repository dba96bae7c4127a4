// Kernels of table, quantize and dequantize.
#include "ops/table/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/harness.h"
#include "ops/channel_table/channel_table.h"
#include "ops/dequantize/dequantize.h"
#include "ops/quantize/quantize.h"

namespace octavo::testing {
namespace {

TEST(TableKernels, EqualTheReference) {
  std::mt19937 random(1);
  std::set<std::string> ran;
  for (DType x : {DType::u8, DType::s8}) {
    for (DType y : {DType::u8, DType::s8, DType::f32}) {
      for (std::int64_t n : {0, 1, 63, 64, 65, 255, 256, 1000, 40001}) {
        KernelCase test{.spec = &kTable, .inputs = {random_tensor(random, x, {n}), random_tensor(random, y, {256})}};
        ran.merge(check_kernels(test));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "table_").empty());
}

// Every index meets every position of a vector.
TEST(TableKernels, LookUpEveryEntryAtEveryOffset) {
  std::mt19937 random(2);
  Tensor x(DType::u8, {257 * 256});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i % 257);
  EXPECT_FALSE(check_kernels({.spec = &kTable, .inputs = {x, random_tensor(random, DType::u8, {256})}}).empty());
}

TEST(ChannelTableKernels, EqualTheReference) {
  std::mt19937 random(3);
  std::set<std::string> ran;
  const std::vector<std::int64_t> orders[] = {{0, 1, 2}, {2, 1, 0}, {0, 0, 0}, {1}, {1, 0}, {2, 0, 1, 1, 2}};
  for (const auto& channels : orders) {
    const auto to = static_cast<std::int64_t>(channels.size());
    for (const std::int64_t from : {1, 3, 4}) {
      if (*std::max_element(channels.begin(), channels.end()) >= from) continue;
      for (DType y : {DType::u8, DType::s8, DType::f32}) {
        for (std::int64_t pixels : {0, 1, 20, 21, 22, 63, 1000, 40001}) {
          ran.merge(check_kernels(
              {.spec = &kChannelTable,
               .attrs = ChannelTableAttrs{channels},
               .inputs = {random_tensor(random, DType::u8, {pixels, from}), random_tensor(random, y, {to, 256})}}));
        }
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "channel_table_").empty());
}

Tensor scales(std::mt19937& random, std::int64_t n) {
  Tensor tensor(DType::f32, n == 0 ? Shape{} : Shape{n});
  for (float& scale : tensor.span<float>()) scale = std::exp2f(-static_cast<float>(random() % 1000) / 100.0f);
  return tensor;
}

Tensor reals(std::mt19937& random, Shape shape, float unit) {
  Tensor x = random_tensor(random, DType::f32, std::move(shape));
  const float special[] = {INFINITY, -INFINITY,   NAN,         1e30f,        -1e30f,
                           -0.0f,    unit * 0.5f, unit * 1.5f, unit * -2.5f, 1e-42f};
  for (float& value : x.span<float>()) {
    if (random() % 8 == 0) value = special[random() % std::size(special)];
  }
  return x;
}

struct AxisCase {
  Shape shape;
  std::int64_t axis;
};
const AxisCase kAxisCases[] = {{{1}, -1},       {{3, 7, 11}, -1}, {{70000}, -1},  {{2, 5, 33}, 1},
                               {{2, 5, 33}, 2}, {{6, 4}, 0},      {{3, 1, 5}, 1}, {{0, 3}, 1}};

TEST(QuantizeKernels, EqualTheReference) {
  std::mt19937 random(3);
  std::set<std::string> ran;
  for (const AxisCase& axis : kAxisCases) {
    for (DType to : {DType::u8, DType::s8, DType::s16}) {
      if (to == DType::s16 && axis.axis >= 0) continue;  // has one scale
      for (Profile profile : {Profile::onnx, Profile::pt2e}) {
        for (bool has_zero_point : {true, false}) {
          const Tensor scale = scales(random, axis.axis < 0 ? 0 : axis.shape[static_cast<int>(axis.axis)]);
          KernelCase test{.spec = &kQuantize, .attrs = QuantizeAttrs{.to = to, .axis = axis.axis, .profile = profile}};
          test.inputs = {reals(random, axis.shape, scale.elements() == 0 ? 1.0f : scale.as<float>()[0]), scale};
          if (has_zero_point) test.inputs.push_back(random_tensor(random, to, scale.shape()));
          ran.merge(check_kernels(test));
        }
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "quantize_f32").empty());
}

TEST(QuantizeKernels, TakeBlocksHalvesAndSixteenBits) {
  std::mt19937 random(6);
  const Shape shape{3, 5, 7};
  struct Case {
    Shape scale;
    std::int64_t axis, block;
  };
  for (const Case& scales_of : {Case{{}, -1, 0}, {{5}, 1, 0}, {{3, 3, 7}, 1, 2}, {{3, 5, 2}, 2, 4}}) {
    for (const DType type : {DType::u8, DType::s8, DType::u16, DType::s16}) {
      for (const DType scale_type : {DType::f32, DType::f16}) {
        Tensor scale(scale_type, scales_of.scale);
        for (std::int64_t i = 0; i < scale.elements(); ++i)
          store_double(scale.view(), i, 0.01 + 0.1 * static_cast<double>(random() % 100));
        const Tensor zero_point = random_tensor(random, type, scales_of.scale);
        const Tensor x = random_tensor(random, DType::f32, shape), q = random_tensor(random, type, shape);
        const QuantizeAttrs to{.to = type, .axis = scales_of.axis, .block = scales_of.block};
        const DequantizeAttrs from{.axis = scales_of.axis, .block = scales_of.block};
        EXPECT_EQ(check_kernels({&kQuantize, to, {x, scale, zero_point}, {}}).count("quantize_any_portable"), 1u);
        EXPECT_EQ(check_kernels({&kDequantize, from, {q, scale}, {}}).count("dequantize_any_portable"), 1u);
      }
    }
  }
}

TEST(QuantizeKernels, KeepANarrowRange) {
  std::mt19937 random(4);
  KernelCase test{.spec = &kQuantize, .attrs = QuantizeAttrs{.to = DType::s8, .lowest = -127, .highest = 100}};
  test.inputs = {random_tensor(random, DType::f32, {1000}), Tensor::scalar(0.05f), Tensor::scalar(std::int8_t{-3})};
  EXPECT_FALSE(check_kernels(test).empty());
}

TEST(DequantizeKernels, EqualTheReference) {
  std::mt19937 random(5);
  std::set<std::string> ran;
  for (const AxisCase& axis : kAxisCases) {
    for (DType from : {DType::u8, DType::s8, DType::s16}) {
      if (from == DType::s16 && axis.axis >= 0) continue;  // has one scale
      for (bool has_zero_point : {true, false}) {
        const Tensor scale = scales(random, axis.axis < 0 ? 0 : axis.shape[static_cast<int>(axis.axis)]);
        KernelCase test{.spec = &kDequantize, .attrs = DequantizeAttrs{.axis = axis.axis}};
        test.inputs = {random_tensor(random, from, axis.shape), scale};
        if (has_zero_point) test.inputs.push_back(random_tensor(random, from, scale.shape()));
        ran.merge(check_kernels(test));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "dequantize_q8").empty());
}

}  // namespace
}  // namespace octavo::testing
