// The loops of reduce in f32 over any Simd. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_LINES_REDUCE_GENERIC_H_
#define OCTAVO_KERNELS_LINES_REDUCE_GENERIC_H_

#include "base/elementary.h"
#include "base/partial_sums.h"
#include "kernels/lines/functions.h"

namespace octavo {
namespace {

// Vectors that have the partial sums.
template <class S>
constexpr int kVectors = kPartialSums / S::kLanes;

// The first `count` lanes where there are not more.
template <class S>
typename S::F32 load_lanes(const float* p, std::int64_t count, float fill) {
  return count >= S::kLanes ? S::load(p) : S::load_first(p, count, fill);
}
template <class S>
void store_lanes(float* p, typename S::F32 x, std::int64_t count) {
  if (count >= S::kLanes) S::store(p, x);
  else S::store_first(p, x, count);
}

// f(part, i, count) for each vector of n elements: elements i to i + count - 1, kLanes at most, belong to the partial
// sums of vector `part`.
template <class S, class F>
void for_parts(std::int64_t n, const F& f) {
  std::int64_t i = 0;
  for (; i + kPartialSums <= n; i += kPartialSums) {
    for (int part = 0; part < kVectors<S>; ++part) f(part, i + part * S::kLanes, S::kLanes);
  }
  for (int part = 0; part < kVectors<S>; ++part) {
    const std::int64_t first = i + part * S::kLanes, left = n - first;
    if (left > 0) f(part, first, left < S::kLanes ? left : S::kLanes);
  }
}

// Sums in f64: products of two f32 are exact there, and nothing overflows.
template <class S>
struct InF64 {
  using Part = double;
  using State = typename S::F64;
  static State set(double x) { return S::set_f64(x); }
  static void store(Part* p, State x) { S::store_f64(p, x); }
};
template <class S>
struct InF32 {
  using Part = float;
  using State = typename S::F32;
  static State set(float x) { return S::set(x); }
  static void store(Part* p, State x) { S::store(p, x); }
};

// A kind: where its state starts, what an element does to it, how two states join. `start` as an element does nothing.
template <ReduceKind kind>
struct Fold {
  template <class S>
  using In = InF64<S>;
  static constexpr double start = kind == ReduceKind::prod ? 1.0 : 0.0;
  // As an element it adds nothing.
  static constexpr float fill = kind == ReduceKind::prod          ? 1.0f
                                : kind == ReduceKind::log_sum_exp ? -__builtin_inff()
                                                                  : 0.0f;
  template <class S>
  static constexpr typename S::F64 add(typename S::F64 state, typename S::F32 x, typename S::F32 largest) {
    if constexpr (kind == ReduceKind::prod) return S::mul_f64(state, S::widen(x));
    if constexpr (kind == ReduceKind::l1) return S::add_f64(state, S::widen(absolute<S>(x)));
    if constexpr (kind == ReduceKind::log_sum_exp)
      return S::add_f64(state, S::widen(exp_weight_f32<S>(S::sub(x, largest))));
    const auto wide = S::widen(x);
    if constexpr (kind == ReduceKind::l2 || kind == ReduceKind::sum_square)
      return S::add_f64(state, S::mul_f64(wide, wide));
    return S::add_f64(state, wide);
  }
  static constexpr double join(double a, double b) { return kind == ReduceKind::prod ? a * b : a + b; }
};

// NaN stays; the earlier one of equals.
template <>
struct Fold<ReduceKind::max> {
  template <class S>
  using In = InF32<S>;
  static constexpr float start = -__builtin_inff(), fill = start;
  template <class S>
  static constexpr typename S::F32 add(typename S::F32 state, typename S::F32 x, typename S::F32) {
    return S::select(S::equal(x, x), S::max(x, state), x);
  }
  static constexpr float join(float a, float b) { return b != b || b > a ? b : a; }
};
template <>
struct Fold<ReduceKind::min> {
  template <class S>
  using In = InF32<S>;
  static constexpr float start = __builtin_inff(), fill = start;
  template <class S>
  static constexpr typename S::F32 add(typename S::F32 state, typename S::F32 x, typename S::F32) {
    return S::select(S::equal(x, x), S::min(x, state), x);
  }
  static constexpr float join(float a, float b) { return b != b || b < a ? b : a; }
};

// What comes after the join.
template <ReduceKind kind, class Part>
constexpr float finished(Part total, float largest, std::int64_t n) {
  if (kind == ReduceKind::mean) return static_cast<float>(total / static_cast<Part>(n));
  if (kind == ReduceKind::l2) return static_cast<float>(__builtin_sqrt(static_cast<double>(total)));
  const auto rounded = static_cast<float>(total);
  if (kind == ReduceKind::log_sum) return log_f32<Lane>(rounded);
  if (kind != ReduceKind::log_sum_exp) return rounded;
  return __builtin_isinf(largest) ? largest : log_f32<Lane>(rounded) + largest;
}

template <class S, ReduceKind kind>
auto reduced_line(const float* x, std::int64_t n, float largest) {
  using In = typename Fold<kind>::template In<S>;
  typename In::State states[kVectors<S>];
  for (auto& state : states) state = In::set(Fold<kind>::start);
  for_parts<S>(n, [&](int part, std::int64_t i, std::int64_t count) {
    states[part] =
        Fold<kind>::template add<S>(states[part], load_lanes<S>(x + i, count, Fold<kind>::fill), S::set(largest));
  });
  typename In::Part parts[kPartialSums];
  for (int part = 0; part < kVectors<S>; ++part) In::store(parts + part * S::kLanes, states[part]);
  return joined(parts, Fold<kind>::join);
}

template <class S, ReduceKind kind>
void reduce_lines(const Lines& l) {
  for (std::int64_t line = 0; line < l.lines; ++line) {
    const float* x = l.x + line * l.n;
    float largest = 0.0f;
    if (kind == ReduceKind::log_sum_exp) largest = reduced_line<S, ReduceKind::max>(x, l.n, 0.0f);
    l.y[line] = finished<kind>(reduced_line<S, kind>(x, l.n, largest), largest, l.n);
  }
}

// The totals of up to kBlock * kLanes lines next to each other. Partial sum after partial sum, each in registers.
template <class S, ReduceKind kind, int kBlock, class Part>
void reduced_columns(const Columns& c, const float* x, std::int64_t width, const typename S::F32 (&largest)[kBlock],
                     Part* totals) {
  using In = typename Fold<kind>::template In<S>;
  constexpr int kWidth = kBlock * S::kLanes;
  Part parts[kPartialSums][kWidth];
  int used = 1;  // of the tree: what is beyond joins nothing
  while (used < kPartialSums && used < c.n) used *= 2;
  for (int part = 0; part < used; ++part) {
    typename In::State states[kBlock];
    for (auto& state : states) state = In::set(Fold<kind>::start);
    for (std::int64_t i = part; i < c.n; i += kPartialSums) {
      for (int v = 0; v < kBlock; ++v) {
        const std::int64_t left = width - v * S::kLanes;
        if (left <= 0) break;
        const auto value = load_lanes<S>(x + i * c.stride + v * S::kLanes, left, Fold<kind>::fill);
        states[v] = Fold<kind>::template add<S>(states[v], value, largest[v]);
      }
    }
    for (int v = 0; v < kBlock; ++v) In::store(parts[part] + v * S::kLanes, states[v]);
  }
  for (int half = used / 2; half > 0; half /= 2) {
    for (int part = 0; part < half; ++part) {
      for (int j = 0; j < kWidth; ++j) parts[part][j] = Fold<kind>::join(parts[part][j], parts[part + half][j]);
    }
  }
  for (int j = 0; j < kWidth; ++j) totals[j] = parts[0][j];
}

// y = finished totals; the logarithms as vectors.
template <class S, ReduceKind kind, int kWidth, class Part>
void finish_columns(const Part (&totals)[kWidth], const float (&largest)[kWidth], std::int64_t n, float (&y)[kWidth]) {
  if constexpr (kind == ReduceKind::log_sum || kind == ReduceKind::log_sum_exp) {
    for (int j = 0; j < kWidth; ++j) y[j] = static_cast<float>(totals[j]);
    for (int j = 0; j < kWidth; j += S::kLanes) {
      const auto logarithm = log_f32<S>(S::load(y + j)), offset = S::load(largest + j);
      const auto is_finite = S::less(absolute<S>(offset), S::set(__builtin_inff()));
      const bool is_plain = kind == ReduceKind::log_sum;
      S::store(y + j, is_plain ? logarithm : S::select(is_finite, S::add(logarithm, offset), offset));
    }
  } else {
    for (int j = 0; j < kWidth; ++j) y[j] = finished<kind>(totals[j], 0.0f, n);
  }
}

template <class S, ReduceKind kind>
void reduce_columns(const Columns& c) {
  constexpr int kBlock = 4, kWidth = kBlock * S::kLanes;
  using F32 = typename S::F32;
  for (std::int64_t first = 0; first < c.width; first += kWidth) {
    const std::int64_t width = c.width - first < kWidth ? c.width - first : kWidth;
    F32 largest[kBlock];
    for (F32& one : largest) one = S::set(0.0f);
    float largest_of[kWidth] = {};
    if constexpr (kind == ReduceKind::log_sum_exp) {
      reduced_columns<S, ReduceKind::max, kBlock>(c, c.x + first, width, largest, largest_of);
      for (int v = 0; v < kBlock; ++v) largest[v] = S::load(largest_of + v * S::kLanes);
    }
    typename Fold<kind>::template In<S>::Part totals[kWidth];
    reduced_columns<S, kind, kBlock>(c, c.x + first, width, largest, totals);
    float y[kWidth];
    finish_columns<S, kind>(totals, largest_of, c.n, y);
    for (int j = 0; j < width; ++j) c.y[first + j] = y[j];
  }
}

template <class S, int k = 0>
constexpr void add_reductions(LineFunctions& functions) {
  if constexpr (k < count_of(ReduceKind{})) {
    constexpr auto kind = static_cast<ReduceKind>(k);
    functions.reduce[k] = {.lines = &reduce_lines<S, kind>, .columns = &reduce_columns<S, kind>};
    add_reductions<S, k + 1>(functions);
  }
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_LINES_REDUCE_GENERIC_H_
