// One step of a recurrence, once for the reference and for all kernels. Part of ops/. Internal linkage only: per-ISA
// files include this.
#ifndef OCTAVO_OPS_RECURRENCE_CELL_H_
#define OCTAVO_OPS_RECURRENCE_CELL_H_

#include <cstdint>

#include "ops/recurrence/kind.h"
#include "ops/unary/f32.h"

namespace octavo {
namespace {

// f(i) for i in steps of whole vectors; the rest, n - i of them, by rest(i, n - i).
template <class V, class F, class Rest>
void over_lanes(std::int64_t n, const F& f, const Rest& rest) {
  std::int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) f(i);
  if (i < n) rest(i, n - i);
}

// y[i] = f(a[i], b[i], c[i]); y may be any of them.
template <class V, class F>
void combine(const float* a, const float* b, const float* c, float* y, std::int64_t n, const F& f) {
  over_lanes<V>(
      n, [&](std::int64_t i) { V::store(y + i, f(V::load(a + i), V::load(b + i), V::load(c + i))); },
      [&](std::int64_t i, std::int64_t rest) {
        const auto load = [&](const float* p) { return V::load_first(p + i, rest, 0.0f); };
        V::store_first(y + i, f(load(a), load(b), load(c)), rest);
      });
}

// sums[row][j] = from[row][j] + sum over k of h[row][k] * w[k][j], for whole vectors of columns [j, j + vectors).
template <class V, int rows, int vectors>
void sum_block(const CellSums& s, std::int64_t j) {
  typename V::F32 acc[rows][vectors];
  for (int row = 0; row < rows; ++row) {
    for (int v = 0; v < vectors; ++v) acc[row][v] = V::load(s.from[row] + j + v * V::kLanes);
  }
  const float* w = s.w + j;
  for (std::int64_t k = 0; k < s.depth; ++k, w += s.w_stride) {
    typename V::F32 b[vectors];
    for (int v = 0; v < vectors; ++v) b[v] = V::load(w + v * V::kLanes);
    for (int row = 0; row < rows; ++row) {
      const auto a = V::set(s.h[row][k]);
      for (int v = 0; v < vectors; ++v) acc[row][v] = V::fma(a, b[v], acc[row][v]);
    }
  }
  for (int row = 0; row < rows; ++row) {
    for (int v = 0; v < vectors; ++v) V::store(s.sums[row] + j + v * V::kLanes, acc[row][v]);
  }
}

template <class V>
void sum_rest(const CellSums& s, std::int64_t j, std::int64_t n) {
  for (int row = 0; row < s.rows; ++row) {
    auto acc = V::load_first(s.from[row] + j, n, 0.0f);
    for (std::int64_t k = 0; k < s.depth; ++k)
      acc = V::fma(V::set(s.h[row][k]), V::load_first(s.w + k * s.w_stride + j, n, 0.0f), acc);
    V::store_first(s.sums[row] + j, acc, n);
  }
}

template <class V, int rows>
void sum_rows(const CellSums& s) {
  constexpr int kVectors = rows == 1 ? 8 : 2;
  std::int64_t j = 0;
  for (; j + kVectors * V::kLanes <= s.width; j += kVectors * V::kLanes) sum_block<V, rows, kVectors>(s, j);
  over_lanes<V>(
      s.width - j, [&](std::int64_t i) { sum_block<V, rows, 1>(s, j + i); },
      [&](std::int64_t i, std::int64_t n) { sum_rest<V>(s, j + i, n); });
}

template <class V>
void add_products(const CellSums& s) {
  static_assert(kCellRows == 4);
  switch (s.rows) {
    case 1: return sum_rows<V, 1>(s);
    case 2: return sum_rows<V, 2>(s);
    case 3: return sum_rows<V, 3>(s);
    default: return sum_rows<V, 4>(s);
  }
}

// y = f(clipped x), in place.
template <class V>
void activate(const CellFunction& f, float clip, float* x, std::int64_t n) {
  constexpr UnaryLines kFunctions = unary_lines<V>();
  const auto bound = [&](auto a, auto, auto) { return clamped<V>(a, -clip, clip); };
  if (clip < kNoClip) combine<V>(x, x, x, x, n, bound);
  kFunctions.of[static_cast<int>(f.kind)](x, x, n, f.numbers);
}

template <class V>
void finish_lstm(const Cell& cell, float* gates, float* c, float* h) {
  const std::int64_t n = cell.hidden;
  float *i = gates, *o = gates + n, *f = gates + 2 * n, *g = gates + 3 * n;
  const auto product_added = [](auto a, auto b, auto sum) { return V::fma(a, b, sum); };
  const float* p = cell.peepholes;
  if (p != nullptr) combine<V>(p, c, i, i, n, product_added);
  if (p != nullptr) combine<V>(p + 2 * n, c, f, f, n, product_added);
  activate<V>(cell.gate, cell.clip, i, n);
  activate<V>(cell.gate, cell.clip, f, n);
  if (cell.couples_gates) combine<V>(i, i, i, f, n, [](auto a, auto, auto) { return V::sub(V::set(1.0f), a); });
  activate<V>(cell.candidate, cell.clip, g, n);
  combine<V>(i, g, g, g, n, [](auto a, auto b, auto) { return V::mul(a, b); });
  combine<V>(f, c, g, c, n, product_added);
  if (p != nullptr) combine<V>(p + n, c, o, o, n, product_added);
  activate<V>(cell.gate, cell.clip, o, n);
  combine<V>(c, c, c, h, n, [](auto a, auto, auto) { return a; });
  activate<V>(cell.output, kNoClip, h, n);
  combine<V>(o, h, h, h, n, [](auto a, auto b, auto) { return V::mul(a, b); });
}

// h = z * h + (1 - z) * n.
template <class V>
void finish_gru(const float* z, const float* n, const float* before, float* h, std::int64_t hidden) {
  combine<V>(z, n, before, h, hidden, [](auto gate, auto now, auto last) {
    return V::fma(gate, last, V::mul(V::sub(V::set(1.0f), gate), now));
  });
}

template <class V>
void step_gru(const Cell& cell, const CellRows& rows) {
  const std::int64_t n = cell.hidden;
  CellSums sums{.rows = rows.count, .w = cell.w, .w_stride = 3 * n, .depth = n, .width = 2 * n};
  for (int row = 0; row < rows.count; ++row)
    sums.from[row] = rows.x[row], sums.h[row] = rows.h[row], sums.sums[row] = rows.gates[row];
  add_products<V>(sums);
  for (int row = 0; row < rows.count; ++row) activate<V>(cell.gate, cell.clip, rows.gates[row], 2 * n);
  sums.w += 2 * n, sums.width = n;
  for (int row = 0; row < rows.count; ++row) {
    float* const r = rows.gates[row] + n;
    sums.sums[row] = rows.gates[row] + 2 * n;
    sums.from[row] = cell.resets_after_product ? cell.bias : rows.x[row] + 2 * n;
    if (cell.resets_after_product) continue;
    combine<V>(r, rows.h[row], r, r, n, [](auto a, auto b, auto) { return V::mul(a, b); });
    sums.h[row] = r;
  }
  add_products<V>(sums);
  for (int row = 0; row < rows.count; ++row) {
    float *const z = rows.gates[row], *const candidate = z + 2 * n;
    if (cell.resets_after_product)
      combine<V>(z + n, candidate, rows.x[row] + 2 * n, candidate, n,
                 [](auto r, auto product, auto x) { return V::fma(r, product, x); });
    activate<V>(cell.candidate, cell.clip, candidate, n);
    finish_gru<V>(z, candidate, rows.h[row], rows.h_next[row], n);
  }
}

// One step of up to kCellRows sequences.
template <class V>
void step_cell(const Cell& cell, const CellRows& rows) {
  if (cell.kind == RecurrenceKind::gru) return step_gru<V>(cell, rows);
  const std::int64_t width = gates_of(cell.kind) * cell.hidden;
  CellSums sums{.rows = rows.count, .w = cell.w, .w_stride = width, .depth = cell.hidden, .width = width};
  for (int row = 0; row < rows.count; ++row) {
    sums.from[row] = rows.x[row], sums.h[row] = rows.h[row];
    sums.sums[row] = cell.kind == RecurrenceKind::lstm ? rows.gates[row] : rows.h_next[row];
  }
  add_products<V>(sums);
  for (int row = 0; row < rows.count; ++row) {
    if (cell.kind == RecurrenceKind::lstm) finish_lstm<V>(cell, rows.gates[row], rows.c[row], rows.h_next[row]);
    else activate<V>(cell.candidate, cell.clip, rows.h_next[row], cell.hidden);
  }
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_OPS_RECURRENCE_CELL_H_
