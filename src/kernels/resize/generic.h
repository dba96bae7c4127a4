// The loops of resize's weighted, linear and integer sums in plain C++, which the compiler vectorizes for each
// instruction set. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_RESIZE_GENERIC_H_
#define OCTAVO_KERNELS_RESIZE_GENERIC_H_

#include <cmath>
#include <limits>

#include "kernels/resize/integer_lines.h"
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

// ---- in integers ----

// f(element of the line, elements left and right in x, position)
template <class Function>
void for_each_column(const ColumnTaps& taps, const Function& f) {
  if (taps.channels == 1) {
    for (std::int64_t o = 0; o < taps.positions; ++o) f(o, taps.left[o], taps.right[o], o);
    return;
  }
  for (std::int64_t o = 0; o < taps.positions; ++o) {
    const std::int64_t left = taps.left[o] * taps.channels, right = taps.right[o] * taps.channels;
    for (std::int64_t c = 0; c < taps.channels; ++c) f(o * taps.channels + c, left + c, right + c, o);
  }
}

template <class T>
void spread_whole(const ColumnTaps& taps, const std::byte* from, std::int32_t one, std::int32_t shift,
                  std::int32_t* __restrict to) {
  const T* __restrict x = reinterpret_cast<const T*>(from);
  const std::int32_t* __restrict weight = taps.whole_weight;
  for_each_column(taps, [&](std::int64_t i, std::int64_t left, std::int64_t right, std::int64_t o) {
    to[i] = (x[left] - shift) * (one - weight[o]) + (x[right] - shift) * weight[o];
  });
}

template <class T>
void spread_real(const ColumnTaps& taps, const std::byte* from, std::int32_t shift, float* __restrict to) {
  const T* __restrict x = reinterpret_cast<const T*>(from);
  const std::int64_t n = taps.positions * taps.channels;
  for_each_column(taps, [&](std::int64_t i, std::int64_t left, std::int64_t right, std::int64_t) {
    to[i] = static_cast<float>(x[left] - shift);
    to[n + i] = static_cast<float>(x[right] - shift);
  });
}

template <class T>
T bounded(std::int32_t value) {
  constexpr std::int32_t lowest = std::numeric_limits<T>::lowest(), highest = std::numeric_limits<T>::max();
  return static_cast<T>(value < lowest ? lowest : (value > highest ? highest : value));
}

template <class T, int bits>
void join_whole_of(const LinesBetween& lines, std::int64_t n, T* __restrict y) {
  constexpr std::int32_t half = 1 << (2 * bits - 1);
  const auto* __restrict above = static_cast<const std::int32_t*>(lines.above);
  const auto* __restrict below = static_cast<const std::int32_t*>(lines.below);
  const std::int32_t down = lines.whole_weight, up = (1 << bits) - down, shift = lines.shift;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t sum = above[i] * up + below[i] * down;
    if constexpr (bits == 11) {
      y[i] = bounded<T>(((sum + half) >> (2 * bits)) + shift);
    } else {
      const std::int32_t raised = sum > 0 ? sum + half : sum - half;
      y[i] = bounded<T>(((raised + ((raised >> 31) & (2 * half - 1))) >> (2 * bits)) + shift);  // truncated
    }
  }
}

template <class T>
void join_whole(const LinesBetween& lines, std::int64_t n, std::byte* y) {
  if (lines.rounding == ResizeRounding::eleven_bits) join_whole_of<T, 11>(lines, n, reinterpret_cast<T*>(y));
  else join_whole_of<T, 10>(lines, n, reinterpret_cast<T*>(y));
}

template <class T>
void join_real(const ColumnTaps& taps, const LinesBetween& lines, std::byte* to) {
  T* __restrict y = reinterpret_cast<T*>(to);
  const std::int64_t n = taps.positions * taps.channels;
  const auto* __restrict above = static_cast<const float*>(lines.above);
  const auto* __restrict below = static_cast<const float*>(lines.below);
  const float* __restrict weight = taps.real_weight;
  const float wy = lines.real_weight, ry = 1.0f - wy;
  for_each_column(taps, [&](std::int64_t i, std::int64_t, std::int64_t, std::int64_t o) {
    const float wx = weight[o], rx = 1.0f - wx;
    const float sum = above[i] * ry * rx + below[i] * wy * rx + above[n + i] * ry * wx + below[n + i] * wy * wx;
    y[i] = bounded<T>(static_cast<std::int32_t>(sum + 0.5f) + lines.shift);
  });
}

template <class T>
constexpr IntegerLineFunctions::OfType integer_lines_of() {
  return {spread_whole<T>, spread_real<T>, join_whole<T>, join_real<T>};
}
constexpr IntegerLineFunctions integer_line_functions() {
  return {integer_lines_of<std::uint8_t>(), integer_lines_of<std::int8_t>()};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_RESIZE_GENERIC_H_
