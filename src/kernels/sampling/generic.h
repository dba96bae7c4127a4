// The loops of sampling/ in plain C++ over channels, which the compiler vectorizes for each instruction set where they
// are neighbours. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_SAMPLING_GENERIC_H_
#define OCTAVO_KERNELS_SAMPLING_GENERIC_H_

#include "kernels/sampling/functions.h"

namespace octavo {
namespace {

void clear(float* to, std::int64_t n) {
  for (std::int64_t c = 0; c < n; ++c) to[c] = 0.0f;
}

void add_weighted(float weight, const float* __restrict from, std::int64_t stride, std::int64_t n,
                  float* __restrict to) {
  if (stride == 1) {
    for (std::int64_t c = 0; c < n; ++c) to[c] += weight * from[c];
    return;
  }
  for (std::int64_t c = 0; c < n; ++c) to[c] += weight * from[c * stride];
}

// to = the sum along the axes from kAxis on.
template <int kAxis>
void sum_axes(const SamplePoint& point, const float* x, std::int64_t stride, std::int64_t n, float* to) {
  clear(to, n);
  for (int t = 0; t < point.count[kAxis]; ++t) {
    const float weight = point.weight[kAxis][t];
    const std::int64_t offset = point.offset[kAxis][t];
    if constexpr (kAxis + 1 == kSampleAxes) {
      constexpr float kZero = 0.0f;
      add_weighted(weight, offset < 0 ? &kZero : x + offset, offset < 0 ? 0 : stride, n, to);
    } else {
      float inner[kSampleBlock];
      if (offset < 0) clear(inner, n);
      else sum_axes<kAxis + 1>(point, x + offset, stride, n, inner);
      add_weighted(weight, inner, 1, n, to);
    }
  }
}

constexpr float kZeros[kSampleBlock] = {};

// Two elements of each of two axes: what linear sampling of pictures meets.
bool is_square(const SamplePoint& point) {
  return point.count[0] == 1 && point.offset[0][0] == 0 && point.weight[0][0] == 1.0f && point.count[1] == 2 &&
         point.count[2] == 2;
}

// An element outside the image is 0: weights are finite.
const float* element_of(const SamplePoint& point, const float* x, int row, int column) {
  const std::int64_t above = point.offset[1][row], left = point.offset[2][column];
  return above < 0 || left < 0 ? kZeros : x + above + left;
}

// The same sums as sum_axes in one pass; adding 0 first makes 0 of -0.
void sample_square(const SamplePoint& point, const float* x, std::int64_t channels, float* __restrict y) {
  const float *a = element_of(point, x, 0, 0), *b = element_of(point, x, 0, 1);
  const float *c = element_of(point, x, 1, 0), *d = element_of(point, x, 1, 1);
  const float u0 = point.weight[1][0], u1 = point.weight[1][1], v0 = point.weight[2][0], v1 = point.weight[2][1];
  for (std::int64_t i = 0; i < channels; ++i) {
    const float first = (0.0f + v0 * a[i]) + v1 * b[i], second = (0.0f + v0 * c[i]) + v1 * d[i];
    y[i] = (0.0f + u0 * first) + u1 * second;
  }
}

void sample(const SamplePoint& point, const float* x, std::int64_t x_stride, std::int64_t channels, float* y,
            std::int64_t y_stride) {
  if (x_stride == 1 && y_stride == 1 && is_square(point)) return sample_square(point, x, channels, y);
  float sums[kSampleBlock];
  sum_axes<0>(point, x, x_stride, channels, sums);
  for (std::int64_t c = 0; c < channels; ++c) y[c * y_stride] = sums[c];
}

template <class Body>
void for_channels(std::int64_t stride, std::int64_t channels, const Body& body) {
  if (stride == 1) {
    for (std::int64_t c = 0; c < channels; ++c) body(c, c);
    return;
  }
  for (std::int64_t c = 0; c < channels; ++c) body(c, c * stride);
}

void add_four(const float* const* x, const float* weight, std::int64_t stride, std::int64_t channels,
              float* __restrict sum) {
  const float *a = x[0], *b = x[1], *c = x[2], *d = x[3];
  const float wa = weight[0], wb = weight[1], wc = weight[2], wd = weight[3];
  for_channels(stride, channels, [=](std::int64_t to, std::int64_t from) {
    sum[to] += wa * a[from] + wb * b[from] + wc * c[from] + wd * d[from];
  });
}

float larger(float a, float b) { return a < b ? b : a; }

void largest_of_four(const float* const* x, const float* weight, std::int64_t stride, std::int64_t channels,
                     float* __restrict best) {
  const float *a = x[0], *b = x[1], *c = x[2], *d = x[3];
  const float wa = weight[0], wb = weight[1], wc = weight[2], wd = weight[3];
  for_channels(stride, channels, [=](std::int64_t to, std::int64_t from) {
    best[to] = larger(best[to], larger(larger(larger(wa * a[from], wb * b[from]), wc * c[from]), wd * d[from]));
  });
}

constexpr SampleFunctions sample_functions() {
  return {.sample = sample, .add_four = add_four, .largest_of_four = largest_of_four};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_SAMPLING_GENERIC_H_
