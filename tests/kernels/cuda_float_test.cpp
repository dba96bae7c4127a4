// Kernels for CUDA devices that other suites compare with the references: that they take what is asked of them there.
#include <gtest/gtest.h>

#include "kernels/harness.h"
#include "ops/attention/attention.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/concat/concat.h"
#include "ops/fused_conv/fused_conv.h"
#include "ops/gather/gather.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/pad/pad.h"
#include "ops/reduce/reduce.h"
#include "ops/slice/slice.h"
#include "ops/softmax/softmax.h"
#include "ops/unary/unary.h"

namespace octavo::testing {
namespace {

void expect_ran(std::string_view kernel, const OpSpec& spec, const Attrs& attrs,
                std::vector<std::optional<Tensor>> inputs, std::vector<bool> is_constant = {}) {
  const auto ran = check_kernels(
      {.spec = &spec, .attrs = attrs, .inputs = std::move(inputs), .is_constant = std::move(is_constant)});
  EXPECT_TRUE(ran.contains(std::string(kernel))) << kernel << " " << attrs.to_string();
}

TEST(CudaFloats, FunctionsOfElements) {
  std::mt19937 random(1);
  const auto drawn = [&](Shape shape) { return random_tensor(random, DType::f32, std::move(shape)); };
  for (int k = 0; k < count_of(UnaryKind{}); ++k) {
    const auto kind = static_cast<UnaryKind>(k);
    if (is_angular(kind) || is_test(kind) || kind == UnaryKind::logical_not || kind == UnaryKind::bitwise_not) continue;
    expect_ran("unary_f32_cuda", kUnary, UnaryAttrs{kind, 0.3f, 0.6f}, {drawn({5, 77})});
  }
  for (const BinaryKind kind : {BinaryKind::add, BinaryKind::pow, BinaryKind::prelu, BinaryKind::less})
    expect_ran("binary_f32_cuda", kBinary, BinaryAttrs{kind}, {drawn({3, 1, 7}), drawn({5, 1})});
  for (const DType to : {DType::boolean, DType::u8, DType::s32})
    expect_ran("cast_cuda", kCast, CastAttrs{to}, {drawn({300})});
}

TEST(CudaFloats, Moves) {
  std::mt19937 random(2);
  for (const DType type : {DType::u8, DType::f32, DType::s64}) {
    const Tensor x = random_tensor(random, type, {3, 4, 5});
    for (int mode = 0; mode < count_of(PadMode{}); ++mode)
      expect_ran("pad_cuda", kPad, PadAttrs{static_cast<PadMode>(mode), {1, -1, 2}, {0, 3, -2}}, {x});
    expect_ran("slice_cuda", kSlice, SliceAttrs{{2, 0, 4}, {-1, 2, -3}, {3, 2, 2}}, {x});
    expect_ran("concat_cuda", kConcat, ConcatAttrs{1}, {x, random_tensor(random, type, {3, 2, 5}), x});
    Tensor indices(DType::s64, {4});
    const std::int64_t picked[] = {-1, 0, 3, -4};
    std::copy_n(picked, 4, indices.as<std::int64_t>());
    expect_ran("gather_cuda", kGather, GatherAttrs{1}, {x, indices});
  }
}

TEST(CudaFloats, Lines) {
  std::mt19937 random(3);
  const Tensor x = random_tensor(random, DType::f32, {3, 37, 600});
  for (const std::int64_t axis : {1, 2}) {
    for (const SoftmaxKind kind : {SoftmaxKind::softmax, SoftmaxKind::log_softmax})
      expect_ran("softmax_f32_cuda", kSoftmax, SoftmaxAttrs{kind, axis}, {x});
    for (int kind = 0; kind < count_of(ReduceKind{}); ++kind)
      expect_ran("reduce_f32_cuda", kReduce, ReduceAttrs{static_cast<ReduceKind>(kind), {axis}, false}, {x});
  }
  const Tensor scale = random_tensor(random, DType::f32, {600});
  expect_ran("layer_norm_f32_cuda", kLayerNorm, LayerNormAttrs{2, 1e-5f}, {x, scale, scale});
  expect_ran("layer_norm_f32_cuda", kLayerNorm, LayerNormAttrs{2, 1e-5f}, {x, scale});
}

// Of few keys, and of so many that a block has a single query.
TEST(CudaFloats, Attention) {
  std::mt19937 random(4);
  for (const std::int64_t keys : {33, 1700}) {
    const AttentionAttrs attrs{.heads = 4, .kv_heads = 2, .head_size = 8, .value_size = 5, .scale = 0.3f};
    expect_ran("attention_f32_cuda", kAttention, attrs,
               {random_tensor(random, DType::f32, {2, 11, 32}), random_tensor(random, DType::f32, {2, keys, 16}),
                random_tensor(random, DType::f32, {2, keys, 10})});
  }
}

// By tiles: more than one of queries, keys and columns, and what is left of one; queries 16, 32 and 64 by 64, heads
// that share keys, hidden keys.
TEST(CudaFloats, AttentionByTiles) {
  std::mt19937 random(6);
  struct Sizes {
    std::int64_t batch, queries, keys, head, value;
  };
  for (const Sizes& s : {Sizes{1, 37, 70, 8, 36}, Sizes{2, 1, 130, 64, 32}, Sizes{33, 67, 5, 32, 4},
                         Sizes{1, 300, 65, 12, 132}, Sizes{40, 130, 64, 4, 64}}) {
    for (const bool is_causal : {false, true}) {
      const AttentionAttrs attrs{
          .heads = 4, .kv_heads = 2, .head_size = s.head, .value_size = s.value, .scale = 0.3f, .is_causal = is_causal};
      expect_ran("attention_f32_tile_cuda", kAttention, attrs,
                 {random_tensor(random, DType::f32, {s.batch, s.queries, 4 * s.head}),
                  random_tensor(random, DType::f32, {s.batch, s.keys, 2 * s.head}),
                  random_tensor(random, DType::f32, {s.batch, s.keys, 2 * s.value}),
                  random_tensor(random, is_causal ? DType::boolean : DType::f32, {s.batch, 1, s.queries, s.keys})});
    }
  }
}

// More than one tile of pixels and of channels, padding, groups; every activation that is fused, residuals in both
// places.
TEST(CudaFloats, Convolutions) {
  std::mt19937 random(5);
  const auto drawn = [&](Shape shape) { return random_tensor(random, DType::f32, std::move(shape)); };
  for (const std::int64_t groups : {1, 2, 12}) {
    for (const ResidualPlace place :
         {ResidualPlace::none, ResidualPlace::before_activation, ResidualPlace::after_activation}) {
      const FusedConvAttrs attrs{.window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
                                 .groups = groups,
                                 .activation = {UnaryKind::gelu, 0.0f, 0.0f},
                                 .residual = place};
      std::vector<std::optional<Tensor>> inputs{drawn({1, 9, 11, 12}), drawn({84, 3, 3, 12 / groups}), drawn({84})};
      if (place != ResidualPlace::none) inputs.emplace_back(drawn({1, 9, 11, 84}));
      for (const char* kernel : {"conv_f32_64x64_cuda", "conv_f32_direct_cuda"})
        expect_ran(kernel, kFusedConv, attrs, inputs, {false, true, true, false});
    }
  }
}

}  // namespace
}  // namespace octavo::testing
