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

// Of whole vectors of units [j, j + vectors) of gates [gate, gate + gates).
template <class V, int rows, int gates, int vectors>
void sum_block(const CellSums& s, int gate, std::int64_t j) {
  typename V::F32 acc[rows][gates][vectors];
  for (int row = 0; row < rows; ++row) {
    for (int g = 0; g < gates; ++g) {
      for (int v = 0; v < vectors; ++v) acc[row][g][v] = V::load(s.from[row][gate + g] + j + v * V::kLanes);
    }
  }
  const float* w = s.w + gate * s.gate_stride + j;
  for (std::int64_t k = 0; k < s.depth; ++k, w += s.w_stride) {
    for (int g = 0; g < gates; ++g) {
      for (int v = 0; v < vectors; ++v) {
        const auto b = V::load(w + g * s.gate_stride + v * V::kLanes);
        for (int row = 0; row < rows; ++row) acc[row][g][v] = V::fma(V::set(s.h[row][k]), b, acc[row][g][v]);
      }
    }
  }
  for (int row = 0; row < rows; ++row) {
    for (int g = 0; g < gates; ++g) {
      for (int v = 0; v < vectors; ++v) V::store(s.sums[row][gate + g] + j + v * V::kLanes, acc[row][g][v]);
    }
  }
}

// Of units [j, j + n), fewer than a vector, of all gates.
template <class V>
void sum_rest(const CellSums& s, std::int64_t j, std::int64_t n) {
  for (int row = 0; row < s.rows; ++row) {
    for (int gate = 0; gate < s.gates; ++gate) {
      const float* w = s.w + gate * s.gate_stride + j;
      auto acc = V::load_first(s.from[row][gate] + j, n, 0.0f);
      for (std::int64_t k = 0; k < s.depth; ++k, w += s.w_stride)
        acc = V::fma(V::set(s.h[row][k]), V::load_first(w, n, 0.0f), acc);
      V::store_first(s.sums[row][gate] + j, acc, n);
    }
  }
}

// `gates` of them at a time: enough sums for a processor's multiply-adds to overlap, few enough for its registers.
template <class V, int rows, int gates>
void sum_gates(const CellSums& s) {
  for (int gate = 0; gate + gates <= s.gates; gate += gates) {
    std::int64_t j = 0;
    for (; j + 2 * V::kLanes <= s.units; j += 2 * V::kLanes) sum_block<V, rows, gates, 2>(s, gate, j);
    if (j + V::kLanes <= s.units) sum_block<V, rows, gates, 1>(s, gate, j);
  }
  if (const std::int64_t rest = s.units % V::kLanes; rest > 0) sum_rest<V>(s, s.units - rest, rest);
}

template <class V>
void add_products(const CellSums& s) {
  static_assert(kCellRows == 4 && kMostGates == 4);
  switch (s.rows) {
    case 1: break;
    case 2: return sum_gates<V, 2, 1>(s);
    case 3: return sum_gates<V, 3, 1>(s);
    default: return sum_gates<V, 4, 1>(s);
  }
  switch (s.gates) {
    case 1: return sum_gates<V, 1, 1>(s);
    case 2: return sum_gates<V, 1, 2>(s);
    case 3: return sum_gates<V, 1, 3>(s);
    default: return sum_gates<V, 1, 4>(s);
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
void finish_lstm(const Cell& cell, const CellRows& rows, int row) {
  const std::int64_t n = rows.units;
  float *i = rows.gates + row * kMostGates * n, *o = i + n, *f = i + 2 * n, *g = i + 3 * n;
  float *const c = rows.c[row], *const h = rows.h_next[row];
  const auto product_added = [](auto a, auto b, auto sum) { return V::fma(a, b, sum); };
  const float* p = cell.peepholes == nullptr ? nullptr : cell.peepholes + rows.first;
  if (p != nullptr) combine<V>(p, c, i, i, n, product_added);
  if (p != nullptr) combine<V>(p + 2 * cell.hidden, c, f, f, n, product_added);
  activate<V>(cell.gate, cell.clip, i, n);
  activate<V>(cell.gate, cell.clip, f, n);
  if (cell.couples_gates) combine<V>(i, i, i, f, n, [](auto a, auto, auto) { return V::sub(V::set(1.0f), a); });
  activate<V>(cell.candidate, cell.clip, g, n);
  combine<V>(i, g, g, g, n, [](auto a, auto b, auto) { return V::mul(a, b); });
  combine<V>(f, c, g, c, n, product_added);
  if (p != nullptr) combine<V>(p + cell.hidden, c, o, o, n, product_added);
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

// Sums of the first `gates` gates, each line of which begins with x.
template <class V>
CellSums sums_of(const Cell& cell, const CellRows& rows, int gates) {
  CellSums sums{.rows = rows.count,
                .gates = gates,
                .units = rows.units,
                .depth = cell.hidden,
                .w = rows.w,
                .w_stride = rows.w_stride,
                .gate_stride = rows.gate_stride};
  for (int row = 0; row < rows.count; ++row) {
    sums.h[row] = rows.h[row];
    for (int gate = 0; gate < gates; ++gate) {
      sums.from[row][gate] = rows.x[row] + gate * cell.hidden;
      sums.sums[row][gate] = rows.gates + (row * kMostGates + gate) * rows.units;
    }
  }
  return sums;
}

// The product with r times h, behind the sums of z and r of all units.
template <class V>
void add_reset_products(const Cell& cell, const CellRows& rows) {
  CellSums sums = sums_of<V>(cell, rows, 1);
  sums.w += 2 * rows.gate_stride;
  for (int row = 0; row < rows.count; ++row) {
    float* const r = rows.gates + (row * kMostGates + 1) * rows.units;
    combine<V>(r, rows.h[row], r, r, rows.units, [](auto a, auto b, auto) { return V::mul(a, b); });
    sums.h[row] = r;
    sums.from[row][0] += 2 * cell.hidden;
    sums.sums[row][0] = r + rows.units;
  }
  add_products<V>(sums);
}

template <class V>
void step_gru(const Cell& cell, const CellRows& rows) {
  const std::int64_t n = rows.units;
  CellSums sums = sums_of<V>(cell, rows, cell.resets_after_product ? 3 : 2);
  for (int row = 0; row < rows.count && cell.resets_after_product; ++row) sums.from[row][2] = cell.bias + rows.first;
  add_products<V>(sums);
  for (int row = 0; row < rows.count; ++row)
    activate<V>(cell.gate, cell.clip, rows.gates + row * kMostGates * n, 2 * n);
  if (!cell.resets_after_product) add_reset_products<V>(cell, rows);
  for (int row = 0; row < rows.count; ++row) {
    float *const z = rows.gates + row * kMostGates * n, *const candidate = z + 2 * n;
    if (cell.resets_after_product)
      combine<V>(z + n, candidate, rows.x[row] + 2 * cell.hidden, candidate, n,
                 [](auto r, auto product, auto x) { return V::fma(r, product, x); });
    activate<V>(cell.candidate, cell.clip, candidate, n);
    finish_gru<V>(z, candidate, rows.h[row] + rows.first, rows.h_next[row], n);
  }
}

// One step of some units of up to kCellRows sequences.
template <class V>
void step_cell(const Cell& cell, const CellRows& rows) {
  if (cell.kind == RecurrenceKind::gru) return step_gru<V>(cell, rows);
  const bool is_lstm = cell.kind == RecurrenceKind::lstm;
  CellSums sums = sums_of<V>(cell, rows, is_lstm ? 4 : 1);
  for (int row = 0; row < rows.count && !is_lstm; ++row) sums.sums[row][0] = rows.h_next[row];
  add_products<V>(sums);
  for (int row = 0; row < rows.count; ++row) {
    if (is_lstm) finish_lstm<V>(cell, rows, row);
    else activate<V>(cell.candidate, cell.clip, rows.h_next[row], rows.units);
  }
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_OPS_RECURRENCE_CELL_H_
