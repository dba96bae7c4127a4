// Kernels of fixed-point operators against their references.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "kernels/harness.h"
#include "ops/fixed_l2_norm/fixed_l2_norm.h"
#include "ops/integer_resize/integer_resize.h"
#include "ops/quantize/quantize.h"
#include "ops/quantized_elementwise/quantized_elementwise.h"
#include "ops/quantized_pool/quantized_pool.h"
#include "ops/quantized_softmax/quantized_softmax.h"

namespace octavo::testing {
namespace {

constexpr Profile kProfiles[] = {Profile::tflite_double, Profile::tflite_single};
constexpr Profile kScaleProfiles[] = {Profile::tflite_double, Profile::tflite_single, Profile::tflite_optimized};

Tensor fixed_factors(std::mt19937& random, std::int64_t count, bool are_shifts) {
  Tensor tensor(DType::s32, Shape{count});
  for (std::int32_t& value : tensor.span<std::int32_t>()) {
    value = are_shifts ? -static_cast<std::int32_t>(random() % 16)
                       : static_cast<std::int32_t>(random() % (1u << 30) + (1u << 30));
  }
  return tensor;
}

std::set<std::string> check_elementwise(const Epilogue& epilogue, std::vector<std::optional<Tensor>> inputs,
                                        std::vector<bool> is_constant = {}) {
  return check_kernels({.spec = &kQuantizedElementwise,
                        .attrs = QuantizedElementwiseAttrs{epilogue},
                        .inputs = std::move(inputs),
                        .is_constant = std::move(is_constant)});
}

TEST(FixedKernels, Requantize) {
  std::mt19937 random(1);
  const Round round{.after = -3, .lowest = -120, .highest = 127};
  const std::vector<bool> is_constant = {false, true, true, true};
  for (const Profile profile : kScaleProfiles) {
    for (const Shape& shape : {Shape{7}, Shape{1, 5, 9, 17}, Shape{3, 40, 129}, Shape{0, 4}, Shape{4, 0}}) {
      for (const bool is_per_channel : {false, true}) {
        const std::int64_t count = is_per_channel ? shape[shape.rank() - 1] : 1;
        const Tensor x = random_tensor(random, DType::s32, shape), factors = fixed_factors(random, count, false),
                     shifts = fixed_factors(random, count, true), table = random_tensor(random, DType::u8, {256});
        const Epilogue fixed{{FixedScale{profile}, round}, DType::s8};
        EXPECT_FALSE(check_elementwise(fixed, {x, factors, shifts}, is_constant).empty());
        EXPECT_FALSE(
            check_elementwise(fixed.appended({{Lookup{}}, DType::s8}), {x, factors, shifts, table}, is_constant)
                .empty());
        Tensor real(DType::f64, Shape{count});
        for (double& value : real.span<double>()) value = 1e-7 * static_cast<double>(random() % 100);
        const Epilogue doubles{{DoubleScale{}, round, Lookup{}}, DType::s8};
        EXPECT_FALSE(check_elementwise(doubles, {x, real, table}, is_constant).empty());
      }
    }
  }
}

// Halves go away from 0, and so does what is a little more; a little less does not.
TEST(FixedKernels, RequantizeByDoubles) {
  std::mt19937 random(6);
  Tensor x(DType::s32, Shape{9, 61}), factors(DType::f64, Shape{61});
  for (std::int32_t& value : x.span<std::int32_t>()) value = static_cast<std::int32_t>(random() % 1024) - 512;
  const double halves[] = {0.5, std::nextafter(0.5, 0.0), std::nextafter(0.5, 1.0), 0.25, 1e300, 0.0, -0.5};
  for (double& factor : factors.span<double>()) factor = halves[random() % std::size(halves)];
  const Epilogue epilogue{{DoubleScale{}, Round{.after = 100, .lowest = 3}}, DType::u8};
  const auto ran = check_elementwise(epilogue, {x, factors});
  EXPECT_TRUE(kernels_missing(ran, "eltwise_q8").empty());
}

// Sums without a factor, or with one for all, in s32 and as bytes.
TEST(FixedKernels, SumsWithoutFixedPoint) {
  std::mt19937 random(9);
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 5, 67}, Shape{0, 4}}) {
    const Tensor x = random_tensor(random, DType::s32, shape);
    for (const Epilogue& epilogue : {Epilogue{{}, DType::s32}, Epilogue{{Round{.after = 20, .lowest = 5}}, DType::u8},
                                     Epilogue{{Affine{1e-8f, 7.5f}, Round{.highest = 250}}, DType::u8}}) {
      const auto ran = check_elementwise(epilogue, {x});
      EXPECT_TRUE(kernels_missing(ran, "eltwise_q8").empty());
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
  for (const Profile profile : kScaleProfiles) {
    for (const std::int64_t channels : {1, 16, 61}) {
      for (int shift = -34; shift <= 33; ++shift) {
        const Epilogue epilogue{{FixedScale{profile}, Round{.after = 128}}, DType::u8};
        Tensor x(DType::s32, Shape{12, channels}), m(DType::s32, Shape{channels}), s(DType::s32, Shape{channels});
        for (std::int64_t i = 0; i < x.elements(); ++i) {
          const std::int32_t near_half = static_cast<std::int32_t>(random() % 1024) - 512;
          x.as<std::int32_t>()[i] = random() % 3 == 0 ? near_half : sums[random() % std::size(sums)];
        }
        for (std::int64_t c = 0; c < channels; ++c) {
          m.as<std::int32_t>()[c] = multipliers[random() % std::size(multipliers)];
          s.as<std::int32_t>()[c] = random() % 4 == 0 ? static_cast<std::int32_t>(random() % 68) - 34 : shift;
        }
        const auto ran = check_elementwise(epilogue, {x, m, s});
        EXPECT_TRUE(kernels_missing(ran, "eltwise_q8").empty());
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
    for (int kind = 0; kind < count_of(FixedBinaryKind{}); ++kind) {
      for (int round = 0; round < 4; ++round) {
        const FixedBinary fixed{.form = {static_cast<FixedBinaryKind>(kind), factor(), factor(), factor()},
                                .profile = profile,
                                .value_zero_point = static_cast<std::int32_t>(random() % 256),
                                .other_zero_point = static_cast<std::int32_t>(random() % 256)};
        const auto ran = check_elementwise({{fixed, Round{.after = 100}}, DType::u8}, {a, b});
        EXPECT_TRUE(kernels_missing(ran, "eltwise_q8").empty());
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
        for (const DType a : {DType::u8, DType::s8}) {
          for (const DType b : {DType::u8, DType::s8}) {
            const FixedBinary fixed{FixedBinaryForm::of(static_cast<FixedBinaryKind>(kind), 0.031f, 0.0247f, 0.04f),
                                    profile, 117, 11};
            const Round round{.after = 20, .lowest = 3, .highest = 250};
            const Tensor left = random_tensor(random, a, one.a), right = random_tensor(random, b, one.b);
            auto ran = check_elementwise({{fixed, round}, DType::u8}, {left, right});
            EXPECT_EQ(ran.count("eltwise_q8_portable"), 1u);
            const bool has_vectors = a == DType::u8 && b == DType::u8;
            EXPECT_EQ(kernels_missing(ran, "eltwise_q8").empty(), has_vectors);
            ran = check_elementwise({{fixed, round, Lookup{}}, DType::u8},
                                    {left, right, random_tensor(random, DType::s8, {256})});
            EXPECT_EQ(kernels_missing(ran, "eltwise_q8").empty(), has_vectors);
          }
        }
      }
    }
  }
}

TEST(FixedKernels, SumsAndLines) {
  std::mt19937 random(3);
  for (const DType dtype : {DType::u8, DType::s8}) {
    for (const Shape& shape : {Shape{1, 49, 1, 33}, Shape{5, 1, 1, 7}, Shape{3, 20, 1, 1}, Shape{2, 3, 2, 130}}) {
      QuantizedPoolAttrs pool{
          .window = unit_window({shape[1], shape[2]}), .x_zero_point = 11, .epilogue = {.to = DType::s32}};
      KernelCase test{.spec = &kQuantizedPool, .attrs = pool, .inputs = {random_tensor(random, dtype, shape)}};
      EXPECT_TRUE(kernels_missing(check_kernels(test), "pool_q8").empty());
      for (const Profile profile : kProfiles) {
        for (const std::int64_t factors : {std::int64_t{1}, shape[3]}) {
          pool.epilogue = {{FixedScale{profile}, Round{.after = 20}}, DType::u8};
          test.attrs = pool;
          test.inputs = {test.inputs[0], fixed_factors(random, factors, false), fixed_factors(random, factors, true)};
          EXPECT_TRUE(kernels_missing(check_kernels(test), "pool_q8").empty());
        }
      }
    }
    for (const Profile profile : kProfiles) {
      for (const FixedNormForm form : {FixedNormForm::in_factor, FixedNormForm::in_value}) {
        FixedL2NormAttrs norm{.form = form,
                              .profile = profile,
                              .x_zero_point = 5,
                              .epilogue = {{Round{.lowest = -128, .highest = 127}}, DType::s8}};
        KernelCase test{.spec = &kFixedL2Norm, .attrs = norm, .inputs = {random_tensor(random, dtype, {9, 31})}};
        EXPECT_FALSE(check_kernels(test).empty());
        norm.epilogue.stages.emplace_back(Lookup{});
        test.attrs = norm;
        test.inputs.push_back(random_tensor(random, DType::u8, {256}));
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

// `taps` may lie beyond the image, as files may say, and weights at and beyond their ends.
struct ResizeAxis {
  Tensor taps, weights;
};
ResizeAxis resize_axis(std::mt19937& random, ResizeRounding form, std::int64_t size, std::int64_t from,
                       bool has_wild_weights) {
  ResizeAxis axis{Tensor(DType::s32, Shape{size, 2}), Tensor(DType::f32, Shape{size})};
  for (std::int32_t& tap : axis.taps.span<std::int32_t>())
    tap = static_cast<std::int32_t>(random() % static_cast<unsigned>(from + 2)) - 1;
  const float one = form == ResizeRounding::real ? 1.0f : (form == ResizeRounding::ten_bits ? 1024.0f : 2048.0f);
  for (float& weight : axis.weights.span<float>()) {
    const float part = static_cast<float>(random() % 1000) / 999.0f;
    const float ends[] = {0.0f,       one,         form == ResizeRounding::real ? part : std::floor(part * one),
                          1.5f * one, -0.5f * one, 4.0f * one,
                          -2.5f * one};
    weight = ends[random() % (has_wild_weights ? 7 : (form == ResizeRounding::eleven_bits ? 3 : 5))];
  }
  return axis;
}

TEST(FixedKernels, Resize) {
  std::mt19937 random(4);
  for (int rounding = 0; rounding < count_of(ResizeRounding{}); ++rounding) {
    for (const DType dtype : {DType::u8, DType::s8}) {
      for (const std::int64_t channels : {1, 3, 8, 21, 64}) {
        for (const int shift : {0, 128, -128}) {
          const auto form = static_cast<ResizeRounding>(rounding);
          const ResizeAxis rows = resize_axis(random, form, 7, 5, channels == 3),
                           columns = resize_axis(random, form, 19, 4, channels == 21);
          KernelCase test{.spec = &kIntegerResize, .attrs = IntegerResizeAttrs{form, shift}};
          test.inputs = {random_tensor(random, dtype, {2, 5, 4, channels}), rows.taps, rows.weights, columns.taps,
                         columns.weights};
          test.is_constant = {false, true, true, true, true};
          const std::set<std::string> all{"integer_resize_avx2", "integer_resize_avx512", "integer_resize_cuda",
                                          "integer_resize_neon", "integer_resize_portable"};
          const std::set<std::string> found = check_kernels(test);
          EXPECT_EQ(found.count("integer_resize_portable"), 1u);
          EXPECT_TRUE(std::includes(all.begin(), all.end(), found.begin(), found.end()));
        }
      }
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
    const std::set<std::string> all{"quantize_any_portable", "quantize_away_f32_portable", "quantize_f32_cuda"};
    EXPECT_EQ(check_kernels(test), all);
  }
}

}  // namespace
}  // namespace octavo::testing
