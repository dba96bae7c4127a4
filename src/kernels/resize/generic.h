// The loops of resize's weighted and linear sums in plain C++, which the compiler vectorizes for each instruction set.
// Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_RESIZE_GENERIC_H_
#define OCTAVO_KERNELS_RESIZE_GENERIC_H_

#include <cmath>

#include "kernels/resize/linear.h"
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

// ---- linear ----

void store_sum(float* y, float sum) { *y = sum; }
// Weights are not negative and add up to about 1, so that only the ends need care.
void store_sum(std::uint8_t* y, float sum) {
  const float cut = std::trunc(sum);
  *y = static_cast<std::uint8_t>(static_cast<std::int32_t>(cut > 255.0f ? 255.0f : cut));
}
void store_sum(std::int8_t* y, float sum) {
  const float cut = std::trunc(sum), high = cut > 127.0f ? 127.0f : cut;
  *y = static_cast<std::int8_t>(static_cast<std::int32_t>(high < -128.0f ? -128.0f : high));
}

template <class T>
void spread_line(const LineTaps& taps, const std::byte* from, float* __restrict to) {
  const T* __restrict x = reinterpret_cast<const T*>(from);
  const std::int32_t* __restrict first = taps.first;
  const std::int32_t* __restrict second = taps.second;
  const std::int64_t n = taps.positions;
  for (std::int64_t o = 0; o < n; ++o) to[o] = static_cast<float>(x[first[o]]);
  for (std::int64_t o = 0; o < n; ++o) to[n + o] = static_cast<float>(x[second[o]]);
}

// What is added where a position lies on an index is left out: 0 times infinity is no number.
template <class T, bool has_second>
void join(const LineTaps& taps, const LinePair& pair, T* __restrict y) {
  const std::int64_t n = taps.positions;
  const float* __restrict a = static_cast<const float*>(pair.line[0]);
  const float* __restrict b = has_second ? static_cast<const float*>(pair.line[1]) : a;
  const float* __restrict w0 = taps.w0;
  const float* __restrict w1 = taps.w1;
  const std::int32_t* __restrict two = taps.two;
  for (std::int64_t o = 0; o < n; ++o) {
    float sum = 0.0f + w0[o] * pair.weight[0] * a[o];
    float both = sum + w1[o] * pair.weight[0] * a[n + o];
    sum = two[o] != 0 ? both : sum;
    if (has_second) {
      sum += w0[o] * pair.weight[1] * b[o];
      both = sum + w1[o] * pair.weight[1] * b[n + o];
      sum = two[o] != 0 ? both : sum;
    }
    store_sum(y + o, sum);
  }
}

template <class T>
void join_lines(const LineTaps& taps, const LinePair& pair, std::byte* y) {
  pair.has_second ? join<T, true>(taps, pair, reinterpret_cast<T*>(y))
                  : join<T, false>(taps, pair, reinterpret_cast<T*>(y));
}

template <class T>
struct Term {
  const T* x;
  float weight;
};

// count terms of a position, in their order.
template <int count, class T>
void sum_run(const Term<T> (&terms)[4], std::int64_t inner, T* __restrict y) {
  for (std::int64_t i = 0; i < inner; ++i) {
    float sum = 0.0f;
    for (int t = 0; t < count; ++t) sum += terms[t].weight * static_cast<float>(terms[t].x[i]);
    store_sum(y + i, sum);
  }
}

template <class T>
void join_runs(const LineTaps& taps, std::int64_t inner, const LinePair& pair, std::byte* to) {
  T* y = reinterpret_cast<T*>(to);
  for (std::int64_t o = 0; o < taps.positions; ++o, y += inner) {
    Term<T> terms[4] = {};
    int count = 0;
    for (int line = 0; line < (pair.has_second ? 2 : 1); ++line) {
      const T* x = static_cast<const T*>(pair.line[line]);
      terms[count++] = {x + taps.first[o] * inner, taps.w0[o] * pair.weight[line]};
      if (taps.two[o] != 0) terms[count++] = {x + taps.second[o] * inner, taps.w1[o] * pair.weight[line]};
    }
    if (count == 1) sum_run<1>(terms, inner, y);
    else if (count == 2) sum_run<2>(terms, inner, y);
    else sum_run<4>(terms, inner, y);
  }
}

template <class T>
constexpr LinearFunctions::OfType linear_of() {
  return {spread_line<T>, join_lines<T>, join_runs<T>};
}
constexpr LinearFunctions linear_functions() {
  return {linear_of<float>(), linear_of<std::uint8_t>(), linear_of<std::int8_t>()};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_RESIZE_GENERIC_H_
