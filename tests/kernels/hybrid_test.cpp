// Kernels of networks whose activations are quantized in the run: row_quantize, hybrid_conv, float_depthwise.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/float_cases.h"
#include "ops/float_depthwise/float_depthwise.h"
#include "ops/hybrid_conv/hybrid_conv.h"
#include "ops/row_quantize/row_quantize.h"
#include "ops/row_requantize/row_requantize.h"

namespace octavo::testing {
namespace {

constexpr DType kHybridF32 = DType::f32;

TEST(HybridKernels, RowQuantize) {
  std::mt19937 random(1);
  std::set<std::string> ran;
  for (int kind = 0; kind < count_of(DynamicForm{}); ++kind) {
    for (const Shape& shape : {Shape{1, 1, 1, 1}, Shape{2, 3, 5, 64}, Shape{1, 7, 3, 77}, Shape{3, 2, 2, 333},
                               Shape{0, 2, 2, 5}, Shape{2, 5, 4, 24}, Shape{1, 3, 6, 16}}) {
      for (std::int64_t axis : {0, 1, 3, 4}) {
        const RowQuantizeAttrs attrs{static_cast<DynamicForm>(kind), axis};
        ran.merge(check(kRowQuantize, attrs, {random_tensor(random, kHybridF32, shape)}));
        ran.merge(check(kRowQuantize, attrs, {with_special_values(random, shape)}));
        ran.merge(check(kRowQuantize, attrs, {Tensor(kHybridF32, shape)}));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "row_quantize").empty());
  // Every half between the ends: scales of 1.
  Tensor halves(kHybridF32, {1, 511});
  for (int i = 0; i < 511; ++i) halves.as<float>()[i] = 0.5f * static_cast<float>(i) - 128.0f;
  for (int kind = 0; kind < count_of(DynamicForm{}); ++kind)
    check(kRowQuantize, RowQuantizeAttrs{static_cast<DynamicForm>(kind), 1}, {halves});
  for (int i = 0; i < 511; ++i) halves.as<float>()[i] = std::min(127.0f, 0.5f * static_cast<float>(i) - 127.0f);
  for (int kind = 0; kind < count_of(DynamicForm{}); ++kind)
    check(kRowQuantize, RowQuantizeAttrs{static_cast<DynamicForm>(kind), 1}, {halves});
}

// Whole vectors and not, rows of one sign, of one value, of nothing; scales whose values are lost or overflow.
TEST(HybridKernels, RowRequantize) {
  std::mt19937 random(5);
  std::set<std::string> ran;
  for (const RowFunction function : {RowFunction::identity, RowFunction::gelu, RowFunction::gelu_tanh}) {
    for (const Shape& shape : {Shape{1}, Shape{3, 16}, Shape{2, 5, 77}, Shape{4, 333}, Shape{2, 0}, Shape{0, 5}}) {
      for (const float scale : {1e-30f, 2e-5f, 0.003f, 1.0f, 3e38f}) {
        const RowRequantizeAttrs attrs{function, scale};
        const Tensor x = random_tensor(random, DType::s16, shape);
        ran.merge(check(kRowRequantize, attrs, {x}));
        for (const int shift : {4, 15}) {  // small values; signs alone
          Tensor small = Tensor::copy_of(x.view());
          for (std::int16_t& value : small.span<std::int16_t>()) value = static_cast<std::int16_t>(value >> shift);
          ran.merge(check(kRowRequantize, attrs, {small}));
        }
        for (const std::int16_t same : {std::int16_t{-32768}, std::int16_t{0}, std::int16_t{32767}}) {
          Tensor constant(DType::s16, shape);
          for (std::int16_t& value : constant.span<std::int16_t>()) value = same;
          ran.merge(check(kRowRequantize, attrs, {constant}));
        }
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "row_requantize").empty());
}

// Infinite factors and such that are no number, as well as products that are lost or overflow.
TEST(HybridKernels, RowRequantizeByFactors) {
  std::mt19937 random(6);
  std::set<std::string> ran;
  for (const Shape& shape : {Shape{1}, Shape{3, 16}, Shape{2, 5, 77}, Shape{4, 333}, Shape{2, 0}, Shape{0, 5}}) {
    const Tensor x = random_tensor(random, DType::s16, shape);
    const Shape channels{shape[shape.rank() - 1]};
    ran.merge(check(kRowRequantize, RowRequantizeAttrs{}, {x, random_tensor(random, kHybridF32, channels)}));
    ran.merge(check(kRowRequantize, RowRequantizeAttrs{}, {x, with_special_values(random, channels)}));
    ran.merge(check(kRowRequantize, RowRequantizeAttrs{}, {x, Tensor(kHybridF32, channels)}));
  }
  EXPECT_TRUE(kernels_missing(ran, "row_requantize").empty());
}

struct HybridCase {
  Shape x;
  std::int64_t out;
  Window window;
  std::int64_t groups = 1;
};
const HybridCase kHybridCases[] = {
    {{1, 1, 1, 1}, 1, unit_window({1, 1})},
    {{1, 5, 5, 64}, 64, unit_window({1, 1})},
    {{2, 3, 7, 33}, 70, unit_window({1, 1})},
    {{3, 4, 3, 6}, 10, unit_window({1, 1}), 2},
    {{1, 49, 10, 1}, 64, {{10, 4}, {2, 2}, {1, 1}, {4, 1}, {5, 1}}},
    {{2, 9, 10, 3}, 19, {{3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}}},
    {{2, 6, 5, 8}, 12, {{3, 2}, {1, 1}, {2, 1}, {2, 0}, {1, 1}}, 4},
    {{1, 4, 7, 20}, 20, {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 20},
    {{1, 5, 9, 33}, 17, {{1, 1}, {1, 2}, {1, 1}, {0, 0}, {0, 0}}},
    {{1, 2, 3, 5}, 9, {{5, 5}, {1, 1}, {1, 1}, {3, 3}, {3, 4}}},
};

// Shapes of the scales of x that the case allows.
std::vector<Shape> scales_of(const HybridCase& c) {
  std::vector<Shape> shapes = {Shape{}, Shape{c.x[0]}};
  if (HybridConvAttrs{.window = c.window}.is_pointwise()) shapes.push_back({c.x[0], c.x[1], c.x[2]});
  return shapes;
}

Tensor positive(Tensor tensor) {
  for (float& value : tensor.span<float>()) value = std::fabs(value) * 0.01f;
  return tensor;
}

TEST(HybridKernels, HybridConv) {
  std::mt19937 random(2);
  std::set<std::string> ran;
  const std::vector<bool> constant{false, true, false, true, false, true, true};
  for (const HybridCase& c : kHybridCases) {
    for (const Shape& scales : scales_of(c)) {
      for (int variant = 0; variant < 8; ++variant) {
        HybridConvAttrs attrs{.window = c.window,
                              .groups = c.groups,
                              .epilogue = {{ScaleInRun{static_cast<RunForm>(variant % 4)}}, kHybridF32}};
        if (variant % 2 == 0) attrs.epilogue.stages.emplace_back(ClampReal{.lowest = 0.0f});
        if (variant == 4) std::get<ClampReal>(attrs.epilogue.stages.back()).highest = 6.0f;
        const Tensor w =
            random_tensor(random, DType::s8, {c.out, c.window.kernel[0], c.window.kernel[1], c.x[3] / c.groups});
        std::optional<Tensor> offset;
        const Tensor bias = variant == 1 ? Tensor(kHybridF32, {c.out}) : random_tensor(random, kHybridF32, {c.out});
        if (variant >= 3) {
          offset = Tensor(DType::s32, {c.out});
          for (std::int32_t& value : offset->span<std::int32_t>())
            value = static_cast<std::int32_t>(random() % 256) - 128;
        }
        ran.merge(check(kHybridConv, attrs,
                        {random_tensor(random, DType::u8, c.x), w, random_tensor(random, DType::u8, scales), offset,
                         positive(random_tensor(random, kHybridF32, scales)),
                         positive(random_tensor(random, kHybridF32, {c.out})), bias},
                        constant));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "hybrid_conv").empty());
  EXPECT_TRUE(ran.contains("plain_hybrid_conv_portable"));
}

// Stored results: bytes and s16, with what is added to them.
TEST(HybridKernels, HybridConvThatRounds) {
  std::mt19937 random(6);
  std::set<std::string> ran;
  const Shape shapes[] = {{1, 1, 1, 5}, {37, 1, 1, 96}, {2, 3, 7, 33}, {70, 1, 1, 260}, {5, 4, 3, 64}};
  const DType types[] = {DType::u8, DType::s8, DType::s16};
  for (const Shape& shape : shapes) {
    for (const std::int64_t out : {1, 19, 64, 130}) {
      for (int variant = 0; variant < 12; ++variant) {
        const DType to = types[variant % 3];
        const IntegerRange range = range_of(to);
        const std::int32_t after = to == DType::u8 ? 121 : (to == DType::s8 ? -3 : 0);
        HybridConvAttrs attrs{.window = unit_window({1, 1}),
                              .epilogue = {{ScaleInRun{static_cast<RunForm>(variant % 4)}}, to}};
        const bool adds = variant >= 3;
        const DType other_type = variant >= 9 ? DType::u8 : to;
        if (adds) attrs.epilogue.stages.emplace_back(AddScaled{0.37f, other_type == DType::s16 ? 0 : 5});
        attrs.epilogue.stages.emplace_back(Round{.after = after,
                                                 .lowest = static_cast<std::int32_t>(range.lowest) + (variant >= 6),
                                                 .highest = static_cast<std::int32_t>(range.highest)});
        const Shape rows{shape[0], shape[1], shape[2]}, y{shape[0], shape[1], shape[2], out};
        std::vector<std::optional<Tensor>> inputs = {random_tensor(random, DType::u8, shape),
                                                     random_tensor(random, DType::s8, {out, 1, 1, shape[3]}),
                                                     random_tensor(random, DType::u8, rows),
                                                     std::nullopt,
                                                     positive(random_tensor(random, kHybridF32, rows)),
                                                     positive(random_tensor(random, kHybridF32, {out})),
                                                     random_tensor(random, kHybridF32, {out})};
        std::vector<bool> constant{false, true, false, false, false, true, true};
        if (adds) inputs.emplace_back(random_tensor(random, other_type, y)), constant.push_back(false);
        ran.merge(check(kHybridConv, attrs, std::move(inputs), std::move(constant)));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "hybrid_conv").empty());
}

// Every value at an end of its range, so that sums are as large as they get; and scales that overflow.
TEST(HybridKernels, HybridConvOfExtremes) {
  std::mt19937 random(3);
  const HybridCase& c = kHybridCases[1];
  for (std::uint8_t x_value : {std::uint8_t{0}, std::uint8_t{255}}) {
    for (std::int8_t w_value : {std::int8_t{-128}, std::int8_t{127}}) {
      Tensor x(DType::u8, c.x), w(DType::s8, {c.out, 1, 1, c.x[3]}), zero(DType::u8, {c.x[0], c.x[1], c.x[2]});
      for (auto& value : x.span<std::uint8_t>()) value = x_value;
      for (auto& value : w.span<std::int8_t>()) value = w_value;
      for (auto& value : zero.span<std::uint8_t>()) value = static_cast<std::uint8_t>(255 - x_value);
      for (float scale : {1e-40f, 1.0f, 3e38f, INFINITY}) {
        Tensor scales(kHybridF32, {c.x[0], c.x[1], c.x[2]});
        for (float& value : scales.span<float>()) value = scale;
        for (const RunForm form : {RunForm::xnnpack, RunForm::onnx_integer}) {
          const HybridConvAttrs attrs{.window = c.window,
                                      .epilogue = {{ScaleInRun{form}, ClampReal{.lowest = -1.0f}}, kHybridF32}};
          check(kHybridConv, attrs,
                {x, w, zero, std::nullopt, scales, random_tensor(random, kHybridF32, {c.out}),
                 random_tensor(random, kHybridF32, {c.out})},
                {false, true, false, false, false, true, true});
        }
      }
    }
  }
}

// Scales in whose answers nothing is a number, or everything overflows: bytes and s16 have defined answers there.
TEST(HybridKernels, HybridConvThatRoundsExtremes) {
  std::mt19937 random(7);
  const Shape x{19, 1, 1, 70}, rows{19, 1, 1};
  for (const DType to : {DType::u8, DType::s8, DType::s16}) {
    const IntegerRange range = range_of(to);
    for (const float scale : {1e-40f, 3e38f, -3e38f, INFINITY, -INFINITY, NAN}) {
      for (const std::int32_t above : {0, 7}) {
        Tensor scales(kHybridF32, rows);
        for (float& value : scales.span<float>()) value = scale;
        const HybridConvAttrs attrs{
            .window = unit_window({1, 1}),
            .epilogue = {{ScaleInRun{RunForm::xnnpack}, Round{.after = to == DType::s16 ? 0 : 3,
                                                              .lowest = static_cast<std::int32_t>(range.lowest) + above,
                                                              .highest = static_cast<std::int32_t>(range.highest)}},
                         to}};
        check(kHybridConv, attrs,
              {random_tensor(random, DType::u8, x), random_tensor(random, DType::s8, {40, 1, 1, 70}),
               random_tensor(random, DType::u8, rows), std::nullopt, scales, random_tensor(random, kHybridF32, {40}),
               random_tensor(random, kHybridF32, {40})},
              {false, true, false, false, false, true, true});
      }
    }
  }
}

// Zero points meet sums of weights that are split in two: up to the largest, beyond which tiles of processors refuse.
TEST(HybridKernels, HybridConvOfLargeSums) {
  for (const std::int64_t channels : {33'026, 33'027}) {
    Tensor x(DType::u8, {1, 2, 1, channels}), w(DType::s8, {2, 1, 1, channels}), zero(DType::u8, {1, 2, 1});
    for (auto& value : x.span<std::uint8_t>()) value = 3;
    for (auto& value : zero.span<std::uint8_t>()) value = 255;
    std::fill_n(w.as<std::int8_t>(), channels, std::int8_t{127});
    std::fill_n(w.as<std::int8_t>() + channels, channels, std::int8_t{-127});
    Tensor ones(kHybridF32, {1, 2, 1}), w_scales(kHybridF32, {2});
    std::ranges::fill(ones.span<float>(), 1.0f);
    std::ranges::fill(w_scales.span<float>(), 1.0f);
    const HybridConvAttrs attrs{.window = unit_window({1, 1}),
                                .epilogue = {{ScaleInRun{RunForm::xnnpack}}, kHybridF32}};
    std::set<std::string> ran =
        check(kHybridConv, attrs, {x, w, zero, std::nullopt, ones, w_scales, Tensor(kHybridF32, {2})},
              {false, true, false, false, false, true, true});
    EXPECT_TRUE(ran.contains("plain_hybrid_conv_portable"));
    std::erase_if(ran, [](const std::string& kernel) { return kernel.ends_with("_cuda"); });
    EXPECT_EQ(ran.size() > 1, channels == 33'026);
  }
}

TEST(HybridKernels, FloatDepthwise) {
  std::mt19937 random(4);
  std::set<std::string> ran;
  const std::pair<Shape, Window> cases[] = {
      {{1, 1, 1, 1}, unit_window({1, 1})},
      {{1, 25, 5, 64}, {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {{2, 7, 19, 21}, {{3, 3}, {2, 2}, {1, 1}, {0, 1}, {1, 1}}},
      {{1, 9, 30, 40}, {{5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}}},
      {{1, 6, 11, 8}, {{3, 2}, {1, 3}, {2, 2}, {3, 0}, {2, 1}}},
      {{1, 12, 9, 17}, {{10, 4}, {2, 2}, {1, 1}, {4, 1}, {4, 2}}},
      {{1, 2, 2, 5}, {{3, 3}, {1, 1}, {1, 1}, {4, 4}, {4, 4}}},
      {{2, 4, 7, 9, 48}, {{3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}},
      {{1, 5, 8, 11, 19}, {{3, 3, 3}, {2, 4, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 0}}},
      {{1, 2, 3, 6, 4}, {{2, 6, 5}, {1, 1, 1}, {2, 1, 1}, {1, 3, 2}, {2, 3, 3}}},
  };
  for (const auto& [shape, window] : cases) {
    for (bool has_bias : {false, true}) {
      for (bool clamps : {false, true}) {
        FloatDepthwiseAttrs attrs{.window = window};
        if (clamps) attrs.lowest = 0.0f, attrs.highest = 6.0f;
        std::vector<std::int64_t> kernels{shape[shape.rank() - 1]};
        for (const Dim& size : window.kernel) kernels.push_back(size.fixed());
        kernels.push_back(1);
        const Tensor w = random_tensor(random, kHybridF32, Shape(kernels));
        const std::optional<Tensor> bias =
            has_bias ? std::optional(random_tensor(random, kHybridF32, {kernels[0]})) : std::nullopt;
        ran.merge(
            check(kFloatDepthwise, attrs, {random_tensor(random, kHybridF32, shape), w, bias}, {false, true, true}));
        ran.merge(check(kFloatDepthwise, attrs, {with_special_values(random, shape), w, bias}, {false, true, true}));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "float_depthwise").empty());
}

}  // namespace
}  // namespace octavo::testing
