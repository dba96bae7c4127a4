// Products of two matrices that are both known only in a run: matmul of f32, and of bytes with what follows the sums.
// Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_PRODUCT_H_
#define OCTAVO_CUDA_DEVICE_PRODUCT_H_

#include "cuda/arguments.h"
#include "cuda/device/elements.h"
#include "cuda/device/sum_tile.h"

namespace octavo::cuda {

// The first elements of the matrices of a block.
struct ProductPlace {
  std::int64_t a = 0, b = 0;

  OCTAVO_DEVICE static ProductPlace of(const ProductArgs& p, std::int64_t matrix) {
    ProductPlace place;
    unrolled<kMostAxes>([&](auto i) {
      constexpr int axis = kMostAxes - 1 - i;
      place.a += matrix % p.size[axis] * p.a_stride[axis];
      place.b += matrix % p.size[axis] * p.b_stride[axis];
      matrix /= p.size[axis];
    });
    return place;
  }
};

// a_at(its element) and b_at(its element, its column); f(row, column, sum) of what lies in y.
template <class T, class Block, class AAt, class BAt, class F>
OCTAVO_DEVICE void product(Block& block, const ProductArgs& p, const AAt& a_at, const BAt& b_at, const F& f) {
  SumTile<T, Block> tile{block, {}};
  const std::int64_t first_row = block.x() * kSumTile, first_column = block.y() * kSumTile;
  tile.multiply_all(p.k, [&](std::int64_t first) {
    tile.load(
        [&](int row, int link) {
          const bool exists = first + link < p.k && first_row + row < p.m;
          return exists ? a_at((first_row + row) * p.k + first + link, first_row + row) : T{0};
        },
        [&](int column, int link) {
          const bool exists = first + link < p.k && first_column + column < p.n;
          return exists ? b_at((first + link) * p.n + first_column + column, first_column + column) : T{0};
        });
  });
  tile.finish([&](int row, int column, T sum) {
    if (first_row + row < p.m && first_column + column < p.n) f(first_row + row, first_column + column, sum);
  });
}

template <class Block>
OCTAVO_DEVICE void product_f32(Block& block, const ProductArgs& p) {
  const ProductPlace place = ProductPlace::of(p, block.z());
  const auto* a = reinterpret_cast<const float*>(p.a) + place.a;
  const auto* b = reinterpret_cast<const float*>(p.b) + place.b;
  auto* y = reinterpret_cast<float*>(p.y) + block.z() * p.m * p.n;
  product<float>(
      block, p, [&](std::int64_t at, std::int64_t) { return a[at]; },
      [&](std::int64_t at, std::int64_t) { return b[at]; },
      [&](std::int64_t row, std::int64_t column, float sum) { y[row * p.n + column] = sum; });
}

// Zero points of rows and columns go on from matrix to matrix.
template <class Block>
OCTAVO_DEVICE void product_bytes(Block& block, const ProductArgs& p) {
  const ProductPlace place = ProductPlace::of(p, block.z());
  const std::int64_t first_zero = p.k == 0 ? 0 : place.a / p.k, first_column = p.k == 0 ? 0 : place.b / p.k;
  const auto byte_at = [](const std::byte* values, std::int64_t at, std::int32_t is_signed) {
    return widened(static_cast<std::uint8_t>(values[at]), is_signed != 0);
  };
  const auto a_at = [&](std::int64_t at, std::int64_t row) {
    const std::int32_t zero = p.a_zero_points == nullptr
                                  ? p.a_zero_point
                                  : byte_at(p.a_zero_points, (first_zero + row) % p.a_zeros, p.a_is_signed);
    return byte_at(p.a, place.a + at, p.a_is_signed) - zero;
  };
  const auto b_at = [&](std::int64_t at, std::int64_t column) {
    const std::int32_t zero = p.b_zero_points == nullptr
                                  ? p.b_zero_point
                                  : byte_at(p.b_zero_points, (first_column + column) % p.b_zeros, p.b_is_signed);
    return byte_at(p.b, place.b + at, p.b_is_signed) - zero;
  };
  product<std::int32_t>(block, p, a_at, b_at, [&](std::int64_t row, std::int64_t column, std::int32_t sum) {
    const RowEpilogue e = with_factors_at(p.epilogue, column * p.epilogue.factor_step);
    const std::int64_t bytes = e.result == RowEpilogue::Result::bytes ? 1 : 4;
    finish_sums<Scalar>(e, &sum, 1, 1, p.y + ((block.z() * p.m + row) * p.n + column) * bytes);
  });
}

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_PRODUCT_H_
