// Kernels of float islands: the same bits as the reference on every instruction set.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/call.h"
#include "kernels/compiled_for.h"
#include "kernels/float/fused_conv_params.h"
#include "kernels/float_cases.h"
#include "ops/argmax/argmax.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/conv/conv.h"
#include "ops/conv_integer/conv_integer.h"
#include "ops/dynamic_quantize/dynamic_quantize.h"
#include "ops/fused_conv/fused_conv.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul_integer/matmul_integer.h"
#include "ops/quantized_matmul/quantized_matmul.h"
#include "ops/quantized_softmax/quantized_softmax.h"
#include "ops/unary/unary.h"
#include "ops/where/where.h"

namespace octavo::testing {
namespace {

constexpr DType kFloatF32 = DType::f32;

TEST(FloatKernels, Binary) {
  std::mt19937 random(1);
  std::set<std::string> ran;
  for (int kind = 0; kind <= static_cast<int>(BinaryKind::less_or_equal); ++kind) {
    const BinaryAttrs attrs{static_cast<BinaryKind>(kind)};
    const std::pair<Shape, Shape> shapes[] = {
        {{3, 7, 19}, {3, 7, 19}}, {{2, 3, 5, 40}, {2, 1, 1, 40}}, {{33}, {1}}, {{}, {2, 50}}, {{4, 1, 6}, {5, 1}},
        {{0, 3}, {1, 3}}};
    for (const auto& [a, b] : shapes)
      ran.merge(check(kBinary, attrs, {with_special_values(random, a), with_special_values(random, b)}));
    check(kBinary, attrs, {all_exponents(random), random_tensor(random, kFloatF32, {512 * 101})});
    for (float y : {0.0f, 1.0f, 2.0f, 3.0f, -1.0f, 0.5f, -2.5f})
      check(kBinary, attrs, {with_special_values(random, {70}), Tensor::scalar(y)});
  }
  EXPECT_TRUE(kernels_missing(ran, "eltwise_binary").empty());
  EXPECT_TRUE(kernels_missing(ran, "eltwise_compare").empty());
}

TEST(FloatKernels, BinaryOfDoubles) {
  std::mt19937 random(22);
  for (int kind = 0; kind <= static_cast<int>(BinaryKind::less_or_equal); ++kind) {
    const BinaryAttrs attrs{static_cast<BinaryKind>(kind)};
    check(kBinary, attrs, {random_tensor(random, DType::f64, {3, 1, 67}), random_tensor(random, DType::f64, {4, 67})});
    check(kBinary, attrs, {random_tensor(random, DType::f64, {300}), random_tensor(random, DType::f64, {})});
  }
}

TEST(FloatKernels, BitsOfIntegers) {
  std::mt19937 random(21);
  for (const BinaryKind kind : {BinaryKind::shift_left, BinaryKind::shift_right, BinaryKind::bitwise_and,
                                BinaryKind::bitwise_or, BinaryKind::bitwise_xor}) {
    for (const DType dtype : {DType::u8, DType::s8, DType::u16, DType::s32, DType::u64, DType::s64}) {
      check(kBinary, BinaryAttrs{kind}, {random_tensor(random, dtype, {3, 67}), random_tensor(random, dtype, {67})});
      check(kBinary, BinaryAttrs{kind}, {random_tensor(random, dtype, {300}), Tensor(dtype, {})});
    }
  }
}

TEST(FloatKernels, Unary) {
  std::mt19937 random(2);
  std::set<std::string> ran;
  for (int kind = 0; kind < count_of(UnaryKind{}); ++kind) {
    const UnaryKind function{static_cast<std::uint8_t>(kind)};
    if (function == UnaryKind::logical_not || function == UnaryKind::bitwise_not) continue;
    for (float alpha : {0.1f, 1.0f / 3.0f}) {
      ran.merge(check(kUnary, UnaryAttrs{static_cast<UnaryKind>(kind), alpha, 0.7f},
                      {with_special_values(random, {3, 701})}));
    }
    for (std::int64_t n : {1, 5, 8, 15, 17, 33})
      check(kUnary, UnaryAttrs{static_cast<UnaryKind>(kind), -0.3f, 0.7f}, {with_special_values(random, {n})});
    check(kUnary, UnaryAttrs{static_cast<UnaryKind>(kind), 0.5f, 1.5f}, {all_exponents(random)});
    check(kUnary, UnaryAttrs{static_cast<UnaryKind>(kind), 0.5f, 1.5f}, {random_tensor(random, DType::f64, {70})});
  }
  EXPECT_TRUE(kernels_missing(ran, "eltwise_unary").empty());
  check(kUnary, UnaryAttrs{UnaryKind::abs}, {random_tensor(random, DType::s64, {70})});
  for (const DType dtype : {DType::u8, DType::s16, DType::s64})
    check(kUnary, UnaryAttrs{UnaryKind::bitwise_not}, {random_tensor(random, dtype, {3, 70})});
  for (const float negative : {0.0f, 1.0f}) {
    for (const float positive : {0.0f, 1.0f})
      check(kUnary, UnaryAttrs{UnaryKind::is_inf, negative, positive}, {with_special_values(random, {3, 701})});
  }
  check(kUnary, UnaryAttrs{UnaryKind::logical_not}, {random_tensor(random, DType::boolean, {70})});
}

TEST(FloatKernels, WhereAndCast) {
  std::mt19937 random(3);
  for (DType dtype : {DType::u8, DType::f16, kFloatF32, DType::s64}) {
    check(kWhere, NoAttrs{},
          {random_tensor(random, DType::boolean, {4, 1, 7}), random_tensor(random, dtype, {3, 1}),
           random_tensor(random, dtype, {7})});
    for (DType to : {DType::s8, DType::boolean, kFloatF32, DType::s32})
      check(kCast, CastAttrs{to}, {random_tensor(random, dtype, {3, 100})});
  }
  std::set<std::string> ran;
  const DType plain[] = {DType::boolean, DType::u8, DType::s8, DType::s32, DType::s64, kFloatF32};
  for (const DType from : plain) {
    for (const DType to : plain) {
      ran.merge(check(kCast, CastAttrs{to}, {random_tensor(random, from, {4099})}));
      if (from == kFloatF32) check(kCast, CastAttrs{to}, {with_special_values(random, {701})});
      if (from == kFloatF32) check(kCast, CastAttrs{to}, {all_exponents(random)});
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "plain_cast").empty());
}

struct ConvCase {
  Shape x;  // channels_last
  std::int64_t out;
  Window window;
  std::int64_t groups;
};
const ConvCase kConvs[] = {
    {{1, 9, 10, 3}, 70, {{3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}}, 1},
    {{2, 6, 5, 8}, 12, {{3, 2}, {1, 1}, {2, 1}, {2, 0}, {1, 1}}, 4},
    {{1, 4, 7, 5}, 5, {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 5},
    {{1, 5, 9, 33}, 17, {{1, 1}, {1, 2}, {1, 1}, {0, 0}, {0, 0}}, 1},
};

Tensor transposed(const Tensor& x) {  // last axis becomes the second
  std::vector<std::int64_t> dims{x.shape()[0], x.shape()[x.shape().rank() - 1]};
  for (int i = 1; i < x.shape().rank() - 1; ++i) dims.push_back(x.shape()[i]);
  return x.reshaped(Shape(dims));  // other data, but data all the same
}

TEST(FloatKernels, Conv) {
  std::mt19937 random(4);
  std::set<std::string> ran;
  for (const ConvCase& conv : kConvs) {
    const Tensor x = random_tensor(random, kFloatF32, conv.x);
    const Tensor w = random_tensor(random, kFloatF32,
                                   {conv.out, conv.window.kernel[0], conv.window.kernel[1], conv.x[3] / conv.groups});
    const Tensor bias = random_tensor(random, kFloatF32, {conv.out});
    const std::vector<bool> constant{false, true, true};
    ran.merge(check(kConv, ConvAttrs{conv.window, conv.groups, Layout::channels_last}, {x, w, bias}, constant));
    ran.merge(check(kConv, ConvAttrs{conv.window, conv.groups, Layout::channels_first}, {transposed(x), transposed(w)},
                    constant));
    FusedConvAttrs fused{.window = conv.window, .groups = conv.groups, .activation = {UnaryKind::silu}};
    ran.merge(check(kFusedConv, fused, {x, w, bias}, constant));
  }
  EXPECT_TRUE(kernels_missing(ran, "float_conv").empty());
  EXPECT_TRUE(kernels_missing(ran, "float_fused_conv").empty());
  const Window line{{3}, {1}, {2}, {1}, {2}};
  check(kConv, ConvAttrs{line, 1, Layout::channels_first},
        {random_tensor(random, kFloatF32, {2, 3, 11}), random_tensor(random, kFloatF32, {5, 3, 3})}, {false, true});
}

TEST(FloatKernels, ConvWithComputedWeightsAndVolumes) {
  std::mt19937 random(6);
  for (const ConvCase& conv : kConvs) {
    const Tensor x = random_tensor(random, kFloatF32, conv.x), bias = random_tensor(random, kFloatF32, {conv.out});
    const Tensor w = random_tensor(random, kFloatF32,
                                   {conv.out, conv.window.kernel[0], conv.window.kernel[1], conv.x[3] / conv.groups});
    check(kConv, ConvAttrs{conv.window, conv.groups, Layout::channels_last}, {x, w, bias});
    check(kConv, ConvAttrs{conv.window, conv.groups, Layout::channels_first}, {transposed(x), transposed(w)});
  }
  const Window window{{2, 3, 2}, {1, 2, 1}, {1, 1, 2}, {1, 0, 2}, {0, 2, 1}};
  for (const bool is_constant : {false, true}) {
    check(kConv, ConvAttrs{window, 2, Layout::channels_first},
          {random_tensor(random, kFloatF32, {2, 6, 3, 5, 4}), random_tensor(random, kFloatF32, {8, 3, 2, 3, 2}),
           random_tensor(random, kFloatF32, {8})},
          {false, is_constant, is_constant});
    check(kConv, ConvAttrs{window, 1, Layout::channels_last},
          {random_tensor(random, kFloatF32, {1, 3, 5, 9, 5}), random_tensor(random, kFloatF32, {70, 2, 3, 2, 5})},
          {false, is_constant});
  }
}

TEST(FloatKernels, FusedConvWithResidual) {
  std::mt19937 random(5);
  for (const ResidualPlace place : {ResidualPlace::before_activation, ResidualPlace::after_activation}) {
    FusedConvAttrs fused{.window = unit_window({1, 1}), .activation = {UnaryKind::relu}, .residual = place};
    check(kFusedConv, fused,
          {random_tensor(random, kFloatF32, {1, 5, 6, 7}), random_tensor(random, kFloatF32, {9, 1, 1, 7}), std::nullopt,
           random_tensor(random, kFloatF32, {1, 5, 6, 9})},
          {false, true, true, false});
  }
}

// More positions than a tile and a block of tiles have, in panels of every width, of channels with tails.
TEST(FloatKernels, FusedConvByTilesAndPanels) {
  std::mt19937 random(7);
  const Window around{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, wide{{5, 7}, {2, 1}, {1, 2}, {2, 0}, {3, 1}};
  const auto run = [&](Shape x, std::int64_t out, const Window& window, std::int64_t groups, bool is_constant) {
    const Tensor image = random_tensor(random, kFloatF32, x);
    const Tensor w = random_tensor(random, kFloatF32, {out, window.kernel[0], window.kernel[1], x[3] / groups});
    const FusedConvAttrs fused{.window = window, .groups = groups, .activation = {UnaryKind::clip, -3.0f, 5.0f}};
    check(kFusedConv, fused, {image, w, random_tensor(random, kFloatF32, {out})}, {false, is_constant, is_constant});
  };
  for (const bool is_constant : {true, false}) {
    for (const std::int64_t out : {1, 8, 15, 16, 17, 33, 65}) run({2, 5, 13, 3}, out, around, 1, is_constant);
    run({1, 11, 21, 4}, 18, wide, 1, is_constant);
    run({1, 11, 21, 6}, 9, wide, 3, is_constant);
    for (const std::int64_t channels : {1, 7, 33, 67})
      run({1, 9, 13, channels}, channels, around, channels, is_constant);
    run({1, 9, 13, 6}, 12, around, 6, is_constant);
    run({0, 9, 13, 6}, 12, around, 1, is_constant);
    run({1, 9, 13, 3}, 16 * 32 + 5, around, 1, is_constant);  // panels first
  }
}

// So that threads have as much to do as each other: all blocks lack less than a tile each.
TEST(FloatKernels, FusedConvSharesItsPositionsEvenly) {
  const auto schedule = [](std::int64_t positions, std::int64_t channels) {
    const Attrs attrs(FusedConvAttrs{.window = unit_window({1, 1})});
    const Fact x{.dtype = kFloatF32, .shape = {positions, 1, 1, 24}},
        w{.dtype = kFloatF32, .shape = {channels, 1, 1, 24}};
    const Fact y{.dtype = kFloatF32, .shape = {positions, 1, 1, channels}};
    const OpCall call{.spec = &kFusedConv, .attrs = &attrs, .inputs = {&x, &w, nullptr, nullptr}, .outputs = {y}};
    return fused_conv::params_of(view_of(call), CompiledFor<SumFunctions, Isa::scalar>::table).schedule;
  };
  for (std::int64_t positions = 2; positions < 400; ++positions) {
    const auto [rows, tiles, by_panels] = schedule(positions, 32);
    const std::int64_t blocks = (positions + tiles * rows - 1) / (tiles * rows);
    EXPECT_LT(blocks * tiles * rows, positions + blocks * rows) << positions << " in blocks of " << tiles * rows;
  }
  EXPECT_TRUE(schedule(200, 5120).by_panels);
  EXPECT_FALSE(schedule(200, 16).by_panels);
  EXPECT_FALSE(schedule(10, 5120).by_panels);
}

TEST(FloatKernels, Products) {
  std::mt19937 random(6);
  std::set<std::string> ran;
  const std::pair<Shape, Shape> shapes[] = {
      {{5, 33}, {33, 70}}, {{2, 3, 6, 8}, {3, 8, 5}},   {{40}, {40, 3}},  {{4, 9}, {9}},
      {{7}, {7}},          {{2, 70, 65}, {2, 65, 100}}, {{3, 0}, {0, 4}}, {{1, 300}, {300, 1100}},
      {{0, 3}, {3, 4}},    {{13, 2050}, {2050, 37}}};
  for (const auto& [a, b] : shapes) {
    for (const DType dtype : {kFloatF32, DType::f64, DType::s32, DType::u64})
      ran.merge(check(kMatmul, NoAttrs{}, {random_tensor(random, dtype, a), random_tensor(random, dtype, b)}));
    for (DType at : {DType::u8, DType::s8}) {
      for (DType bt : {DType::u8, DType::s8}) {
        const Tensor left = random_tensor(random, at, a), right = random_tensor(random, bt, b);
        ran.merge(check(kMatmulInteger, NoAttrs{}, {left, right}));
        ran.merge(check(kMatmulInteger, NoAttrs{},
                        {left, right, random_tensor(random, at, {}), random_tensor(random, bt, {1})}));
        QuantizedMatmulAttrs attrs{.a_zero_point = at == DType::u8 ? 130 : -5, .b_zero_point = 3};
        const std::vector<Stage> rounded{Affine{0.0007f}, Round{.after = 100, .lowest = 9}};
        attrs.epilogue = {rounded, DType::u8};
        ran.merge(check(kQuantizedMatmul, attrs, {left, right}));
        attrs.epilogue = Epilogue{rounded, DType::u8}.appended({{Lookup{}}, DType::u8});
        ran.merge(check(kQuantizedMatmul, attrs, {left, right, random_tensor(random, DType::s8, {256})}));
        attrs.epilogue = {{Affine{0.0007f}}, DType::f32};
        ran.merge(check(kQuantizedMatmul, attrs, {left, right}));
        attrs.epilogue = {.to = DType::s32};
        ran.merge(check(kQuantizedMatmul, attrs, {left, right}));
        // One factor, or one for each column.
        attrs.epilogue = {{FixedScale{}, Round{.after = 100}}, DType::u8};
        for (const std::int64_t factors : {std::int64_t{1}, b.rank() > 1 ? b[b.rank() - 1] : std::int64_t{1}}) {
          Tensor multiplier(DType::s32, Shape{factors}), shift(DType::s32, Shape{factors});
          for (std::int32_t& value : multiplier.span<std::int32_t>())
            value = static_cast<std::int32_t>(random() % (1u << 30) + (1u << 30));
          for (std::int32_t& value : shift.span<std::int32_t>()) value = -static_cast<std::int32_t>(random() % 16);
          ran.merge(check(kQuantizedMatmul, attrs, {left, right, multiplier, shift}));
        }
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "product_").empty());
  const Tensor a = random_tensor(random, DType::u8, {2, 3, 6, 8}), b = random_tensor(random, DType::s8, {2, 3, 8, 5});
  check(kMatmulInteger, NoAttrs{},
        {a, b, random_tensor(random, DType::u8, {6}), random_tensor(random, DType::s8, {5})});
  check(kMatmulInteger, NoAttrs{},
        {a, b, random_tensor(random, DType::u8, {2, 3, 6, 1}), random_tensor(random, DType::s8, {2, 3, 1, 5})});
}

TEST(FloatKernels, ConvInteger) {
  std::mt19937 random(7);
  for (const ConvCase& conv : kConvs) {
    const Tensor x = random_tensor(random, DType::u8, conv.x);
    const Tensor w = random_tensor(random, DType::s8,
                                   {conv.out, conv.window.kernel[0], conv.window.kernel[1], conv.x[3] / conv.groups});
    check(kConvInteger, ConvIntegerAttrs{conv.window, conv.groups, Layout::channels_last},
          {x, w, random_tensor(random, DType::u8, {}), random_tensor(random, DType::s8, {conv.out})});
    check(kConvInteger, ConvIntegerAttrs{conv.window, conv.groups, Layout::channels_first},
          {transposed(x), transposed(w)});
  }
}

TEST(FloatKernels, DynamicQuantize) {
  std::mt19937 random(8);
  check(kDynamicQuantize, NoAttrs{}, {random_tensor(random, kFloatF32, {3, 1000})});
  check(kDynamicQuantize, NoAttrs{}, {Tensor(kFloatF32, {5})});
}

TEST(FloatKernels, Norms) {
  std::mt19937 random(9);
  std::set<std::string> ran;
  const auto positive = [&](Shape shape) {
    Tensor tensor = random_tensor(random, kFloatF32, std::move(shape));
    for (float& value : tensor.span<float>()) value = std::fabs(value) + 0.1f;
    return tensor;
  };
  for (int axis : {1, 3}) {
    const Shape shape{2, 33, 5, 40};
    const Shape channels{shape[axis]};
    ran.merge(check(
        kBatchNorm, BatchNormAttrs{1e-3f, axis},
        {random_tensor(random, kFloatF32, shape), random_tensor(random, kFloatF32, channels),
         random_tensor(random, kFloatF32, channels), random_tensor(random, kFloatF32, channels), positive(channels)}));
  }
  EXPECT_TRUE(kernels_missing(ran, "norm_batch").empty());
}

// Equal elements, elements that are no numbers, whole vectors and not.
TEST(FloatKernels, Argmax) {
  std::mt19937 random(12);
  std::set<std::string> ran;
  for (const Shape& shape : {Shape{3, 21, 70}, Shape{2, 1, 1}, Shape{1, 300, 1}, Shape{5, 16, 600}, Shape{0, 2, 3}}) {
    for (int way = 0; way < 4; ++way) {
      for (const std::int64_t axis : {1, 2}) {
        const ArgmaxAttrs attrs{way < 2 ? ArgKind::max : ArgKind::min, axis, true, way % 2 == 1};
        for (const DType dtype : {DType::u8, DType::s8, DType::s32})
          ran.merge(check(kArgmax, attrs, {random_tensor(random, dtype, shape)}));
        ran.merge(check(kArgmax, attrs, {with_special_values(random, shape)}));
        ran.merge(check(kArgmax, attrs, {Tensor(kFloatF32, shape)}));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "argmax").empty());
}

TEST(FloatKernels, ArgmaxOfEachAxis) {
  std::mt19937 random(11);
  for (std::int64_t axis : {0, 1, 2}) {
    for (bool keep_dims : {true, false}) {
      check(kArgmax, ArgmaxAttrs{ArgKind::max, axis, keep_dims, true}, {random_tensor(random, DType::u8, {9, 7, 33})});
      check(kArgmax, ArgmaxAttrs{ArgKind::min, axis - 3, keep_dims, false},
            {random_tensor(random, kFloatF32, {9, 7, 33})});
    }
  }
}

TEST(FloatKernels, QuantizedSoftmax) {
  std::mt19937 random(10);
  std::set<std::string> ran;
  for (const DType x : {DType::u8, DType::s8}) {
    for (const Profile profile : {Profile::onnx, Profile::tflite_xnnpack}) {
      for (const float y_scale : {1.0f / 256.0f, 0.0123f, 1e-6f}) {
        const QuantizedSoftmaxAttrs attrs{x, profile, y_scale, x == DType::u8 ? 3 : -128, 0.05f};
        for (const Shape& shape : {Shape{5, 4, 40}, Shape{1}, Shape{7, 3}, Shape{2, 1001}, Shape{0, 5}})
          ran.merge(check(kQuantizedSoftmax, attrs, {random_tensor(random, x, shape), std::nullopt}));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "lines_byte_softmax").empty());
}

}  // namespace
}  // namespace octavo::testing
