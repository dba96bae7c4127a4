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
#include "cuda/device/conv.h"
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
#include "support/cuda_block.h"

namespace octavo::cuda {
namespace {

struct Emulated {
  std::string_view name;
  void (*run)(HostBlock& block, const std::byte* arguments);
  std::size_t argument_bytes;
};

template <class Arguments, void (*kernel)(HostBlock&, const Arguments&)>
constexpr Emulated emulated(std::string_view name) {
  const auto run = [](HostBlock& block, const std::byte* arguments) {
    kernel(block, *reinterpret_cast<const Arguments*>(arguments));
  };
  return {name, run, sizeof(Arguments)};
}

// Every second block as devices with wgmma do it, the others as those without.
template <int rows, int columns, int copy, bool has_offset, XScale x_scale>
void conv_tile(HostBlock& block, const ConvArgs& arguments) {
  constexpr bool kMayGroup = rows % kGroupRows == 0 && !has_offset;
  constexpr Multiplier kGroups = kMayGroup ? Multiplier::group : Multiplier::warp;
  if ((block.x() + block.y()) % 2 == 0)
    conv<ConvTile<rows, columns, copy, kGroups, has_offset, x_scale>>(block, arguments);
  else conv<ConvTile<rows, columns, copy, Multiplier::warp, has_offset, x_scale>>(block, arguments);
}

template <int rows, int columns, int copy, bool has_offset = false, XScale x_scale = XScale::known>
constexpr Emulated tile(std::string_view name) {
  return emulated<ConvArgs, conv_tile<rows, columns, copy, has_offset, x_scale>>(name);
}

// Sorted.
constexpr Emulated kKernels[] = {
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
    tile<128, 128, 1>("conv_128x128_1"),
    tile<128, 128, 16>("conv_128x128_16"),
    tile<128, 128, 4>("conv_128x128_4"),
    tile<128, 64, 1>("conv_128x64_1"),
    tile<128, 64, 16>("conv_128x64_16"),
    tile<128, 64, 4>("conv_128x64_4"),
    tile<32, 32, 1>("conv_32x32_1"),
    tile<32, 32, 16>("conv_32x32_16"),
    tile<32, 32, 16, true>("conv_32x32_16_offset"),
    tile<32, 32, 1, true>("conv_32x32_1_offset"),
    tile<32, 32, 4>("conv_32x32_4"),
    tile<32, 32, 4, true>("conv_32x32_4_offset"),
    tile<64, 64, 1>("conv_64x64_1"),
    tile<64, 64, 16>("conv_64x64_16"),
    tile<64, 64, 16, true>("conv_64x64_16_offset"),
    tile<64, 64, 1, true>("conv_64x64_1_offset"),
    tile<64, 64, 4>("conv_64x64_4"),
    tile<64, 64, 4, true>("conv_64x64_4_offset"),
    tile<128, 64, 1, false, XScale::in_run>("conv_run_128x64_1"),
    tile<128, 64, 16, false, XScale::in_run>("conv_run_128x64_16"),
    tile<128, 64, 4, false, XScale::in_run>("conv_run_128x64_4"),
    tile<32, 32, 1, true, XScale::in_run>("conv_run_32x32_1"),
    tile<32, 32, 16, true, XScale::in_run>("conv_run_32x32_16"),
    tile<32, 32, 4, true, XScale::in_run>("conv_run_32x32_4"),
    tile<64, 64, 1, true, XScale::in_run>("conv_run_64x64_1"),
    tile<64, 64, 16, true, XScale::in_run>("conv_run_64x64_16"),
    tile<64, 64, 4, true, XScale::in_run>("conv_run_64x64_4"),
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
std::array<std::atomic<std::int64_t>, std::size(kKernels)> blocks_run{};

std::size_t number_of(std::string_view name) {
  const auto* found = std::ranges::find(kKernels, name, &Emulated::name);
  return static_cast<std::size_t>(found - std::begin(kKernels));
}

}  // namespace
}  // namespace octavo::cuda

namespace octavo::testing {

void emulate_cuda(const cuda::Launch& launch, const std::byte* arguments, ItemRange blocks) {
  using namespace octavo::cuda;
  const std::size_t number = number_of(launch.kernel);
  if (number == std::size(kKernels) || kKernels[number].argument_bytes != launch.arguments.size()) {
    std::fprintf(stderr, "no kernel '%s' with %zu bytes of arguments\n", launch.kernel.c_str(),
                 launch.arguments.size());
    std::abort();
  }
  for (std::int64_t i = blocks.begin; i < blocks.end; ++i) {
    const std::array<std::int64_t, 3> index{i % launch.grid[0], i / launch.grid[0] % launch.grid[1],
                                            i / launch.grid[0] / launch.grid[1]};
    HostBlock block(index, launch.threads, launch.shared_bytes);
    kKernels[number].run(block, arguments);
  }
  blocks_run[number] += blocks.end - blocks.begin;
}

std::vector<std::string_view> emulated_cuda_kernels() {
  std::vector<std::string_view> names;
  for (const cuda::Emulated& kernel : cuda::kKernels) names.push_back(kernel.name);
  return names;
}

std::size_t emulated_cuda_argument_bytes(std::string_view kernel) {
  return cuda::kKernels[cuda::number_of(kernel)].argument_bytes;
}

std::int64_t emulated_cuda_blocks(std::string_view kernel) { return cuda::blocks_run[cuda::number_of(kernel)]; }

}  // namespace octavo::testing
