// Kernels of fixed-point operators against their references.
#include <gtest/gtest.h>

#include <iterator>
#include <limits>

#include "kernels/harness.h"
#include "ops/fixed_binary/fixed_binary.h"
#include "ops/fixed_l2_norm/fixed_l2_norm.h"
#include "ops/fixed_requantize/fixed_requantize.h"
#include "ops/integer_resize/integer_resize.h"
#include "ops/integer_sum/integer_sum.h"
#include "ops/quantize/quantize.h"
#include "ops/quantized_softmax/quantized_softmax.h"

namespace octavo::testing {
namespace {

constexpr Profile kProfiles[] = {Profile::tflite_double, Profile::tflite_single};

Tensor fixed_factors(std::mt19937& random, std::int64_t count, bool are_shifts) {
  Tensor tensor(DType::s32, Shape{count});
  for (std::int32_t& value : tensor.span<std::int32_t>()) {
    value = are_shifts ? -static_cast<std::int32_t>(random() % 16)
                       : static_cast<std::int32_t>(random() % (1u << 30) + (1u << 30));
  }
  return tensor;
}

TEST(FixedKernels, Requantize) {
  std::mt19937 random(1);
  for (const Profile profile : kProfiles) {
    for (const Shape& shape : {Shape{7}, Shape{1, 5, 9, 17}, Shape{3, 40, 129}, Shape{0, 4}, Shape{4, 0}}) {
      for (const bool is_per_channel : {false, true}) {
        const std::int64_t count = is_per_channel ? shape[shape.rank() - 1] : 1;
        const FixedRequantizeAttrs attrs{
            .to = DType::s8, .profile = profile, .zero_point = -3, .lowest = -120, .highest = 127};
        KernelCase test{.spec = &kFixedRequantize, .attrs = attrs};
        test.inputs = {random_tensor(random, DType::s32, shape), fixed_factors(random, count, false),
                       fixed_factors(random, count, true)};
        test.is_constant = {false, true, true, true};
        EXPECT_FALSE(check_kernels(test).empty());
        test.inputs.push_back(random_tensor(random, DType::u8, {256}));
        EXPECT_FALSE(check_kernels(test).empty());
        Tensor real(DType::f64, Shape{count});
        for (double& value : real.span<double>()) value = 1e-7 * static_cast<double>(random() % 100);
        test.inputs[1] = real;
        test.inputs[2] = std::nullopt;
        EXPECT_FALSE(check_kernels(test).empty());
      }
    }
  }
}

// Multipliers and shifts that no lowering makes, as a file may have them, and sums at the ends of 32 bits.
TEST(FixedKernels, RequantizeExtremes) {
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min(),
                         kHighest = std::numeric_limits<std::int32_t>::max();
  std::mt19937 random(7);
  const std::int32_t sums[] = {kLowest, kLowest + 1, kHighest,   kHighest - 1,  -1, 0,
                               1,       1 << 30,     -(1 << 30), (1 << 30) - 1, 3,  -3};
  const std::int32_t multipliers[] = {kLowest, kLowest + 1, kHighest, 1 << 30,    (1 << 30) + 1,
                                      -1,      0,           1,        -(1 << 30), 1431655765};
  for (const Profile profile : kProfiles) {
    for (const std::int64_t channels : {1, 16, 61}) {
      for (int shift = -34; shift <= 33; ++shift) {
        const FixedRequantizeAttrs attrs{
            .to = DType::u8, .profile = profile, .zero_point = 128, .lowest = 0, .highest = 255};
        KernelCase test{.spec = &kFixedRequantize, .attrs = attrs};
        Tensor x(DType::s32, Shape{12, channels}), m(DType::s32, Shape{channels}), s(DType::s32, Shape{channels});
        for (std::int64_t i = 0; i < x.elements(); ++i) {
          const std::int32_t near_half = static_cast<std::int32_t>(random() % 1024) - 512;
          x.as<std::int32_t>()[i] = random() % 3 == 0 ? near_half : sums[random() % std::size(sums)];
        }
        for (std::int64_t c = 0; c < channels; ++c) {
          m.as<std::int32_t>()[c] = multipliers[random() % std::size(multipliers)];
          s.as<std::int32_t>()[c] = random() % 4 == 0 ? static_cast<std::int32_t>(random() % 68) - 34 : shift;
        }
        test.inputs = {x, m, s};
        const auto ran = check_kernels(test);
        EXPECT_TRUE(kernels_missing(ran, "fixed_requantize").empty());
      }
    }
  }
}

// All pairs of bytes, with factors over their whole range.
TEST(FixedKernels, BinaryExtremes) {
  std::mt19937 random(8);
  Tensor a(DType::u8, Shape{256, 1}), b(DType::u8, Shape{256});
  for (int i = 0; i < 256; ++i) a.as<std::uint8_t>()[i] = b.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  const auto factor = [&] {
    constexpr std::int32_t kHighest = std::numeric_limits<std::int32_t>::max();
    const std::int32_t multipliers[] = {0, 1 << 30, kHighest,
                                        static_cast<std::int32_t>(random() % (1u << 30) + (1u << 30))};
    return FixedMultiplier{multipliers[random() % 4], static_cast<std::int32_t>(random() % 62) - 31};
  };
  for (const Profile profile : kProfiles) {
    for (const FixedBinaryKind kind : {FixedBinaryKind::add, FixedBinaryKind::sub, FixedBinaryKind::mul}) {
      for (int round = 0; round < 4; ++round) {
        const FixedBinaryAttrs attrs{.form = {kind, factor(), factor(), factor()},
                                     .profile = profile,
                                     .a_zero_point = static_cast<std::int32_t>(random() % 256),
                                     .b_zero_point = static_cast<std::int32_t>(random() % 256),
                                     .zero_point = 100,
                                     .lowest = 0,
                                     .highest = 255};
        const auto ran = check_kernels({.spec = &kFixedBinary, .attrs = attrs, .inputs = {a, b}});
        EXPECT_TRUE(kernels_missing(ran, "fixed_binary").empty());
      }
    }
  }
}

TEST(FixedKernels, Binary) {
  std::mt19937 random(2);
  struct Shapes {
    Shape a, b;
  };
  const Shapes shapes[] = {{{1}, {1}},      {{3, 5, 7}, {3, 5, 7}},  {{2, 6, 35}, {35}},
                           {{24}, {9, 24}}, {{4, 1, 17}, {1, 6, 1}}, {{1, 40000}, {1, 40000}},
                           {{0, 4}, {0, 4}}};
  for (const Profile profile : kProfiles) {
    for (int kind = 0; kind < count_of(FixedBinaryKind{}); ++kind) {
      for (const Shapes& one : shapes) {
        for (const DType b : {DType::u8, DType::s8}) {
          const FixedBinaryAttrs attrs{
              .form = FixedBinaryForm::of(static_cast<FixedBinaryKind>(kind), 0.031f, 0.0247f, 0.04f),
              .profile = profile,
              .a_zero_point = 117,
              .b_zero_point = 11,
              .zero_point = 20,
              .lowest = 3,
              .highest = 250};
          KernelCase test{.spec = &kFixedBinary, .attrs = attrs};
          test.inputs = {random_tensor(random, DType::u8, one.a), random_tensor(random, b, one.b)};
          const auto ran = check_kernels(test);
          EXPECT_EQ(ran.count("fixed_binary_portable"), 1u);
          const bool has_vectors = b == DType::u8 && attrs.form.kind != FixedBinaryKind::prelu;
          EXPECT_EQ(kernels_missing(ran, "fixed_binary").empty(), has_vectors);
        }
      }
    }
  }
}

TEST(FixedKernels, SumsAndLines) {
  std::mt19937 random(3);
  for (const DType dtype : {DType::u8, DType::s8}) {
    for (const Shape& shape : {Shape{1, 49, 33}, Shape{5, 1, 7}, Shape{3, 20, 1}, Shape{2, 0, 3}}) {
      KernelCase test{
          .spec = &kIntegerSum, .attrs = IntegerSumAttrs{11}, .inputs = {random_tensor(random, dtype, shape)}};
      EXPECT_FALSE(check_kernels(test).empty());
    }
    for (const Profile profile : kProfiles) {
      for (const FixedNormForm form : {FixedNormForm::in_factor, FixedNormForm::in_value}) {
        const FixedL2NormAttrs norm{.form = form,
                                    .to = DType::s8,
                                    .profile = profile,
                                    .x_zero_point = 5,
                                    .zero_point = 0,
                                    .lowest = -128,
                                    .highest = 127};
        KernelCase test{.spec = &kFixedL2Norm, .attrs = norm, .inputs = {random_tensor(random, dtype, {9, 31})}};
        EXPECT_FALSE(check_kernels(test).empty());
      }
      Tensor table(DType::s32, Shape{256});
      for (int i = 0; i < 256; ++i) table.as<std::int32_t>()[i] = fixed_softmax_exponential(profile, i, 0.05f, 1.0f);
      KernelCase softmax{.spec = &kQuantizedSoftmax,
                         .attrs = QuantizedSoftmaxAttrs{DType::s8, profile, 1.0f / 256.0f, -128},
                         .inputs = {random_tensor(random, dtype, {33, 10}), table}};
      softmax.is_constant = {false, true};
      EXPECT_FALSE(check_kernels(softmax).empty());
    }
  }
}

TEST(FixedKernels, Resize) {
  std::mt19937 random(4);
  for (int rounding = 0; rounding < count_of(ResizeRounding{}); ++rounding) {
    for (const DType dtype : {DType::u8, DType::s8}) {
      const auto form = static_cast<ResizeRounding>(rounding);
      const auto taps = [&](std::int64_t size, std::int64_t from) {
        Tensor tensor(DType::s32, Shape{size, 2});
        // Beyond the image, too: files may say so.
        for (std::int32_t& tap : tensor.span<std::int32_t>())
          tap = static_cast<std::int32_t>(random() % static_cast<unsigned>(from + 2)) - 1;
        return tensor;
      };
      const auto weights = [&](std::int64_t size) {
        Tensor tensor(DType::f32, Shape{size});
        const float one = form == ResizeRounding::real ? 1.0f : (form == ResizeRounding::ten_bits ? 1024.0f : 2048.0f);
        for (float& weight : tensor.span<float>())
          weight = std::floor(static_cast<float>(random() % 1000) / 999.0f * one);
        return tensor;
      };
      KernelCase test{.spec = &kIntegerResize, .attrs = IntegerResizeAttrs{form, dtype == DType::u8 ? 128 : 0}};
      test.inputs = {random_tensor(random, dtype, {2, 5, 4, 3}), taps(7, 5), weights(7), taps(9, 4), weights(9)};
      test.is_constant = {false, true, true, true, true};
      EXPECT_EQ(check_kernels(test).count("integer_resize_portable"), 1u);
    }
  }
}

TEST(FixedKernels, QuantizeAwayFromZero) {
  std::mt19937 random(5);
  for (const DType to : {DType::u8, DType::s8}) {
    Tensor x = random_tensor(random, DType::f32, {3, 4, 50});
    // Ties among them.
    for (float& value : x.span<float>()) value = std::floor(value * 8.0f) / 8.0f;
    const Tensor zero_point = random_tensor(random, to, {4}),
                 scale = Tensor::of<float>({4}, std::vector<float>{0.25f, 0.1f, 0.5f, 0.03f});
    KernelCase test{.spec = &kQuantize,
                    .attrs = QuantizeAttrs{.to = to, .axis = 1, .profile = Profile::tflite_double},
                    .inputs = {x, scale, zero_point}};
    EXPECT_EQ(check_kernels(test), std::set<std::string>{"quantize_away_f32_portable"});
  }
}

}  // namespace
}  // namespace octavo::testing
