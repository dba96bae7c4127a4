// A tile of 64 x 64 sums of products, in registers of 256 threads: of f32 a chain of fused multiply-adds each, of
// integers exact. Part of cuda/device/.
//
// Shared memory: [k][64] of one operand, then [k][64] of the other, sixteen k at a time. At the end the sums lie there,
// [64][64].
#ifndef OCTAVO_CUDA_DEVICE_SUM_TILE_H_
#define OCTAVO_CUDA_DEVICE_SUM_TILE_H_

#include "cuda/device/taps.h"
#include "kernels/simd/scalar.h"

namespace octavo::cuda {

inline constexpr int kSumTile = 64, kSumStep = 16, kSumSide = 16, kSumsOfThread = kSumTile / kSumSide;

OCTAVO_DEVICE float with_product(float sum, float a, float b) { return Scalar::fma(a, b, sum); }
OCTAVO_DEVICE std::int32_t with_product(std::int32_t sum, std::int32_t a, std::int32_t b) {
  return Scalar::add_s32(sum, Scalar::mul_s32(a, b));
}

// T: float or std::int32_t.
template <class T, class Block>
struct SumTile {
  struct Sums {
    T at[kSumsOfThread][kSumsOfThread];
  };

  Block& block;
  typename Block::template Each<Sums> sums;

  OCTAVO_DEVICE T* rows() const { return reinterpret_cast<T*>(block.shared()); }
  OCTAVO_DEVICE T* columns() const { return rows() + kSumStep * kSumTile; }

  OCTAVO_DEVICE void begin() {
    block.each([&](int t) {
      unrolled<kSumsOfThread>([&](auto i) { unrolled<kSumsOfThread>([&](auto j) { sums[t].at[i][j] = T{0}; }); });
    });
  }

  // row_at(row, k) and column_at(column, k), of which neighbouring threads ask for neighbouring k, and columns.
  template <class RowAt, class ColumnAt>
  OCTAVO_DEVICE void load(const RowAt& row_at, const ColumnAt& column_at) {
    block.each([&](int t) {
      unrolled<kSumsOfThread>([&](auto i) {
        const int k = t % kSumStep, row = t / kSumStep + i * kSumSide;
        rows()[k * kSumTile + row] = row_at(row, k);
        const int link = t / kSumTile + i * kSumsOfThread, column = t % kSumTile;
        columns()[link * kSumTile + column] = column_at(column, link);
      });
    });
    block.sync();
  }

  // No more than there is: a product of zeros could change the sign of a sum.
  OCTAVO_DEVICE void multiply(std::int64_t links) {
    block.each([&](int t) {
      const int row = t / kSumSide, column = t % kSumSide;
      for (int link = 0; link < links; ++link) {
        T a[kSumsOfThread], b[kSumsOfThread];
        unrolled<kSumsOfThread>([&](auto i) {
          a[i] = rows()[link * kSumTile + row + i * kSumSide];
          b[i] = columns()[link * kSumTile + column + i * kSumSide];
        });
        unrolled<kSumsOfThread>([&](auto i) {
          unrolled<kSumsOfThread>([&](auto j) { sums[t].at[i][j] = with_product(sums[t].at[i][j], a[i], b[j]); });
        });
      }
    });
    block.sync();
  }

  // Of all of K, `load_from(first)` being load of what begins there.
  template <class LoadFrom>
  OCTAVO_DEVICE void multiply_all(std::int64_t k, const LoadFrom& load_from) {
    begin();
    for (std::int64_t first = 0; first < k; first += kSumStep) {
      load_from(first);
      multiply(k - first < kSumStep ? k - first : kSumStep);
    }
  }

  // f(row, column, sum), neighbouring threads having neighbouring columns.
  template <class F>
  OCTAVO_DEVICE void finish(const F& f) {
    T* shared = rows();
    block.each([&](int t) {
      unrolled<kSumsOfThread>([&](auto i) {
        unrolled<kSumsOfThread>([&](auto j) {
          const int row = t / kSumSide + i * kSumSide, column = t % kSumSide + j * kSumSide;
          shared[row * kSumTile + column] = sums[t].at[i][j];
        });
      });
    });
    block.sync();
    block.each([&](int t) {
      for (int i = t; i < kSumTile * kSumTile; i += kThreadsOfBlock) f(i / kSumTile, i % kSumTile, shared[i]);
    });
  }
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_SUM_TILE_H_
