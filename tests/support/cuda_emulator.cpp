// Every kernel of cuda/device/ over HostBlock.
#include "support/cuda_emulator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "cuda/device/attention.h"
#include "cuda/device/attention_tile.h"
#include "cuda/device/byte_attention.h"
#include "cuda/device/byte_softmax.h"
#include "cuda/device/depthwise.h"
#include "cuda/device/elements.h"
#include "cuda/device/float_conv.h"
#include "cuda/device/floats.h"
#include "cuda/device/lines.h"
#include "cuda/device/moves.h"
#include "cuda/device/pool.h"
#include "cuda/device/product.h"
#include "cuda/device/resize.h"
#include "cuda/device/row_scales.h"
#include "cuda/launch.h"
#include "support/cuda_emulated.h"

namespace octavo::cuda {
namespace {

constexpr Emulated kOthers[] = {
    emulated<AttentionArgs, attention<RealHeads>>("attention_f32"),
    emulated<AttentionArgs, attention_tile>("attention_f32_tile"),
    emulated<AttentionArgs, attention<StoredHeads>>("attention_q8"),
    emulated<AttentionArgs, byte_attention>("attention_q8_tile"),
    emulated<PoolArgs, sum_pool<true>>("average_pool"),
    emulated<PoolArgs, wide_sum_pool<true>>("average_pool_wide"),
    emulated<BinaryArgs, binary>("binary_f32"),
    emulated<ByteSoftmaxArgs, byte_softmax>("byte_softmax"),
    emulated<CastArgs, cast>("cast"),
    emulated<StridedArgs, choose<std::uint8_t>>("choose_1"),
    emulated<StridedArgs, choose<std::uint32_t>>("choose_4"),
    emulated<StridedArgs, choose<std::uint64_t>>("choose_8"),
    emulated<BinaryArgs, compare>("compare_f32"),
    emulated<ConcatArgs, concat<std::uint8_t>>("concat_1"),
    emulated<ConcatArgs, concat<std::uint32_t>>("concat_4"),
    emulated<BytesArgs, copy>("copy_bytes"),
    emulated<DepthwiseArgs, depthwise<1>>("depthwise_1"),
    emulated<DepthwiseArgs, depthwise<4>>("depthwise_4"),
    emulated<DequantizeArgs, dequantize>("dequantize_f32"),
    emulated<FloatConvArgs, float_conv>("float_conv_64x64"),
    emulated<FloatConvArgs, float_conv_direct>("float_conv_direct"),
    emulated<FloatDepthwiseArgs, float_depthwise>("float_depthwise"),
    emulated<PoolArgs, float_pool>("float_pool"),
    emulated<GatherArgs, gather<std::uint8_t>>("gather_1"),
    emulated<GatherArgs, gather<std::uint32_t>>("gather_4"),
    emulated<IntegerResizeArgs, integer_resize>("integer_resize"),
    emulated<LineArgs, layer_norm>("layer_norm_f32"),
    emulated<LineArgs, softmax<true>>("log_softmax_f32"),
    emulated<PoolArgs, max_pool<float>>("max_pool_f32"),
    emulated<PoolArgs, max_pool<std::uint8_t>>("max_pool_u8"),
    emulated<PoolArgs, max_pool_chunks>("max_pool_u8_16"),
    emulated<PoolArgs, mean_pool>("mean_pool"),
    emulated<StridedArgs, move<std::uint8_t>>("move_1"),
    emulated<StridedArgs, move<std::uint32_t>>("move_4"),
    emulated<StridedArgs, move<std::uint64_t>>("move_8"),
    emulated<NormArgs, norm_stored<1>>("norm_stored_1"),
    emulated<NormArgs, norm_stored<4>>("norm_stored_4"),
    emulated<PadArgs, pad<std::uint8_t>>("pad_1"),
    emulated<PadArgs, pad<std::uint32_t>>("pad_4"),
    emulated<PadArgs, pad<std::uint64_t>>("pad_8"),
    emulated<PairArgs, pairs_of<1>>("pairs_1"),
    emulated<PairArgs, pairs_of<4>>("pairs_4"),
    emulated<ProductArgs, product_bytes>("product_bytes"),
    emulated<ProductArgs, product_f32>("product_f32"),
    emulated<QuantizeArgs, quantize>("quantize_f32"),
    emulated<LineArgs, reduce>("reduce_f32"),
    emulated<ResizeArgs, resize_linear<true>>("resize_linear_f32"),
    emulated<ResizeArgs, resize_linear<false>>("resize_linear_q8"),
    emulated<ResizeArgs, resize_nearest<std::uint8_t>>("resize_nearest_1"),
    emulated<ResizeArgs, resize_nearest<std::uint32_t>>("resize_nearest_4"),
    emulated<ResizeArgs, resize_nearest<std::uint64_t>>("resize_nearest_8"),
    emulated<ResizeArgs, resize_weighted>("resize_weighted_f32"),
    emulated<RowScaleArgs, scale_row<RealRow, 1024>>("scale_row_f32_1024"),
    emulated<RowScaleArgs, scale_row<RealRow, 128>>("scale_row_f32_128"),
    emulated<RowScaleArgs, scale_row<WordRow, 1024>>("scale_row_s16_1024"),
    emulated<RowScaleArgs, scale_row<WordRow, 128>>("scale_row_s16_128"),
    emulated<LineArgs, softmax<false>>("softmax_f32"),
    emulated<PoolArgs, sum_pool<false>>("sum_pool"),
    emulated<PoolArgs, wide_sum_pool<false>>("sum_pool_wide"),
    emulated<SumArgs, sums_of>("sums"),
    emulated<BytesArgs, table<std::uint8_t>>("table_1"),
    emulated<BytesArgs, table<std::uint32_t>>("table_4"),
    emulated<UnaryArgs, unary>("unary_f32"),
};

// Sorted.
const std::vector<Emulated>& kernels() {
  static const std::vector<Emulated> all = [] {
    std::vector<Emulated> made(std::begin(kOthers), std::end(kOthers));
    for (const std::span<const Emulated> tiles : {emulated_tiles(), emulated_tiles_of_offsets()})
      made.insert(made.end(), tiles.begin(), tiles.end());
    std::ranges::sort(made, {}, &Emulated::name);
    return made;
  }();
  return all;
}

std::vector<std::atomic<std::int64_t>>& blocks_run() {
  static std::vector<std::atomic<std::int64_t>> counts(kernels().size());
  return counts;
}

std::size_t number_of(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(kernels(), name, &Emulated::name) - kernels().begin());
}

}  // namespace
}  // namespace octavo::cuda

namespace octavo::testing {

void emulate_cuda(const cuda::Launch& launch, const std::byte* arguments, ItemRange blocks) {
  using namespace octavo::cuda;
  const std::size_t number = number_of(launch.kernel);
  if (number == kernels().size() || kernels()[number].argument_bytes != launch.arguments.size()) {
    std::fprintf(stderr, "no kernel '%s' with %zu bytes of arguments\n", launch.kernel.c_str(),
                 launch.arguments.size());
    std::abort();
  }
  for (std::int64_t i = blocks.begin; i < blocks.end; ++i) {
    const std::array<std::int64_t, 3> index{i % launch.grid[0], i / launch.grid[0] % launch.grid[1],
                                            i / launch.grid[0] / launch.grid[1]};
    HostBlock block(index, launch.threads, launch.shared_bytes);
    kernels()[number].run(block, arguments);
  }
  blocks_run()[number] += blocks.end - blocks.begin;
}

std::vector<std::string_view> emulated_cuda_kernels() {
  std::vector<std::string_view> names;
  for (const cuda::Emulated& kernel : cuda::kernels()) names.push_back(kernel.name);
  return names;
}

std::size_t emulated_cuda_argument_bytes(std::string_view kernel) {
  return cuda::kernels()[cuda::number_of(kernel)].argument_bytes;
}

std::int64_t emulated_cuda_blocks(std::string_view kernel) { return cuda::blocks_run()[cuda::number_of(kernel)]; }

}  // namespace octavo::testing
