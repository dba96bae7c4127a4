// Kernels for CUDA devices of what is found in a run, and of two operands that are: tiles and rows that other suites
// have none of.
#include <gtest/gtest.h>

#include "kernels/float_cases.h"
#include "ops/average_pool/average_pool.h"
#include "ops/dynamic_quantize/dynamic_quantize.h"
#include "ops/hybrid_conv/hybrid_conv.h"
#include "ops/matmul/matmul.h"
#include "ops/matmul_integer/matmul_integer.h"
#include "ops/resize/resize.h"
#include "ops/row_quantize/row_quantize.h"
#include "ops/row_requantize/row_requantize.h"
#include "support/cuda_emulator.h"

namespace octavo::testing {
namespace {

constexpr DType kCudaRunF32 = DType::f32;

// Rows that a block of 1,024 threads has, and the longest of one of 128.
TEST(CudaRuns, LongRows) {
  std::mt19937 random(1);
  const std::int64_t before = emulated_cuda_blocks("scale_row_f32_1024");
  for (const std::int64_t n : {8192, 8193, 20011}) {
    const Tensor x = with_special_values(random, {2, n}), words = random_tensor(random, DType::s16, {2, n});
    EXPECT_TRUE(check(kDynamicQuantize, NoAttrs{}, {x}).contains("dynamic_quantize_f32_cuda"));
    for (const DynamicForm form : {DynamicForm::xnnpack, DynamicForm::tflite})
      EXPECT_TRUE(check(kRowQuantize, RowQuantizeAttrs{form, 1}, {x}).contains("row_quantize_f32_cuda"));
    const RowRequantizeAttrs gelu{RowFunction::gelu, 0.001f};
    EXPECT_TRUE(check(kRowRequantize, gelu, {words}).contains("row_requantize_s16_cuda"));
  }
  EXPECT_GT(emulated_cuda_blocks("scale_row_f32_1024"), before);
}

struct HybridCase {
  Shape x;
  std::int64_t out = 1;
  Window window = unit_window({1, 1});
  Shape scales;
  bool has_offset = false;
};

std::set<std::string> ran_for(std::mt19937& random, const HybridCase& c) {
  const auto positive = [&](Shape shape) {
    Tensor tensor = random_tensor(random, kCudaRunF32, std::move(shape));
    for (float& value : tensor.span<float>()) value = std::fabs(value) * 0.01f;
    return tensor;
  };
  const HybridConvAttrs attrs{.window = c.window, .epilogue = {{ScaleInRun{RunForm::xnnpack}}, kCudaRunF32}};
  std::optional<Tensor> offset;
  if (c.has_offset) {
    offset = Tensor(DType::s32, {c.out});
    for (std::int32_t& value : offset->span<std::int32_t>()) value = static_cast<std::int32_t>(random() % 256) - 128;
  }
  const Shape w{c.out, c.window.kernel[0].fixed(), c.window.kernel[1].fixed(), c.x[3]};
  return check(kHybridConv, attrs,
               {random_tensor(random, DType::u8, c.x), random_tensor(random, DType::s8, w),
                random_tensor(random, DType::u8, c.scales), offset, positive(c.scales), positive({c.out}),
                random_tensor(random, kCudaRunF32, {c.out})},
               {false, true, false, true, false, true, true});
}

// Several tiles, rows of K that end within a step, x copied by 16, 4 and 1 bytes; a scale for all, for an image, a
// pixel.
TEST(CudaRuns, ConvolutionsOfSeveralTiles) {
  std::mt19937 random(2);
  const Window window{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  for (const std::int64_t channels : {48, 20, 3}) {
    for (const bool has_offset : {false, true}) {
      const auto ran = ran_for(random, {{2, 9, 11, channels}, 70, window, {2}, has_offset});
      for (const char* kernel : {"hybrid_conv_u8s8_64x64_cuda", "hybrid_conv_u8s8_32x32_cuda"})
        EXPECT_TRUE(ran.contains(kernel)) << kernel;
      EXPECT_EQ(ran.contains("hybrid_conv_u8s8_128x64_cuda"), !has_offset);
      ran_for(random, {{1, 9, 21, channels}, 130, window, {}, has_offset});
      ran_for(random, {{150, 1, 1, channels}, 67, unit_window({1, 1}), {150, 1, 1}, has_offset});
    }
  }
}

TEST(CudaRuns, Products) {
  std::mt19937 random(3);
  const Shape a{2, 1, 70, 33}, b{3, 33, 130};
  EXPECT_TRUE(check(kMatmul, NoAttrs{}, {random_tensor(random, kCudaRunF32, a), random_tensor(random, kCudaRunF32, b)})
                  .contains("product_f32_cuda"));
  const auto ran = check(kMatmulInteger, NoAttrs{},
                         {random_tensor(random, DType::u8, {2, 70, 33}), random_tensor(random, DType::s8, {2, 33, 130}),
                          random_tensor(random, DType::u8, {2, 70, 1}), random_tensor(random, DType::s8, {2, 1, 130})});
  EXPECT_TRUE(ran.contains("product_q8_s32_cuda"));
}

TEST(CudaRuns, ResizesAndMeans) {
  std::mt19937 random(4);
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
    const ResizeAttrs attrs{.mode = mode, .sizes = {2, 13, 9, 5}, .scales = {1, 0, 0, 1}};
    EXPECT_TRUE(check(kResize, attrs, {random_tensor(random, kCudaRunF32, {2, 6, 7, 5})}).contains("resize_cuda"));
  }
  for (const bool includes : {false, true}) {
    const AveragePoolAttrs attrs{.window = {{3, 2}, {2, 2}, {1, 2}, {1, 1}, {1, 0}},
                                 .rounding = Rounding::ceil,
                                 .count_include_pad = includes,
                                 .layout = Layout::channels_last};
    EXPECT_TRUE(check(kAveragePool, attrs, {random_tensor(random, kCudaRunF32, {2, 9, 10, 5})})
                    .contains("average_pool_f32_cuda"));
  }
}

}  // namespace
}  // namespace octavo::testing
