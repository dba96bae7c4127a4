// Tiles of fused_conv where an instruction multiplies by one lane of a register (S::fma_by): four numbers of a row are
// loaded at once. Internal linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_FLOAT_LANE_CHAINS_H_
#define OCTAVO_KERNELS_FLOAT_LANE_CHAINS_H_

#include "kernels/float/sums.h"
#include "kernels/simd/unrolled.h"

namespace octavo {
namespace {

// The sums of a tile in registers: 6 * 2 * 2 of them, 6 of rows, 2 of w. In arrays before and after, so that what
// begins and ends them is there once for all tiles.
template <class S, int kRows, int kVectors>
struct LaneChains {
  typename S::F32 sum[kRows][kVectors];
  const float* w;

  static void run(const ChainTile& t, float* sums) {
    LaneChains tile;
    tile.w = t.w;
    for_sums([&](auto p, auto v) __attribute__((always_inline)) { tile.sum[p][v] = S::load(sums + place(p, v)); });
    const float* const* a = t.a;
    for (std::int64_t tap = 0; tap < t.taps; ++tap, a += kRows) {
      const float* row[kRows];
      unrolled<kRows>([&](auto p) __attribute__((always_inline)) { row[p] = a[p] + t.first; });
      tile.add_tap(row, t.depth);
    }
    for_sums([&](auto p, auto v) __attribute__((always_inline)) { S::store(sums + place(p, v), tile.sum[p][v]); });
  }

 private:
  static constexpr int place(int p, int v) { return (p * kVectors + v) * S::kLanes; }
  template <class F>
  static inline __attribute__((always_inline)) void for_sums(const F& f) {
    unrolled<kRows>([&](auto p) __attribute__((always_inline)) {
      unrolled<kVectors>([&](auto v) __attribute__((always_inline)) { f(p, v); });
    });
  }
  inline __attribute__((always_inline)) void add_tap(const float* const (&row)[kRows], std::int64_t depth) {
    std::int64_t k = 0;
    for (; k + 4 <= depth; k += 4) {
      typename S::Four x[kRows];
      unrolled<kRows>([&](auto p) __attribute__((always_inline)) { x[p] = S::load_four(row[p] + k); });
      unrolled<4>([&](auto i) __attribute__((always_inline)) { add_link<i>(x); });
    }
    for (; k < depth; ++k) {
      typename S::Four x[kRows];
      unrolled<kRows>([&](auto p) __attribute__((always_inline)) { x[p] = S::set_four(row[p][k]); });
      add_link<0>(x);
    }
  }
  template <int i>
  inline __attribute__((always_inline)) void add_link(const typename S::Four (&x)[kRows]) {
    unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
      const typename S::F32 columns = S::load(w + v * S::kLanes);
      unrolled<kRows>([&](auto p) __attribute__((always_inline)) {
        sum[p][v] = S::template fma_by<i>(x[p], columns, sum[p][v]);
      });
    });
    w += kVectors * S::kLanes;
  }
};

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_FLOAT_LANE_CHAINS_H_
