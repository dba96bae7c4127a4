// The contract of sampling/: one position, a block of channels. Part of kernels/.
#ifndef OCTAVO_KERNELS_SAMPLING_FUNCTIONS_H_
#define OCTAVO_KERNELS_SAMPLING_FUNCTIONS_H_

#include <cstdint>

namespace octavo {

inline constexpr std::int64_t kSampleBlock = 64;  // channels
inline constexpr int kSampleAxes = 3;
inline constexpr int kSampleTaps = 4;

// Taps of each axis, the outermost one first; axes that are not there have one tap of weight 1. An offset of -1 reads
// 0.
struct SamplePoint {
  std::int64_t offset[kSampleAxes][kSampleTaps] = {};  // elements of x
  float weight[kSampleAxes][kSampleTaps] = {};
  int count[kSampleAxes] = {};
};

struct SampleFunctions {
  // y[c * y_stride] = the weighted sum along one axis after the other, of x + c * x_stride; channels <= kSampleBlock.
  void (*sample)(const SamplePoint& point, const float* x, std::int64_t x_stride, std::int64_t channels, float* y,
                 std::int64_t y_stride);
  // best[c] = max(best[c], each of weight[i] * x[i][c * stride]), and sum[c] += their sum, from the first on.
  void (*add_four)(const float* const* x, const float* weight, std::int64_t stride, std::int64_t channels, float* sum);
  void (*largest_of_four)(const float* const* x, const float* weight, std::int64_t stride, std::int64_t channels,
                          float* best);
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_SAMPLING_FUNCTIONS_H_
