// The loops of lines/ over any Simd: softmax, layer_norm, lrn; reduce is in reduce_generic.h. Internal linkage only.
// Part of kernels/.
#ifndef OCTAVO_KERNELS_LINES_GENERIC_H_
#define OCTAVO_KERNELS_LINES_GENERIC_H_

#include "base/elementary_pow.h"
#include "kernels/lines/byte_softmax.h"
#include "kernels/lines/reduce_generic.h"

namespace octavo {
namespace {

// The largest of n elements, NaN left out; never -0, whose place among zeros would matter.
template <class S>
float largest_of(const float* x, std::int64_t n) {
  constexpr float kLowest = -__builtin_inff();
  typename S::F32 largest[kVectors<S>];
  for (auto& one : largest) one = S::set(kLowest);
  for_parts<S>(n, [&](int part, std::int64_t i, std::int64_t count) {
    largest[part] = S::max(load_lanes<S>(x + i, count, kLowest), largest[part]);
  });
  for (int part = 1; part < kVectors<S>; ++part) largest[0] = S::max(largest[part], largest[0]);
  return S::highest(largest[0]) + 0.0f;
}

enum class Softmax { plain, logarithm };

template <class S, Softmax form>
void softmax_lines(const Lines& l) {
  constexpr float kLowest = -__builtin_inff();
  for (std::int64_t line = 0; line < l.lines; ++line) {
    const float* x = l.x + line * l.n;
    float* y = l.y + line * l.n;
    const auto largest = S::set(largest_of<S>(x, l.n));
    typename S::F64 totals[kVectors<S>];
    for (auto& total : totals) total = S::set_f64(0.0);
    for (std::int64_t first = 0; first < l.n; first += kShortSum) {
      typename S::F32 sums[kVectors<S>];
      for (auto& sum : sums) sum = S::set(0.0f);
      for_parts<S>(l.n - first < kShortSum ? l.n - first : kShortSum,
                   [&](int part, std::int64_t i, std::int64_t count) {
                     const auto e = exp_weight_f32<S>(S::sub(load_lanes<S>(x + first + i, count, kLowest), largest));
                     if (form == Softmax::plain) store_lanes<S>(y + first + i, e, count);
                     // Lanes beyond the end add exp(-infinity), unless the line is NaN anyway.
                     sums[part] = S::add(sums[part], e);
                   });
      for (int part = 0; part < kVectors<S>; ++part) totals[part] = S::add_f64(totals[part], S::widen(sums[part]));
    }
    double parts[kPartialSums];
    for (int part = 0; part < kVectors<S>; ++part) S::store_f64(parts + part * S::kLanes, totals[part]);
    const auto sum = static_cast<float>(joined(parts));
    if (form == Softmax::plain) {
      const auto factor = S::set(1.0f / sum);
      for_parts<S>(l.n, [&](int, std::int64_t i, std::int64_t count) {
        store_lanes<S>(y + i, S::mul(load_lanes<S>(y + i, count, 0.0f), factor), count);
      });
    } else {
      const auto log_sum = S::set(log_f32<Lane>(sum));
      for_parts<S>(l.n, [&](int, std::int64_t i, std::int64_t count) {
        store_lanes<S>(y + i, S::sub(S::sub(load_lanes<S>(x + i, count, 0.0f), largest), log_sum), count);
      });
    }
  }
}

template <class S, Softmax form>
void softmax_column(const Columns& c, std::int64_t first) {
  using F32 = typename S::F32;
  using F64 = typename S::F64;
  const std::int64_t count = c.width - first < S::kLanes ? c.width - first : S::kLanes;
  const float* x = c.x + first;
  float* y = c.y + first;
  F32 largest = S::set(-__builtin_inff());
  for (std::int64_t i = 0; i < c.n; ++i) largest = S::max(load_lanes<S>(x + i * c.stride, count, 0.0f), largest);
  largest = S::add(largest, S::set(0.0f));
  F64 totals[kPartialSums];
  for (F64& total : totals) total = S::set_f64(0.0);
  for (std::int64_t block = 0; block < c.n; block += kShortSum) {
    const std::int64_t end = c.n - block < kShortSum ? c.n : block + kShortSum;
    F32 sums[kPartialSums];
    for (F32& sum : sums) sum = S::set(0.0f);
    for (std::int64_t i = block; i < end; ++i) {
      const F32 e = exp_weight_f32<S>(S::sub(load_lanes<S>(x + i * c.stride, count, 0.0f), largest));
      if (form == Softmax::plain) store_lanes<S>(y + i * c.stride, e, count);
      F32& sum = sums[i % kPartialSums];
      sum = S::add(sum, e);
    }
    for (int j = 0; j < kPartialSums; ++j) totals[j] = S::add_f64(totals[j], S::widen(sums[j]));
  }
  const F32 sum = S::narrow(joined(totals, [](F64 a, F64 b) { return S::add_f64(a, b); }));
  if (form == Softmax::plain) {
    const F32 factor = S::div(S::set(1.0f), sum);
    for (std::int64_t i = 0; i < c.n; ++i)
      store_lanes<S>(y + i * c.stride, S::mul(load_lanes<S>(y + i * c.stride, count, 0.0f), factor), count);
  } else {
    const F32 log_sum = log_f32<S>(sum);
    for (std::int64_t i = 0; i < c.n; ++i) {
      const F32 shifted = S::sub(load_lanes<S>(x + i * c.stride, count, 0.0f), largest);
      store_lanes<S>(y + i * c.stride, S::sub(shifted, log_sum), count);
    }
  }
}

template <class S, Softmax form>
void softmax_columns(const Columns& columns) {
  for (std::int64_t first = 0; first < columns.width; first += S::kLanes) softmax_column<S, form>(columns, first);
}

// Sums in f64 over what `term` makes of each vector; 0 where `fill` is.
template <class S, class Term>
double sum_of(const float* x, std::int64_t n, float fill, const Term& term) {
  typename S::F64 sums[kVectors<S>];
  for (auto& sum : sums) sum = S::set_f64(0.0);
  for_parts<S>(n, [&](int part, std::int64_t i, std::int64_t count) {
    sums[part] = S::add_f64(sums[part], term(load_lanes<S>(x + i, count, fill)));
  });
  double parts[kPartialSums];
  for (int part = 0; part < kVectors<S>; ++part) S::store_f64(parts + part * S::kLanes, sums[part]);
  return joined(parts);
}

template <class S>
void layer_norm_lines(const LayerNormLines& l) {
  using F32 = typename S::F32;
  const std::int64_t n = l.lines.n;
  for (std::int64_t line = 0; line < l.lines.lines; ++line) {
    const float* x = l.lines.x + line * n;
    float* y = l.lines.y + line * n;
    const double total = sum_of<S>(x, n, 0.0f, [](F32 value) { return S::widen(value); });
    const auto mean = static_cast<float>(total / static_cast<double>(n));
    const F32 means = S::set(mean);
    const double squares = sum_of<S>(x, n, mean, [means](F32 value) {
      const auto centred = S::widen(S::sub(value, means));
      return S::mul_f64(centred, centred);
    });
    const F32 factor = S::set(static_cast<float>(1.0 / __builtin_sqrt(squares / static_cast<double>(n) + l.epsilon)));
    for_parts<S>(n, [&](int, std::int64_t i, std::int64_t count) {
      const F32 normal = S::mul(S::sub(load_lanes<S>(x + i, count, 0.0f), means), factor);
      const F32 scale = load_lanes<S>(l.scale + i, count, 0.0f);
      const F32 value =
          l.bias == nullptr ? S::mul(normal, scale) : S::fma(normal, scale, load_lanes<S>(l.bias + i, count, 0.0f));
      store_lanes<S>(y + i, value, count);
    });
  }
}

template <class S>
typename S::F32 lrn_value(const LrnWindow& w, typename S::F32 x, typename S::F64 squares) {
  const auto base = S::add_f64(S::set_f64(w.bias), S::mul_f64(S::set_f64(w.factor), squares));
  return S::div(x, pow_f32<S>(S::narrow(base), S::set(w.beta)));
}
template <class S>
typename S::F64 squared(typename S::F32 x) {
  const auto wide = S::widen(x);
  return S::mul_f64(wide, wide);
}

template <class S>
void lrn_lines(const LrnLines& l) {
  const LrnWindow& w = l.window;
  const std::int64_t n = l.lines.n;
  float* line = l.padded + w.before;
  for (std::int64_t i = 0; i < w.before; ++i) l.padded[i] = 0.0f;
  for (std::int64_t i = 0; i < w.after; ++i) line[n + i] = 0.0f;
  for (std::int64_t row = 0; row < l.lines.lines; ++row) {
    const float* x = l.lines.x + row * n;
    for (std::int64_t i = 0; i < n; ++i) line[i] = x[i];
    for (std::int64_t i = 0; i < n; i += S::kLanes) {
      auto squares = S::set_f64(0.0);
      for (std::int64_t k = -w.before; k <= w.after; ++k)
        squares = S::add_f64(squares, squared<S>(load_lanes<S>(line + i + k, n - i, 0.0f)));
      store_lanes<S>(l.lines.y + row * n + i, lrn_value<S>(w, load_lanes<S>(x + i, n - i, 0.0f), squares), n - i);
    }
  }
}

template <class S>
void lrn_columns(const LrnColumns& l) {
  const auto& [x, y, n, stride, width] = l.columns;
  for (std::int64_t c = 0; c < n; ++c) {
    const std::int64_t first = c < l.window.before ? 0 : c - l.window.before;
    const std::int64_t last = n - 1 - c < l.window.after ? n - 1 : c + l.window.after;
    for (std::int64_t j = 0; j < width; j += S::kLanes) {
      auto squares = S::set_f64(0.0);
      for (std::int64_t k = first; k <= last; ++k)
        squares = S::add_f64(squares, squared<S>(load_lanes<S>(x + k * stride + j, width - j, 0.0f)));
      const auto value = lrn_value<S>(l.window, load_lanes<S>(x + c * stride + j, width - j, 0.0f), squares);
      store_lanes<S>(y + c * stride + j, value, width - j);
    }
  }
}

template <class S>
constexpr LineFunctions line_functions() {
  LineFunctions functions{.softmax_lines = &softmax_lines<S, Softmax::plain>,
                          .softmax_columns = &softmax_columns<S, Softmax::plain>,
                          .log_softmax_lines = &softmax_lines<S, Softmax::logarithm>,
                          .log_softmax_columns = &softmax_columns<S, Softmax::logarithm>,
                          .byte_softmax_lines = &byte_softmax_lines<S>,
                          .layer_norm = &layer_norm_lines<S>,
                          .lrn_lines = &lrn_lines<S>,
                          .lrn_columns = &lrn_columns<S>,
                          .reduce = {}};
  add_reductions<S>(functions);
  return functions;
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_LINES_GENERIC_H_
