// The loops of resize's weighted sums in plain C++, which the compiler vectorizes for each instruction set. Internal
// linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_RESIZE_GENERIC_H_
#define OCTAVO_KERNELS_RESIZE_GENERIC_H_

#include "kernels/resize/weighted.h"

namespace octavo {
namespace {

void add_row(double weight, const double* __restrict from, double* __restrict to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] += weight * from[i];
}

void store_row(const double* __restrict x, float* __restrict y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]);
}

// Elements next to each other are an axis of their own.
template <class T>
void along_line(const TapTable& taps, const T* from, double* to) {
  for (std::int64_t o = 0; o < taps.positions; ++o) {
    double sum = 0.0;
    for (std::int64_t t = taps.first[o]; t < taps.first[o + 1]; ++t)
      sum += taps.weight[t] * static_cast<double>(from[taps.index[t]]);
    to[o] = sum;
  }
}

template <class T>
void along(const TapTable& taps, std::int64_t inner, const std::byte* from, double* to) {
  const T* x = reinterpret_cast<const T*>(from);
  if (inner == 1) return along_line(taps, x, to);
  for (std::int64_t o = 0; o < taps.positions; ++o, to += inner) {
    double* __restrict sums = to;
    for (std::int64_t i = 0; i < inner; ++i) sums[i] = 0.0;
    for (std::int64_t t = taps.first[o]; t < taps.first[o + 1]; ++t) {
      const T* __restrict row = x + taps.index[t] * inner;
      const double weight = taps.weight[t];
      for (std::int64_t i = 0; i < inner; ++i) sums[i] += weight * static_cast<double>(row[i]);
    }
  }
}

constexpr WeightedFunctions weighted_functions() {
  return {.along_f32 = along<float>,
          .along_f64 = along<double>,
          .along_s8 = along<std::int8_t>,
          .along_u8 = along<std::uint8_t>,
          .add = add_row,
          .store_f32 = store_row};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_RESIZE_GENERIC_H_
