// The contract of resize's weighted sums: one axis at a time, in f64. Part of kernels/.
#ifndef OCTAVO_KERNELS_RESIZE_WEIGHTED_H_
#define OCTAVO_KERNELS_RESIZE_WEIGHTED_H_

#include <cstddef>
#include <cstdint>

namespace octavo {

// Taps first[o] ... first[o + 1] - 1 make up position o of an axis.
struct TapTable {
  const std::int64_t* first = nullptr;
  const std::int64_t* index = nullptr;
  const double* weight = nullptr;
  std::int64_t positions = 0;
};

struct WeightedFunctions {
  // to[o][i] = 0 + sum of weight * from[index][i] over the taps of o, in their order; i < inner.
  void (*along_f32)(const TapTable&, std::int64_t inner, const std::byte* from, double* to);
  void (*along_f64)(const TapTable&, std::int64_t inner, const std::byte* from, double* to);
  void (*along_s8)(const TapTable&, std::int64_t inner, const std::byte* from, double* to);
  void (*along_u8)(const TapTable&, std::int64_t inner, const std::byte* from, double* to);
  // to[i] += weight * from[i]
  void (*add)(double weight, const double* from, double* to, std::int64_t n);
  // y[i] = x[i], rounded
  void (*store_f32)(const double* x, float* y, std::int64_t n);
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_RESIZE_WEIGHTED_H_
