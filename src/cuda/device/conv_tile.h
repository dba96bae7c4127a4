// Tiles of convolutions on tensor cores: their sizes, and which thread has which sum. Part of cuda/device/.
#ifndef OCTAVO_CUDA_DEVICE_CONV_TILE_H_
#define OCTAVO_CUDA_DEVICE_CONV_TILE_H_

#include "cuda/arguments.h"
#include "cuda/device/mma.h"
#include "cuda/device/quad.h"

namespace octavo::cuda {

inline constexpr int kStepBytes = 64;   // of K
inline constexpr int kChunkBytes = 16;  // what a thread copies at once
inline constexpr int kChunks = kStepBytes / kChunkBytes;

// Where the scale and the zero point of x are known: before, or only in the run, those of each row of a tile.
enum class XScale : std::uint8_t { known, in_run };
// What multiplies: each warp its part of a tile, from registers; or four warps as one 64 rows of it, from shared
// memory.
enum class Multiplier : std::uint8_t { warp, group };

// kCopy: bytes of x that are neighbours in memory and aligned: 16, 4, or 1.
template <int kRows_, int kColumns_, int kCopy_, Multiplier kMultiplier = Multiplier::warp, bool kHasOffset_ = false,
          XScale kXScale = XScale::known>
struct ConvTile {
  static constexpr bool kByGroup = kMultiplier == Multiplier::group;
  static constexpr bool kHasOffset = kHasOffset_;
  static constexpr bool kInRun = kXScale == XScale::in_run;
  static constexpr int kRows = kRows_, kColumns = kColumns_, kCopy = kCopy_;
  static constexpr int kThreads = conv_threads(kRows);
  static constexpr int kStages = conv_stages(kRows);
  static constexpr int kStage = (kRows + kColumns) * kStepBytes;
  static constexpr int kHalf = kRows / 2;
  // Of sums in shared memory: four banks on for each row.
  static constexpr int kSumPitch = kColumns + kQuad;
  static_assert(kStages * kStage >= kHalf * kSumPitch * 4);
  // A row of a step is copied by threads next to each other, a piece each; bytes one by one, sixteen of them.
  static constexpr int kPieceBytes = kCopy == 1 ? kChunkBytes : kCopy, kPieces = kStepBytes / kPieceBytes;
  static constexpr int kRowsAtOnce = kThreads / kPieces, kRowsOfThread = kRows / kRowsAtOnce;
  static constexpr int kColumnsOfThread = kColumns * kChunks / kThreads;
  // Warps stand in pairs over a tile, or one below the other.
  static constexpr int kWarpRows = kRows / (kThreads / kWarp / (kByGroup ? 1 : 2));
  static constexpr int kWarpColumns = kByGroup ? kColumns : kColumns / 2;
  static constexpr int kMmaM = kWarpRows / kMmaRows, kMmaN = kWarpColumns / kMmaColumns;
  static_assert(!kByGroup || (kMmaM == 1 && !kHasOffset));

  // Kernels for scales of a run take weights with offsets and without.
  OCTAVO_DEVICE static bool has_offset(const ConvArgs& p) { return kHasOffset && (!kInRun || p.w_offset != nullptr); }
  OCTAVO_DEVICE static int warp_row(int t) { return (kByGroup ? t / kWarp : t / kWarp / 2) * kWarpRows; }
  OCTAVO_DEVICE static int warp_column(int t) { return kByGroup ? 0 : t / kWarp % 2 * kWarpColumns; }
  // Of sums[m][n][i], in the tile.
  OCTAVO_DEVICE static int row_of(int t, int m, int i) {
    return warp_row(t) + m * kMmaRows + t % kWarp / 4 + i / 2 * 8;
  }
  OCTAVO_DEVICE static int column_of(int t, int n, int i) {
    return warp_column(t) + n * kMmaColumns + t % 4 * 2 + i % 2;
  }
};

template <class Tile>
struct TileSums {
  std::int32_t at[Tile::kMmaM][Tile::kMmaN][4];
  std::int32_t of_rows[Tile::kHasOffset ? Tile::kMmaM : 1][4];  // of x alone, for weights with offsets
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_DEVICE_CONV_TILE_H_
