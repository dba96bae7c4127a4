// Kernels of max_pool, average_pool and quantized_pool.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/harness.h"
#include "ops/average_pool/average_pool.h"
#include "ops/max_pool/max_pool.h"
#include "ops/quantized_pool/quantized_pool.h"

namespace octavo::testing {
namespace {

struct PoolCase {
  Shape x;  // channels_last
  Window window;
};
const PoolCase kPoolCases[] = {
    {{1, 9, 9, 64}, {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}}},
    {{2, 8, 7, 35}, {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}},
    {{1, 10, 10, 3}, {{3, 2}, {1, 3}, {2, 1}, {2, 0}, {1, 1}}},
    {{2, 7, 7, 130}, {{7, 7}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}},
    {{1, 6, 5, 1}, {{5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}}},
};

Shape channels_first(const Shape& x) {
  std::vector<std::int64_t> dims{x[0], x[x.rank() - 1]};
  for (int i = 1; i < x.rank() - 1; ++i) dims.push_back(x[i]);
  return Shape(dims);
}

TEST(PoolKernels, Max) {
  std::mt19937 random(1);
  std::set<std::string> ran;
  for (const PoolCase& pool : kPoolCases) {
    for (DType dtype : {DType::u8, DType::s8, DType::f32}) {
      for (Rounding rounding : {Rounding::floor, Rounding::ceil}) {
        ran.merge(check_kernels({.spec = &kMaxPool,
                                 .attrs = MaxPoolAttrs{pool.window, rounding, Layout::channels_last},
                                 .inputs = {random_tensor(random, dtype, pool.x)}}));
        ran.merge(check_kernels({.spec = &kMaxPool,
                                 .attrs = MaxPoolAttrs{pool.window, rounding, Layout::channels_first},
                                 .inputs = {random_tensor(random, dtype, channels_first(pool.x))}}));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "pool_max").empty());
}

TEST(PoolKernels, MaxLetsNanWinAndKeepsSignedZeros) {
  std::mt19937 random(2);
  Tensor x(DType::f32, {1, 9, 9, 40});
  const float values[] = {NAN, -0.0f, 0.0f, -INFINITY, INFINITY, -1.0f};
  for (float& value : x.span<float>()) value = values[random() % 40 == 0 ? 0 : 1 + random() % 5];
  EXPECT_FALSE(check_kernels({.spec = &kMaxPool,
                              .attrs = MaxPoolAttrs{kPoolCases[0].window, Rounding::floor, Layout::channels_last},
                              .inputs = {x}})
                   .empty());
}

TEST(PoolKernels, OneAndThreeAxes) {
  std::mt19937 random(3);
  const Window line{{3}, {2}, {1}, {1}, {0}};
  const Window volume{{2, 3, 2}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {1, 1, 0}};
  EXPECT_FALSE(check_kernels({.spec = &kMaxPool,
                              .attrs = MaxPoolAttrs{line, Rounding::floor, Layout::channels_first},
                              .inputs = {random_tensor(random, DType::f32, {2, 3, 11})}})
                   .empty());
  EXPECT_FALSE(check_kernels({.spec = &kAveragePool,
                              .attrs = AveragePoolAttrs{volume, Rounding::ceil, true, Layout::channels_last},
                              .inputs = {random_tensor(random, DType::f32, {1, 4, 5, 6, 17})}})
                   .empty());
}

TEST(PoolKernels, Average) {
  std::mt19937 random(4);
  std::set<std::string> ran;
  for (const PoolCase& pool : kPoolCases) {
    for (bool count_include_pad : {false, true}) {
      for (Rounding rounding : {Rounding::floor, Rounding::ceil}) {
        for (Layout layout : {Layout::channels_last, Layout::channels_first}) {
          const Shape shape = layout == Layout::channels_last ? pool.x : channels_first(pool.x);
          ran.merge(check_kernels({.spec = &kAveragePool,
                                   .attrs = AveragePoolAttrs{pool.window, rounding, count_include_pad, layout},
                                   .inputs = {random_tensor(random, DType::f32, shape)}}));
        }
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "pool_average").empty());
}

TEST(PoolKernels, Quantized) {
  std::mt19937 random(5);
  std::set<std::string> ran;
  for (const PoolCase& pool : kPoolCases) {
    for (DType x : {DType::u8, DType::s8}) {
      for (int variant = 0; variant < 8; ++variant) {
        QuantizedPoolAttrs attrs{
            .form = QuantizedPoolForm::real_average, .window = pool.window, .x_scale = 0.037f, .epilogue = {.to = x}};
        attrs.rounding = (variant & 1) != 0 ? Rounding::ceil : Rounding::floor;
        attrs.count_include_pad = (variant & 2) != 0;
        attrs.x_zero_point = x == DType::u8 ? 130 : -3;
        Round round{.lowest = static_cast<std::int32_t>(range_of(x).lowest) + 1,
                    .highest = static_cast<std::int32_t>(range_of(x).highest) - 9};
        const bool is_global = pool.window.kernel[0] == pool.x[1] && (variant & 1) != 0;
        const std::int32_t zero_point = x == DType::u8 ? 7 : -20;
        std::vector<Stage>& stages = attrs.epilogue.stages;
        if (is_global || (variant & 4) != 0) {
          const bool is_average = (variant & 4) != 0 && !attrs.count_include_pad;
          attrs.form = is_average ? QuantizedPoolForm::integer_average : QuantizedPoolForm::sum;
          if (!is_average) stages.emplace_back(Affine{0.0123f, (variant & 4) != 0 ? 7.25f : 0.0f});
          round.after = zero_point;
        } else {
          stages.emplace_back(Divide{0.021f});
          round.before = zero_point;
        }
        stages.emplace_back(round);
        if ((variant & 4) != 0) stages.emplace_back(Lookup{});
        KernelCase test{.spec = &kQuantizedPool, .attrs = attrs, .inputs = {random_tensor(random, x, pool.x)}};
        if ((variant & 4) != 0) test.inputs.push_back(random_tensor(random, DType::u8, {256}));
        ran.merge(check_kernels(test));
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "pool_q8").empty());
}

// Averages that are 1 / count below a whole number, of either sign, of windows with fewer and with more values than f32
// has whole sums of; 17 channels are vectors and a rest.
TEST(PoolKernels, IntegerAveragesAreCutOffExactly) {
  constexpr std::int64_t kChannels = 17;
  for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{3, 3}, {255, 257}, {256, 256}}) {
    const std::int64_t count = height * width;
    for (const int zero_point : {0, 255}) {
      QuantizedPoolAttrs attrs{.form = QuantizedPoolForm::integer_average,
                               .window = {{height, width}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
                               .epilogue = {.to = DType::u8}};
      attrs.x_zero_point = zero_point;
      attrs.epilogue.stages.emplace_back(Round{.after = zero_point});
      Tensor x(DType::u8, Shape{1, height, width, kChannels});
      const auto values = x.span<std::uint8_t>();
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t c = 0; c < kChannels; ++c) {
          // The sum and a half are one less than `whole` of each.
          const std::int64_t whole = 255 - 15 * c, far = whole - (i <= count / 2 ? 1 : 0);
          values[static_cast<std::size_t>(i * kChannels + c)] =
              static_cast<std::uint8_t>(zero_point == 0 ? far : 255 - far);
        }
      }
      const KernelCase test{.spec = &kQuantizedPool, .attrs = attrs, .inputs = {x}};
      EXPECT_TRUE(kernels_missing(check_kernels(test), "pool_q8").empty());
    }
  }
}

}  // namespace
}  // namespace octavo::testing
