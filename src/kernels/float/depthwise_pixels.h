// The loops of float_depthwise over any Simd: a few pixels by a few vectors of channels. Internal linkage only. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_FLOAT_DEPTHWISE_PIXELS_H_
#define OCTAVO_KERNELS_FLOAT_DEPTHWISE_PIXELS_H_

#include "kernels/float/sums.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

template <class S, int kPixels, int kVectors>
void depthwise_block(const DepthwisePixels& d, std::int64_t pixel, std::int64_t c) {
  typename S::F32 sum[kPixels][kVectors];
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) sum[p][v] = S::load(d.bias + c + v * S::kLanes);
  }
  const float* x = d.x + pixel * d.x_step + c;
  for (std::int64_t t = 0; t < d.tap_count; ++t) {
    const float* from = x + d.taps[t].x;
    typename S::F32 w[kVectors];
    for (int v = 0; v < kVectors; ++v) w[v] = S::load(d.w + d.taps[t].w + c + v * S::kLanes);
    for (int p = 0; p < kPixels; ++p) {
      for (int v = 0; v < kVectors; ++v)
        sum[p][v] = S::fma(S::load(from + p * d.x_step + v * S::kLanes), w[v], sum[p][v]);
    }
  }
  // In this order NaN stays what it is.
  for (int p = 0; p < kPixels; ++p) {
    for (int v = 0; v < kVectors; ++v) {
      S::store(d.y + (pixel + p) * d.channels + c + v * S::kLanes,
               S::min(S::set(d.highest), S::max(S::set(d.lowest), sum[p][v])));
    }
  }
}

template <class S, int kPixels, int kVectors>
void depthwise_channels(const DepthwisePixels& d, std::int64_t pixel, std::int64_t c) {
  for (; c + kVectors * S::kLanes <= d.channels; c += kVectors * S::kLanes)
    depthwise_block<S, kPixels, kVectors>(d, pixel, c);
  if constexpr (kVectors > 1) depthwise_channels<S, kPixels, kVectors / 2>(d, pixel, c);
  else if constexpr (S::kLanes > 1) depthwise_channels<typename S::Half, kPixels, 1>(d, pixel, c);
}

// Eight sums at a time hide the latency of the multiply-adds.
template <class S>
void depthwise_pixels(const DepthwisePixels& given) {
  const DepthwisePixels d = given;
  std::int64_t pixel = 0;
  for (; pixel + 4 <= d.pixels; pixel += 4) depthwise_channels<S, 4, 2>(d, pixel, 0);
  for (; pixel + 2 <= d.pixels; pixel += 2) depthwise_channels<S, 2, 4>(d, pixel, 0);
  for (; pixel < d.pixels; ++pixel) depthwise_channels<S, 1, 4>(d, pixel, 0);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_FLOAT_DEPTHWISE_PIXELS_H_
