// Every kernel by the name that launches have. Part of cuda/device/.
#include "cuda/device/attention.h"
#include "cuda/device/attention_tile.h"
#include "cuda/device/block.h"
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

namespace octavo::cuda {
namespace {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool kHasGroups = true;
#else
constexpr bool kHasGroups = false;
#endif

template <int kRows, int kColumns, int kCopy, bool kHasOffset = false, XScale kXScale = XScale::known>
__device__ __forceinline__ void conv_tile(const ConvArgs& arguments) {
  constexpr bool kByGroup = kHasGroups && kRows % kGroupRows == 0 && !kHasOffset;
  constexpr Multiplier kMultiplier = kByGroup ? Multiplier::group : Multiplier::warp;
  Block block;
  conv<ConvTile<kRows, kColumns, kCopy, kMultiplier, kHasOffset, kXScale>>(block, arguments);
}

}  // namespace

// conv_threads each; as many blocks on a multiprocessor as its registers are to be shared by. Threads that copy by 4
// bytes have more rows to remember.
constexpr int kNarrow = kHasGroups ? 3 : 2, kByFour = kHasGroups ? 2 : 1;
extern "C" __global__ void __launch_bounds__(256, 2) conv_128x128_16(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 128, 16>(a);
}
extern "C" __global__ void __launch_bounds__(256, kByFour) conv_128x128_4(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 128, 4>(a);
}
extern "C" __global__ void __launch_bounds__(256, 2) conv_128x128_1(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 128, 1>(a);
}
extern "C" __global__ void __launch_bounds__(256, kNarrow) conv_128x64_16(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 64, 16>(a);
}
extern "C" __global__ void __launch_bounds__(256, 2) conv_128x64_4(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 64, 4>(a);
}
extern "C" __global__ void __launch_bounds__(256, kNarrow) conv_128x64_1(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 64, 1>(a);
}
extern "C" __global__ void __launch_bounds__(128, 4) conv_64x64_16(const __grid_constant__ ConvArgs a) {
  conv_tile<64, 64, 16>(a);
}
extern "C" __global__ void __launch_bounds__(128, 4) conv_64x64_4(const __grid_constant__ ConvArgs a) {
  conv_tile<64, 64, 4>(a);
}
extern "C" __global__ void __launch_bounds__(128, 4) conv_64x64_1(const __grid_constant__ ConvArgs a) {
  conv_tile<64, 64, 1>(a);
}
extern "C" __global__ void __launch_bounds__(128, 8) conv_32x32_16(const __grid_constant__ ConvArgs a) {
  conv_tile<32, 32, 16>(a);
}
extern "C" __global__ void __launch_bounds__(128, 8) conv_32x32_4(const __grid_constant__ ConvArgs a) {
  conv_tile<32, 32, 4>(a);
}
extern "C" __global__ void __launch_bounds__(128, 8) conv_32x32_1(const __grid_constant__ ConvArgs a) {
  conv_tile<32, 32, 1>(a);
}
extern "C" __global__ void __launch_bounds__(128, 4) conv_64x64_16_offset(const __grid_constant__ ConvArgs a) {
  conv_tile<64, 64, 16, true>(a);
}
extern "C" __global__ void __launch_bounds__(128, 4) conv_64x64_4_offset(const __grid_constant__ ConvArgs a) {
  conv_tile<64, 64, 4, true>(a);
}
extern "C" __global__ void __launch_bounds__(128, 4) conv_64x64_1_offset(const __grid_constant__ ConvArgs a) {
  conv_tile<64, 64, 1, true>(a);
}
extern "C" __global__ void __launch_bounds__(128, 8) conv_32x32_16_offset(const __grid_constant__ ConvArgs a) {
  conv_tile<32, 32, 16, true>(a);
}
extern "C" __global__ void __launch_bounds__(128, 8) conv_32x32_4_offset(const __grid_constant__ ConvArgs a) {
  conv_tile<32, 32, 4, true>(a);
}
extern "C" __global__ void __launch_bounds__(128, 8) conv_32x32_1_offset(const __grid_constant__ ConvArgs a) {
  conv_tile<32, 32, 1, true>(a);
}

// With scales of the run.
extern "C" __global__ void __launch_bounds__(256, kNarrow) conv_run_128x64_16(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 64, 16, false, XScale::in_run>(a);
}
extern "C" __global__ void __launch_bounds__(256, 2) conv_run_128x64_4(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 64, 4, false, XScale::in_run>(a);
}
extern "C" __global__ void __launch_bounds__(256, kNarrow) conv_run_128x64_1(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 64, 1, false, XScale::in_run>(a);
}
extern "C" __global__ void __launch_bounds__(128, 4) conv_run_64x64_16(const __grid_constant__ ConvArgs a) {
  conv_tile<64, 64, 16, true, XScale::in_run>(a);
}
extern "C" __global__ void __launch_bounds__(128, 4) conv_run_64x64_4(const __grid_constant__ ConvArgs a) {
  conv_tile<64, 64, 4, true, XScale::in_run>(a);
}
extern "C" __global__ void __launch_bounds__(128, 4) conv_run_64x64_1(const __grid_constant__ ConvArgs a) {
  conv_tile<64, 64, 1, true, XScale::in_run>(a);
}
extern "C" __global__ void __launch_bounds__(128, 8) conv_run_32x32_16(const __grid_constant__ ConvArgs a) {
  conv_tile<32, 32, 16, true, XScale::in_run>(a);
}
extern "C" __global__ void __launch_bounds__(128, 8) conv_run_32x32_4(const __grid_constant__ ConvArgs a) {
  conv_tile<32, 32, 4, true, XScale::in_run>(a);
}
extern "C" __global__ void __launch_bounds__(128, 8) conv_run_32x32_1(const __grid_constant__ ConvArgs a) {
  conv_tile<32, 32, 1, true, XScale::in_run>(a);
}

// 256 threads each.
extern "C" __global__ void __launch_bounds__(256) depthwise_4(const __grid_constant__ DepthwiseArgs a) {
  Block block;
  depthwise<4>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) depthwise_1(const __grid_constant__ DepthwiseArgs a) {
  Block block;
  depthwise<1>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) float_conv_64x64(const __grid_constant__ FloatConvArgs a) {
  Block block;
  float_conv(block, a);
}
extern "C" __global__ void __launch_bounds__(256) float_conv_direct(const __grid_constant__ FloatConvArgs a) {
  Block block;
  float_conv_direct(block, a);
}
extern "C" __global__ void __launch_bounds__(256) float_depthwise(const __grid_constant__ FloatDepthwiseArgs a) {
  Block block;
  float_depthwise(block, a);
}
extern "C" __global__ void __launch_bounds__(256) max_pool_u8_16(const __grid_constant__ PoolArgs a) {
  Block block;
  max_pool_chunks(block, a);
}
extern "C" __global__ void __launch_bounds__(256) sum_pool_wide(const __grid_constant__ PoolArgs a) {
  Block block;
  wide_sum_pool<false>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) average_pool_wide(const __grid_constant__ PoolArgs a) {
  Block block;
  wide_sum_pool<true>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) max_pool_u8(const __grid_constant__ PoolArgs a) {
  Block block;
  max_pool<std::uint8_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) max_pool_f32(const __grid_constant__ PoolArgs a) {
  Block block;
  max_pool<float>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) float_pool(const __grid_constant__ PoolArgs a) {
  Block block;
  float_pool(block, a);
}
extern "C" __global__ void __launch_bounds__(256) sum_pool(const __grid_constant__ PoolArgs a) {
  Block block;
  sum_pool<false>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) average_pool(const __grid_constant__ PoolArgs a) {
  Block block;
  sum_pool<true>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) mean_pool(const __grid_constant__ PoolArgs a) {
  Block block;
  mean_pool(block, a);
}
extern "C" __global__ void __launch_bounds__(256) pairs_4(const __grid_constant__ PairArgs a) {
  Block block;
  pairs_of<4>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) pairs_1(const __grid_constant__ PairArgs a) {
  Block block;
  pairs_of<1>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) sums(const __grid_constant__ SumArgs a) {
  Block block;
  sums_of(block, a);
}
extern "C" __global__ void __launch_bounds__(256) table_1(const __grid_constant__ BytesArgs a) {
  Block block;
  table<std::uint8_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) table_4(const __grid_constant__ BytesArgs a) {
  Block block;
  table<std::uint32_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) copy_bytes(const __grid_constant__ BytesArgs a) {
  Block block;
  copy(block, a);
}
extern "C" __global__ void __launch_bounds__(256) quantize_f32(const __grid_constant__ QuantizeArgs a) {
  Block block;
  quantize(block, a);
}
extern "C" __global__ void __launch_bounds__(256) dequantize_f32(const __grid_constant__ DequantizeArgs a) {
  Block block;
  dequantize(block, a);
}
extern "C" __global__ void __launch_bounds__(256) move_1(const __grid_constant__ StridedArgs a) {
  Block block;
  move<std::uint8_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) move_4(const __grid_constant__ StridedArgs a) {
  Block block;
  move<std::uint32_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) move_8(const __grid_constant__ StridedArgs a) {
  Block block;
  move<std::uint64_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) choose_1(const __grid_constant__ StridedArgs a) {
  Block block;
  choose<std::uint8_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) choose_4(const __grid_constant__ StridedArgs a) {
  Block block;
  choose<std::uint32_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) choose_8(const __grid_constant__ StridedArgs a) {
  Block block;
  choose<std::uint64_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) pad_1(const __grid_constant__ PadArgs a) {
  Block block;
  pad<std::uint8_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) pad_4(const __grid_constant__ PadArgs a) {
  Block block;
  pad<std::uint32_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) pad_8(const __grid_constant__ PadArgs a) {
  Block block;
  pad<std::uint64_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) concat_1(const __grid_constant__ ConcatArgs a) {
  Block block;
  concat<std::uint8_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) concat_4(const __grid_constant__ ConcatArgs a) {
  Block block;
  concat<std::uint32_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) gather_1(const __grid_constant__ GatherArgs a) {
  Block block;
  gather<std::uint8_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) gather_4(const __grid_constant__ GatherArgs a) {
  Block block;
  gather<std::uint32_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) unary_f32(const __grid_constant__ UnaryArgs a) {
  Block block;
  unary(block, a);
}
extern "C" __global__ void __launch_bounds__(256) binary_f32(const __grid_constant__ BinaryArgs a) {
  Block block;
  binary(block, a);
}
extern "C" __global__ void __launch_bounds__(256) compare_f32(const __grid_constant__ BinaryArgs a) {
  Block block;
  compare(block, a);
}
extern "C" __global__ void __launch_bounds__(256) cast(const __grid_constant__ CastArgs a) {
  Block block;
  cast(block, a);
}
extern "C" __global__ void __launch_bounds__(256) product_f32(const __grid_constant__ ProductArgs a) {
  Block block;
  product_f32(block, a);
}
extern "C" __global__ void __launch_bounds__(256) product_bytes(const __grid_constant__ ProductArgs a) {
  Block block;
  product_bytes(block, a);
}
extern "C" __global__ void __launch_bounds__(256) resize_nearest_1(const __grid_constant__ ResizeArgs a) {
  Block block;
  resize_nearest<std::uint8_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) resize_nearest_4(const __grid_constant__ ResizeArgs a) {
  Block block;
  resize_nearest<std::uint32_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) resize_nearest_8(const __grid_constant__ ResizeArgs a) {
  Block block;
  resize_nearest<std::uint64_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) resize_linear_f32(const __grid_constant__ ResizeArgs a) {
  Block block;
  resize_linear<true>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) resize_linear_q8(const __grid_constant__ ResizeArgs a) {
  Block block;
  resize_linear<false>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) resize_weighted_f32(const __grid_constant__ ResizeArgs a) {
  Block block;
  resize_weighted(block, a);
}
extern "C" __global__ void __launch_bounds__(256) integer_resize(const __grid_constant__ IntegerResizeArgs a) {
  Block block;
  integer_resize(block, a);
}

// 128 threads each, or as many as are named.
extern "C" __global__ void __launch_bounds__(128) softmax_f32(const __grid_constant__ LineArgs a) {
  Block block;
  softmax<false>(block, a);
}
extern "C" __global__ void __launch_bounds__(128) log_softmax_f32(const __grid_constant__ LineArgs a) {
  Block block;
  softmax<true>(block, a);
}
extern "C" __global__ void __launch_bounds__(128) layer_norm_f32(const __grid_constant__ LineArgs a) {
  Block block;
  layer_norm(block, a);
}
extern "C" __global__ void __launch_bounds__(128) reduce_f32(const __grid_constant__ LineArgs a) {
  Block block;
  reduce(block, a);
}
extern "C" __global__ void __launch_bounds__(128) norm_stored_4(const __grid_constant__ NormArgs a) {
  Block block;
  norm_stored<4>(block, a);
}
extern "C" __global__ void __launch_bounds__(128) norm_stored_1(const __grid_constant__ NormArgs a) {
  Block block;
  norm_stored<1>(block, a);
}
extern "C" __global__ void __launch_bounds__(128) byte_softmax(const __grid_constant__ ByteSoftmaxArgs a) {
  Block block;
  byte_softmax(block, a);
}
extern "C" __global__ void __launch_bounds__(128) attention_f32(const __grid_constant__ AttentionArgs a) {
  Block block;
  attention<RealHeads>(block, a);
}
extern "C" __global__ void __launch_bounds__(128) attention_q8(const __grid_constant__ AttentionArgs a) {
  Block block;
  attention<StoredHeads>(block, a);
}
extern "C" __global__ void __launch_bounds__(128, 3) attention_f32_tile(const __grid_constant__ AttentionArgs a) {
  Block block;
  attention_tile(block, a);
}
extern "C" __global__ void __launch_bounds__(128, 4) attention_q8_tile(const __grid_constant__ AttentionArgs a) {
  Block block;
  byte_attention(block, a);
}
extern "C" __global__ void __launch_bounds__(128) scale_row_f32_128(const __grid_constant__ RowScaleArgs a) {
  Block block;
  scale_row<RealRow, 128>(block, a);
}
extern "C" __global__ void __launch_bounds__(1024) scale_row_f32_1024(const __grid_constant__ RowScaleArgs a) {
  Block block;
  scale_row<RealRow, 1024>(block, a);
}
extern "C" __global__ void __launch_bounds__(128) scale_row_s16_128(const __grid_constant__ RowScaleArgs a) {
  Block block;
  scale_row<WordRow, 128>(block, a);
}
extern "C" __global__ void __launch_bounds__(1024) scale_row_s16_1024(const __grid_constant__ RowScaleArgs a) {
  Block block;
  scale_row<WordRow, 1024>(block, a);
}

}  // namespace octavo::cuda
