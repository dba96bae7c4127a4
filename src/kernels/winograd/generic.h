// The transforms of winograd/ once, over a vector type. Included by per-ISA files only; internal linkage. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_WINOGRAD_GENERIC_H_
#define OCTAVO_KERNELS_WINOGRAD_GENERIC_H_

#include "kernels/winograd/transforms.h"

namespace octavo {
namespace {

// W: a vector type (`V`) with lanes of 16 or 32 bits: add, sub, twice, times4.

// t = B^T d.
template <class W>
inline __attribute__((always_inline)) void input_line(const typename W::V (&d)[6], typename W::V (&t)[6]) {
  const auto a = W::sub(d[4], W::times4(d[2])), b = W::sub(d[3], W::times4(d[1]));
  const auto c = W::sub(d[4], d[2]), e = W::twice(W::sub(d[3], d[1]));
  t[0] = W::sub(c, W::times4(W::sub(d[2], d[0])));
  t[1] = W::add(a, b);
  t[2] = W::sub(a, b);
  t[3] = W::add(c, e);
  t[4] = W::sub(c, e);
  t[5] = W::sub(W::sub(d[5], d[3]), W::twice(e));
}

// u = G' w.
template <class W>
inline __attribute__((always_inline)) void weights_line(const typename W::V (&w)[3], typename W::V (&u)[6]) {
  const auto outer = W::times4(W::add(w[0], w[2])), inner = W::times4(w[1]);
  const auto even = W::add(w[0], W::times4(w[2])), odd = W::twice(w[1]);
  u[0] = W::twice(W::add(w[0], W::twice(w[0])));
  u[1] = W::sub(W::zero(), W::add(outer, inner));
  u[2] = W::sub(inner, outer);
  u[3] = W::add(even, odd);
  u[4] = W::sub(even, odd);
  u[5] = W::twice(W::add(w[2], W::twice(w[2])));
}

// y = A'^T m.
template <class W>
inline __attribute__((always_inline)) void sums_line(const typename W::V (&m)[6], typename W::V (&y)[4]) {
  const auto s = W::add(m[1], m[2]), d = W::sub(m[1], m[2]);
  const auto p = W::add(m[3], m[4]), q = W::twice(W::sub(m[3], m[4]));
  y[0] = W::add(m[0], W::add(s, p));
  y[1] = W::add(d, q);
  y[2] = W::add(s, W::times4(p));
  y[3] = W::add(d, W::times4(W::add(q, m[5])));
}

template <class W>
void transform_input(const WinogradInput& tile) {
  using V = typename W::V;
  for (std::int64_t c = 0; c < tile.channels; c += W::kLanes) {
    V t[6][6];  // [column][row]
    for (int column = 0; column < 6; ++column) {
      V d[6];
      for (int row = 0; row < 6; ++row)
        d[row] = W::widen_u8(tile.x + row * tile.row_bytes + column * tile.pixel_bytes + c);
      input_line<W>(d, t[column]);
    }
    for (int row = 0; row < 6; ++row) {
      const V d[6] = {t[0][row], t[1][row], t[2][row], t[3][row], t[4][row], t[5][row]};
      V v[6];
      input_line<W>(d, v);
      for (int column = 0; column < 6; ++column)
        W::store(tile.v + (row * 6 + column) * tile.position_stride + c, v[column]);
    }
  }
}

template <class W>
void transform_weights(const WinogradWeights& block) {
  using V = typename W::V;
  for (std::int64_t i = 0; i < block.vectors; ++i) {
    const std::int8_t* from = block.w + i * 9 * W::kLanes;
    V t[3][6];  // [column][row]
    for (int column = 0; column < 3; ++column) {
      const V w[3] = {W::widen_s8(from + column * W::kLanes), W::widen_s8(from + (3 + column) * W::kLanes),
                      W::widen_s8(from + (6 + column) * W::kLanes)};
      weights_line<W>(w, t[column]);
    }
    for (int row = 0; row < 6; ++row) {
      const V w[3] = {t[0][row], t[1][row], t[2][row]};
      V u[6];
      weights_line<W>(w, u);
      for (int column = 0; column < 6; ++column)
        W::store(block.u + (row * 6 + column) * block.position_stride + i * W::kLanes, u[column]);
    }
  }
}

// D: a vector of s32.
template <class D>
void transform_sums(const WinogradSums& tile) {
  using V = typename D::V;
  for (std::int64_t i = 0; i < tile.vectors * D::kLanes; i += D::kLanes) {
    V t[6][4];  // [column][row]
    for (int column = 0; column < 6; ++column) {
      V m[6];
      for (int row = 0; row < 6; ++row) m[row] = D::load(tile.m + (row * 6 + column) * tile.position_stride + i);
      sums_line<D>(m, t[column]);
    }
    for (int row = 0; row < 4; ++row) {
      const V m[6] = {t[0][row], t[1][row], t[2][row], t[3][row], t[4][row], t[5][row]};
      V y[4];
      sums_line<D>(m, y);
      for (int column = 0; column < 4; ++column) {
        std::int32_t* to = tile.y + row * tile.row_stride + column * tile.pixel_stride + i;
        const V value = D::divide_by_576(y[column]);
        D::store(to, tile.adds ? D::add(value, D::load(to)) : value);
      }
    }
  }
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_WINOGRAD_GENERIC_H_
