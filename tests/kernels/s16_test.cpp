// Kernels of s16 values in TFLite's arithmetic against their references.
#include <gtest/gtest.h>

#include <iterator>
#include <limits>

#include "base/interpolated.h"
#include "kernels/harness.h"
#include "ops/integer_resize/integer_resize.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/quantized_softmax/quantized_softmax.h"
#include "ops/s16_byte/s16_byte.h"
#include "ops/table/table.h"

namespace octavo::testing {
namespace {

constexpr Profile kS16Profiles[] = {Profile::tflite_double, Profile::tflite_single};

std::set<std::string> check_s16(const Epilogue& epilogue, std::vector<std::optional<Tensor>> inputs) {
  return check_kernels(
      {.spec = &kQuantizedElementwise, .attrs = QuantizedElementwiseAttrs{epilogue}, .inputs = std::move(inputs)});
}

TEST(S16Kernels, Pairs) {
  std::mt19937 random(1);
  struct S16Shapes {
    Shape a, b;
  };
  const S16Shapes shapes[] = {{{1}, {1}},      {{3, 5, 7}, {3, 5, 7}},  {{2, 6, 35}, {35}},
                              {{24}, {9, 24}}, {{4, 1, 17}, {1, 6, 1}}, {{1, 40000}, {1, 40000}},
                              {{0, 4}, {0, 4}}};
  for (const FixedBinaryKind kind :
       {FixedBinaryKind::add, FixedBinaryKind::sub, FixedBinaryKind::mul, FixedBinaryKind::div}) {
    for (const Profile profile : kS16Profiles) {
      for (const S16Shapes& one : shapes) {
        const float y_scale = kind == FixedBinaryKind::mul ? 6e-4f : 2e-4f;
        const FixedBinary fixed{FixedBinaryForm::of(kind, 1.1e-4f, 2.3e-4f, y_scale, FixedBinaryForm::kHeadroomOfS16),
                                profile};
        const Round round{.lowest = -30000, .highest = 32767};
        const auto ran = check_s16({{fixed, round}, DType::s16}, {random_tensor(random, DType::s16, one.a),
                                                                  random_tensor(random, DType::s16, one.b)});
        EXPECT_TRUE(kernels_missing(ran, "eltwise_s16").empty());
      }
    }
  }
}

// Of all sums, those at the ends of 32 bits among them, and of factors as a file may have them.
TEST(S16Kernels, JoinedSums) {
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min(),
                         kHighest = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kMultipliers[] = {kLowest, -1, 0, 1, 16384, 32767, 1 << 30, kHighest};
  std::mt19937 random(2);
  const Round round{.lowest = -32768, .highest = 32000};
  for (const Shape& shape : {Shape{7}, Shape{1, 5, 9, 17}, Shape{3, 40, 129}, Shape{0, 4}, Shape{4, 0}}) {
    for (const bool is_per_channel : {false, true}) {
      const std::int64_t count = is_per_channel ? shape[shape.rank() - 1] : 1;
      const Tensor upper = random_tensor(random, DType::s32, shape), lower = random_tensor(random, DType::s32, shape);
      for (int shift = -34; shift <= 66; shift += 12) {
        Tensor multipliers(DType::s32, Shape{count}), shifts(DType::s32, Shape{count}), reals(DType::f64, Shape{count});
        for (std::int64_t c = 0; c < count; ++c) {
          multipliers.as<std::int32_t>()[c] = kMultipliers[random() % std::size(kMultipliers)];
          shifts.as<std::int32_t>()[c] = shift + static_cast<std::int32_t>(random() % 12);
          reals.as<double>()[c] = std::ldexp(static_cast<double>(random() % 100), -shift);
        }
        for (const Profile profile : {Profile::tflite_double, Profile::tflite_single, Profile::tflite_optimized}) {
          const auto ran =
              check_s16({{JoinBytes{}, FixedScale{profile}, round}, DType::s16}, {upper, lower, multipliers, shifts});
          EXPECT_TRUE(kernels_missing(ran, "eltwise_s16").empty());
        }
        auto ran = check_s16({{JoinBytes{}, WideScale{}, round}, DType::s16}, {upper, lower, multipliers, shifts});
        EXPECT_TRUE(kernels_missing(ran, "eltwise_s16").empty());
        ran = check_s16({{JoinBytes{}, DoubleScale{}, round}, DType::s16}, {upper, lower, reals});
        EXPECT_TRUE(kernels_missing(ran, "eltwise_s16").empty());
      }
    }
  }
}

TEST(S16Kernels, TablesOfEveryValue) {
  std::mt19937 random(3);
  Tensor x(DType::s16, Shape{3, 65536});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.as<std::uint16_t>()[i] = static_cast<std::uint16_t>(i);
  for (const DType y : {DType::u8, DType::s8, DType::s16, DType::f32}) {
    const auto ran = check_kernels({.spec = &kTable, .inputs = {x, random_tensor(random, y, {65536})}});
    EXPECT_EQ(ran.count("sliced_table_portable"), 1u);
  }
  for (const DType bytes : {DType::u8, DType::s8}) {
    const Tensor table = random_tensor(random, DType::s16, {256});
    const auto ran = check_kernels({.spec = &kTable, .inputs = {random_tensor(random, bytes, {5, 77}), table}});
    EXPECT_EQ(ran.count("sliced_table_portable"), 1u);
  }
}

TEST(S16Kernels, BytesMakeTheValue) {
  std::mt19937 random(4);
  const Tensor x = random_tensor(random, DType::s16, {3, 5, 67});
  Tensor bytes[] = {Tensor(DType::u8, x.shape()), Tensor(DType::u8, x.shape())};
  for (const S16Byte which : {S16Byte::upper, S16Byte::lower}) {
    const Attrs attrs = S16ByteAttrs{which};
    EXPECT_FALSE(check_kernels({.spec = &kS16Byte, .attrs = attrs, .inputs = {x}}).empty());
    const ConstTensorView input = x.view();
    const TensorView output = bytes[static_cast<int>(which)].view();
    kS16Byte.reference(attrs, {&input, 1}, {&output, 1});
  }
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::int32_t upper = bytes[0].as<std::uint8_t>()[i] - zero_of(S16Byte::upper),
                       lower = bytes[1].as<std::uint8_t>()[i] - zero_of(S16Byte::lower);
    ASSERT_EQ(256 * upper + lower, x.as<std::int16_t>()[i]);
  }
}

TEST(S16Kernels, SoftmaxAndResize) {
  std::mt19937 random(5);
  const Tensor exponentials = Tensor::of<std::int16_t>(Shape{65536}, interpolated_exponentials(1e-3f, 1.0f));
  for (const Tensor& table : {exponentials, random_tensor(random, DType::s16, {65536})}) {
    for (const Shape& shape : {Shape{33, 10}, Shape{1}, Shape{2, 3, 400}}) {
      KernelCase test{.spec = &kQuantizedSoftmax,
                      .attrs = QuantizedSoftmaxAttrs{DType::s16, Profile::tflite_double, 0x1p-15f, 0},
                      .inputs = {random_tensor(random, DType::s16, shape), table},
                      .is_constant = {false, true}};
      EXPECT_EQ(check_kernels(test).count("sliced_quantized_softmax_portable"), 1u);
    }
  }
  const Tensor taps = Tensor::of<std::int32_t>({3, 2}, std::vector<std::int32_t>{0, 1, 1, 2, 2, 2});
  const Tensor weights = Tensor::of<float>({3}, std::vector<float>{0.0f, 511.0f, 1024.0f});
  const KernelCase resize{.spec = &kIntegerResize,
                          .attrs = IntegerResizeAttrs{ResizeRounding::ten_bits, 0},
                          .inputs = {random_tensor(random, DType::s16, {2, 3, 3, 5}), taps, weights, taps, weights},
                          .is_constant = {false, true, true, true, true}};
  EXPECT_EQ(check_kernels(resize).count("integer_resize_portable"), 1u);
}

}  // namespace
}  // namespace octavo::testing
