// Every kernel by the name that launches have. Part of cuda/device/.
#include "cuda/device/block.h"
#include "cuda/device/conv.h"
#include "cuda/device/depthwise.h"
#include "cuda/device/elements.h"
#include "cuda/device/pool.h"

namespace octavo::cuda {
namespace {

template <int kRows, int kColumns, int kCopy>
__device__ __forceinline__ void conv_tile(const ConvArgs& arguments) {
  Block block;
  conv<ConvTile<kRows, kColumns, kCopy>>(block, arguments);
}

}  // namespace

// 128 threads each; as many blocks on a multiprocessor as its registers are to be shared by.
extern "C" __global__ void __launch_bounds__(128, 2) conv_128x128_16(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 128, 16>(a);
}
extern "C" __global__ void __launch_bounds__(128, 2) conv_128x128_4(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 128, 4>(a);
}
extern "C" __global__ void __launch_bounds__(128, 2) conv_128x128_1(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 128, 1>(a);
}
extern "C" __global__ void __launch_bounds__(128, 3) conv_128x64_16(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 64, 16>(a);
}
extern "C" __global__ void __launch_bounds__(128, 3) conv_128x64_4(const __grid_constant__ ConvArgs a) {
  conv_tile<128, 64, 4>(a);
}
extern "C" __global__ void __launch_bounds__(128, 3) conv_128x64_1(const __grid_constant__ ConvArgs a) {
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

// 256 threads each.
extern "C" __global__ void __launch_bounds__(256) depthwise_4(const __grid_constant__ DepthwiseArgs a) {
  Block block;
  depthwise<4>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) depthwise_1(const __grid_constant__ DepthwiseArgs a) {
  Block block;
  depthwise<1>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) max_pool_u8(const __grid_constant__ PoolArgs a) {
  Block block;
  max_pool<std::uint8_t>(block, a);
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
extern "C" __global__ void __launch_bounds__(256) transpose_1(const __grid_constant__ StridedArgs a) {
  Block block;
  transpose<std::uint8_t>(block, a);
}
extern "C" __global__ void __launch_bounds__(256) transpose_4(const __grid_constant__ StridedArgs a) {
  Block block;
  transpose<std::uint32_t>(block, a);
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

}  // namespace octavo::cuda
