// The contract of float/: sums whose order is fixed per result, wide over results. Part of kernels/.
#ifndef OCTAVO_KERNELS_FLOAT_SUMS_H_
#define OCTAVO_KERNELS_FLOAT_SUMS_H_

#include <cstdint>

#include "kernels/epilogue/rows.h"

namespace octavo {

// acc[p][j] += a[p][k * a_step] * b[k * b_stride + j] for k = 0, 1, ..., depth - 1; products of two f32 are exact in
// f64.
inline constexpr int kSumRows = 4;
struct SumBlock {
  const float* a[kSumRows] = {};
  int rows = 1;  // 1 or kSumRows
  std::int64_t a_step = 1;
  const float* b = nullptr;
  std::int64_t b_stride = 0;
  std::int64_t depth = 0, width = 0;
  double* acc = nullptr;
  std::int64_t acc_stride = 0;
};

// acc[j] += (a[k] - a_zero_point) * (b[k * b_stride + j] - b_zero_point[j]), wrapping in 32 bits; acc is set to 0
// first.
struct IntegerSumRow {
  const std::uint8_t* a = nullptr;
  const std::uint8_t* b = nullptr;
  bool a_is_signed = false, b_is_signed = false;
  std::int32_t a_zero_point = 0;
  const std::int32_t* b_zero_point = nullptr;  // per column
  std::int64_t b_stride = 0, depth = 0, width = 0;
  std::int32_t* acc = nullptr;
};

// y = x * factor + shift in f32, n elements; `step` 0: the same factor and shift for all.
struct NormalizeLine {
  const float* x = nullptr;
  float* y = nullptr;
  std::int64_t n = 0;
  int step = 1;
  const float* factor = nullptr;
  const float* shift = nullptr;
};

// For `pixels` results, x and y of the next a step further: y[c] = clamp(bias[c] + sum over taps of x[taps[t].x + c] *
// w[taps[t].w + c]), a fused multiply-add in f32 per tap, in their order.
struct TapOffsets {
  std::int64_t x = 0, w = 0;
};
struct DepthwisePixels {
  const float* x = nullptr;
  std::int64_t x_step = 0;
  const float* w = nullptr;
  const float* bias = nullptr;
  const TapOffsets* taps = nullptr;
  std::int64_t tap_count = 0, pixels = 0, channels = 0;
  float lowest = 0.0f, highest = 0.0f;
  float* y = nullptr;
};

// What happens to a chain's sum, in this order; each residual as y, null where there is none.
struct ChainEnd {
  const float* bias = nullptr;
  const float* residual_before = nullptr;  // the clamp
  float lowest = 0.0f, highest = 0.0f;
  const float* residual_after = nullptr;
};

// y[p * y_stride + j] = the end of the sum over taps t, then over k < depth, of
// a[t * rows + p][first + k] * w[(t * depth + k) * vectors * chain_lanes + j]
// for j < width, the columns of a panel: fused multiply-adds in f32 in that order, from 0 or from what y holds on.
struct ChainTile {
  const float* const* a = nullptr;
  std::int64_t first = 0;
  int rows = 1;     // at most chain_rows
  int vectors = 1;  // at most kChainVectors
  std::int64_t taps = 0, depth = 0;
  const float* w = nullptr;
  bool continues = false;  // y holds the sums so far
  ChainEnd end;
  float* y = nullptr;
  std::int64_t y_stride = 0;
  std::int64_t width = 0;  // above (vectors - 1) * chain_lanes
};
inline constexpr int kChainVectors = 2;

// y[p * channels + c] = the end of the sum over taps t of a[t * pixels + p][c] * w[t * channels + c]: the same chains.
struct ChannelChains {
  const float* const* a = nullptr;
  int pixels = 1;  // at most kChainPixels
  std::int64_t taps = 0, channels = 0;
  const float* w = nullptr;
  ChainEnd end;
  float* y = nullptr;
};
inline constexpr int kChainPixels = 4;

struct SumFunctions {
  // Of integer sums: finish_sums of epilogue/.
  void (*finish)(const RowEpilogue&, const std::int32_t* sums, std::int64_t rows, std::int64_t n, void* y);
  void (*accumulate)(const SumBlock&);
  void (*multiply_integers)(const IntegerSumRow&);
  void (*normalize)(const NormalizeLine&);
  void (*depthwise)(const DepthwisePixels&);
  void (*chains)(const ChainTile&);
  void (*channel_chains)(const ChannelChains&);
  int chain_lanes = 1, chain_rows = 1;
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_FLOAT_SUMS_H_
