// The contracts of winograd/: what the functions compiled for each instruction set compute. Part of kernels/.
//
// F(4x4, 3x3) in integers. With the matrices of Lavin and Gray (2016), y = A^T [(G w G^T) * (B^T x B)] A. The rows of G
// have fractions, so that row i is stored c_i times larger, c = (24, 24, 24, 24, 24, 6), and A^T makes up for it:
//   B^T = | 4  0 -5  0 1 0 |   G' = |  6  0  0 |   A'^T = | 1 1  1 1  1 0 |
//         | 0 -4 -4  1 1 0 |        | -4 -4 -4 |          | 0 1 -1 2 -2 0 |
//         | 0  4 -4 -1 1 0 |        | -4  4 -4 |          | 0 1  1 4  4 0 |
//         | 0 -2 -1  2 1 0 |        |  1  2  4 |          | 0 1 -1 8 -8 4 |
//         | 0  2 -1 -2 1 0 |        |  1 -2  4 |
//         | 0  4  0 -5 0 1 |        |  0  0  6 |
// |B^T x B| <= 10 * 10 * 255 = 25500 and |G' w G'^T| <= 12 * 12 * 128 = 18432 fit s16. All that follows is arithmetic
// modulo 2^32 and gives 24 * 24 * y = 64 * 9 * y; times the inverse of 9 it is 64 * y, of which the arithmetic shift by
// 6 makes y wherever -2^25 <= y < 2^25.
#ifndef OCTAVO_KERNELS_WINOGRAD_TRANSFORMS_H_
#define OCTAVO_KERNELS_WINOGRAD_TRANSFORMS_H_

#include <cstdint>

namespace octavo {

inline constexpr int kWinogradSide = 6;  // of a tile of input
inline constexpr int kWinogradPositions = 36;
inline constexpr int kWinogradOutput = 4;  // side of a tile of output
// Bounds of y between which the arithmetic is exact: [-limit, limit).
inline constexpr std::int64_t kWinogradLimit = std::int64_t{1} << 25;
inline constexpr std::int32_t kInverseOf9 = 954437177;  // 9 * this = 1 modulo 2^32

// One tile, all its channels: v[position][channel] = B^T x B. Reads and writes whole vectors of channels: x is readable
// that far.
struct WinogradInput {
  const std::uint8_t* x = nullptr;
  std::int64_t row_bytes = 0, pixel_bytes = 0;
  std::int64_t channels = 0;
  std::int16_t* v = nullptr;
  std::int64_t position_stride = 0;  // elements
};

// u[position][vector][pair of channels] = G' w G'^T.
struct WinogradWeights {
  const std::int8_t* w = nullptr;  // [vector][tap][2 * lanes]
  std::int64_t vectors = 0;
  std::int16_t* u = nullptr;         // [position][vector][2 * lanes]: pairs; kWinogradNeon: all first, all second
  std::int64_t position_stride = 0;  // elements
};

// One tile: y = A'^T m A' / 576, set or added.
struct WinogradSums {
  const std::int32_t* m = nullptr;   // [position][vector][lane]
  std::int64_t position_stride = 0;  // elements
  std::int64_t vectors = 0;
  std::int32_t* y = nullptr;  // [row][pixel][vector][lane]
  std::int64_t row_stride = 0, pixel_stride = 0;
  bool adds = false;
};

struct WinogradFunctions {
  int lanes;  // s32 of a vector
  void (*input)(const WinogradInput& tile);
  void (*weights)(const WinogradWeights& block);
  void (*sums)(const WinogradSums& tile);
};
extern const WinogradFunctions kWinogradAvx2;
extern const WinogradFunctions kWinogradAvx512;
extern const WinogradFunctions kWinogradNeon;

}  // namespace octavo

#endif  // OCTAVO_KERNELS_WINOGRAD_TRANSFORMS_H_
