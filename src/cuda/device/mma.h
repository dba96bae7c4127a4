// What the threads of a warp hold of the operands of its collective instructions. Part of cuda/device/.
//
// mma.m16n8k32 (PTX ISA): a is 16 rows of 32 bytes of K, b 8 columns of 32, sums 16 x 8. Thread t of a warp has, with
// row = t / 4 and four = 4 * (t % 4),
//   a[0], a[1]   a[row][four ..], a[row + 8][four ..]        sums[0], sums[1]   [row][t % 4 * 2], [row][t % 4 * 2 + 1]
//   a[2], a[3]   the same 16 bytes of K further               sums[2], sums[3]   of row + 8
//   b[0], b[1]   b[column t / 4][four ..], the same 16 bytes of K further
// ldmatrix.x4 gives each thread four words: of matrix i, 8 rows of 16 bytes whose addresses threads 8i to 8i + 7 have,
// the word t % 4 of row t / 4.
#ifndef OCTAVO_CUDA_DEVICE_MMA_H_
#define OCTAVO_CUDA_DEVICE_MMA_H_

#include "cuda/device/platform.h"

namespace octavo::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kMmaRows = 16, kMmaColumns = 8, kMmaBytes = 32;

struct MmaOperands {
  std::int32_t (&sums)[4];
  const std::uint32_t (&a)[4];
  const std::uint32_t (&b)[2];
};

// Where the words of ldmatrix.x4 go.
struct Words {
  std::uint32_t &a, &b, &c, &d;
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_MMA_H_
