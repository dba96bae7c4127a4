// What the threads of a warp hold of the operands of its collective instructions. Part of cuda/device/.
//
// mma.m16n8k32 (PTX ISA): a is 16 rows of 32 bytes of K, b 8 columns of 32, sums 16 x 8. Thread t of a warp has, with
// row = t / 4 and four = 4 * (t % 4),
//   a[0], a[1]   a[row][four ..], a[row + 8][four ..]        sums[0], sums[1]   [row][t % 4 * 2], [row][t % 4 * 2 + 1]
//   a[2], a[3]   the same 16 bytes of K further               sums[2], sums[3]   of row + 8
//   b[0], b[1]   b[column t / 4][four ..], the same 16 bytes of K further
// ldmatrix.x4 gives each thread four words: of matrix i, 8 rows of 16 bytes whose addresses threads 8i to 8i + 7 have,
// the word t % 4 of row t / 4. Turned (.trans), of matrices of units of two bytes: unit t / 4 of row t % 4 * 2, and of
// the row after it.
// wgmma.m64nNk32 (PTX ISA, sm_90a), twice: four warps multiply 64 rows of 64 bytes by N columns of 64, both in shared
// memory, of which bits 4 and 5 of an address are what bits 7 and 8 of it are added to (the swizzle of 64
// bytes). A warp has 16 of the rows; of eight columns a thread has what it has of mma.m16n8k32.
#ifndef OCTAVO_CUDA_DEVICE_MMA_H_
#define OCTAVO_CUDA_DEVICE_MMA_H_

#include "cuda/device/platform.h"

namespace octavo::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kMmaRows = 16, kMmaColumns = 8, kMmaBytes = 32;

inline constexpr int kGroup = 4 * kWarp, kGroupRows = 64, kGroupBytes = 64;

// Threads of a convolution's tile of so many rows.
constexpr int conv_threads(int rows) { return rows < 128 ? kGroup : 2 * kGroup; }

// Steps of K in shared memory, of a convolution's tile of so many rows: small ones wait for memory more than they
// multiply.
constexpr int conv_stages(int rows) { return rows <= 32 ? 12 : 4; }

struct MmaOperands {
  std::int32_t (&sums)[4];
  const std::uint32_t (&a)[4];
  const std::uint32_t (&b)[2];
};

// a and b: the first row.
template <int columns>
struct GroupOperands {
  std::int32_t (&sums)[columns / kMmaColumns][4];
  const std::byte *a, *b;
};

// Where the words of ldmatrix.x4 go.
struct Words {
  std::uint32_t &a, &b, &c, &d;
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_MMA_H_
