// Transposition of a plane in portable C++: tiles in 16-byte vectors, and interleaving of two to four rows. Internal
// linkage only. Part of kernels/.
#ifndef OCTAVO_KERNELS_MOVE_GENERIC_H_
#define OCTAVO_KERNELS_MOVE_GENERIC_H_

#include <utility>

#include "kernels/move/plane.h"

namespace octavo {
namespace {

// Vectors of 16 bytes of T; an extension that g++ and clang share.
template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(16)));
  static constexpr int kLanes = 16 / static_cast<int>(sizeof(T));
};
template <class T>
using Vector = typename VectorOf<T>::type;

// a[first], b[first], a[first + 1], b[first + 1], ...
template <class T, int kFirst, int... kIndex>
Vector<T> interleave(Vector<T> a, Vector<T> b, std::integer_sequence<int, kIndex...>) {
  return __builtin_shufflevector(a, b, (kFirst + kIndex / 2 + (kIndex % 2 == 0 ? 0 : VectorOf<T>::kLanes))...);
}
template <class T>
Vector<T> interleave_low(Vector<T> a, Vector<T> b) {
  return interleave<T, 0>(a, b, std::make_integer_sequence<int, VectorOf<T>::kLanes>());
}
template <class T>
Vector<T> interleave_high(Vector<T> a, Vector<T> b) {
  return interleave<T, VectorOf<T>::kLanes / 2>(a, b, std::make_integer_sequence<int, VectorOf<T>::kLanes>());
}

// A square tile of kLanes x kLanes: log2(kLanes) rounds, each interleaving row i with row i + kLanes / 2.
template <class T>
void transpose_tile(const T* x, std::int64_t x_stride, T* y, std::int64_t y_stride) {
  constexpr int n = VectorOf<T>::kLanes;
  Vector<T> rows[n], next[n];
  for (int i = 0; i < n; ++i) __builtin_memcpy(&rows[i], x + i * x_stride, 16);
  for (int step = 1; step < n; step *= 2) {
    for (int i = 0; i < n / 2; ++i) {
      next[2 * i] = interleave_low<T>(rows[i], rows[i + n / 2]);
      next[2 * i + 1] = interleave_high<T>(rows[i], rows[i + n / 2]);
    }
    for (int i = 0; i < n; ++i) rows[i] = next[i];
  }
  for (int i = 0; i < n; ++i) __builtin_memcpy(y + i * y_stride, &rows[i], 16);
}

template <class T>
void transpose_scalar(const T* x, T* y, const Plane& p, std::int64_t first_row, std::int64_t first_column) {
  for (std::int64_t r = first_row; r < p.rows; ++r) {
    for (std::int64_t c = first_column; c < p.columns; ++c) y[r * p.y_stride + c] = x[c * p.x_stride + r];
  }
}

// Few columns, rows dense in y: the compiler vectorizes the interleaving.
template <class T, int kColumns>
void interleave_columns(const T* x, T* y, std::int64_t rows, std::int64_t x_stride) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (int c = 0; c < kColumns; ++c) y[r * kColumns + c] = x[c * x_stride + r];
  }
}
// Few rows, columns dense in x.
template <class T, int kRows>
void separate_rows(const T* x, T* y, std::int64_t columns, std::int64_t y_stride) {
  for (std::int64_t c = 0; c < columns; ++c) {
    for (int r = 0; r < kRows; ++r) y[r * y_stride + c] = x[c * kRows + r];
  }
}

template <class T>
bool transpose_thin(const T* x, T* y, const Plane& p) {
  if (p.y_stride == p.columns) {
    if (p.columns == 2) return interleave_columns<T, 2>(x, y, p.rows, p.x_stride), true;
    if (p.columns == 3) return interleave_columns<T, 3>(x, y, p.rows, p.x_stride), true;
    if (p.columns == 4) return interleave_columns<T, 4>(x, y, p.rows, p.x_stride), true;
  }
  if (p.x_stride == p.rows) {
    if (p.rows == 2) return separate_rows<T, 2>(x, y, p.columns, p.y_stride), true;
    if (p.rows == 3) return separate_rows<T, 3>(x, y, p.columns, p.y_stride), true;
    if (p.rows == 4) return separate_rows<T, 4>(x, y, p.columns, p.y_stride), true;
  }
  return false;
}

template <class T>
void transpose_plane(const Plane& p) {
  const T* x = reinterpret_cast<const T*>(p.x);
  T* y = reinterpret_cast<T*>(p.y);
  if (transpose_thin(x, y, p)) return;
  constexpr std::int64_t n = VectorOf<T>::kLanes;
  const std::int64_t rows = p.rows / n * n, columns = p.columns / n * n;
  for (std::int64_t r = 0; r < rows; r += n) {
    for (std::int64_t c = 0; c < columns; c += n)
      transpose_tile(x + c * p.x_stride + r, p.x_stride, y + r * p.y_stride + c, p.y_stride);
  }
  Plane right = p;
  right.rows = rows;
  transpose_scalar(x, y, right, 0, columns);
  transpose_scalar(x, y, p, rows, 0);
}

constexpr PlaneFunctions plane_functions() {
  return {.bytes = &transpose_plane<std::uint8_t>,
          .halves = &transpose_plane<std::uint16_t>,
          .words = &transpose_plane<std::uint32_t>,
          .longs = &transpose_plane<std::uint64_t>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_MOVE_GENERIC_H_
