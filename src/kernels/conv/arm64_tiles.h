// The tiles that are compiled for aarch64: by pixels and vectors, for one way in which x meets w. Part of
// kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_ARM64_TILES_H_
#define OCTAVO_KERNELS_CONV_ARM64_TILES_H_

#include "kernels/conv/tile.h"
#include "kernels/simd/unrolled.h"

namespace octavo {

// Of `pixels` and `vectors`, both from 1 on.
struct CompiledTiles {
  static constexpr int kMostPixels = kMostCompiledPixels, kMostVectors = 4;
  TileFunction* functions[kMostPixels][kMostVectors] = {};
};
extern const CompiledTiles kTilesNeonBytes;
extern const CompiledTiles kTilesNeonPairs;
extern const CompiledTiles kTilesDotprod;
extern const CompiledTiles kTilesDotprodAhead;
extern const CompiledTiles kTilesI8mm;
extern const CompiledTiles kTilesNeonWords;  // TileKind::products
extern const CompiledTiles kTilesSums;       // TileKind::sums

inline constexpr int kTileLanes = 4, kMostTileVectors = 4, kMostTileChannels = kTileLanes * kMostTileVectors;

// Whether one of the plain forms makes the results.
bool is_plain(const TileConfig& config);
// TileConfig::finish.
TileFinish* finish_of(const TileConfig& config);
// Of 16 channels of block number `block`, which are results but for their table.
void look_up_bytes(const TileArgs& args, std::int64_t block, int pixels);
// By TileConfig::finish, of block number `block` of those that `args` has.
void finish_stored(const TileArgs& args, std::int64_t block, const std::int32_t* sums);

namespace {

// What a tile reads of x, block after block: copied, since stores of bytes may alias all that a pointer reaches.
struct TileRuns {
  const std::uint8_t* const* rows;
  std::int64_t row_count, x_offset, tap_bytes, pixel_bytes, run_bytes;
  std::int32_t taps;

  explicit TileRuns(const TileArgs& args)
      : rows(args.rows),
        row_count(args.row_count),
        x_offset(args.x_offset),
        tap_bytes(args.config->tap_bytes),
        pixel_bytes(args.config->pixel_bytes),
        run_bytes(std::int64_t{4} * args.config->run_dwords),
        taps(args.config->taps) {}
};

// Walks over K: f(x) for each run, the first pixel's. There is at least one: a loop that may not begin has the sums
// stored before it.
template <class F>
inline __attribute__((always_inline)) void for_runs(const TileRuns& runs, const F& f) {
  std::int64_t row = 0;
  do {
    const std::uint8_t* x = runs.rows[row] + runs.x_offset;
    std::int32_t tap = 0;
    do {
      f(x);
      x += runs.tap_bytes;
    } while (++tap < runs.taps);
  } while (++row < runs.row_count);
}
// sums.add_run(x, runs) of all, with a block's weights.
template <class Sums>
inline __attribute__((always_inline)) void multiply_runs(const TileRuns& runs, const std::uint8_t* weights,
                                                         Sums& sums) {
  sums.w = weights;
  for_runs(
      runs, [&](const std::uint8_t* x) __attribute__((always_inline)) { sums.add_run(x, runs); });
}

// Tile<pixels, vectors>::run of all that have so many sums.
template <template <int, int> class Tile, const TileTarget& target, int kPixels = CompiledTiles::kMostPixels,
          int kVectors = std::max(2, target.max_vectors)>
constexpr void add_tiles(CompiledTiles& tiles) {
  if constexpr (kPixels * kVectors <= target.max_accumulators)
    tiles.functions[kPixels - 1][kVectors - 1] = &Tile<kPixels, kVectors>::run;
  if constexpr (kVectors > 1) add_tiles<Tile, target, kPixels, kVectors - 1>(tiles);
  else if constexpr (kPixels > 1) add_tiles<Tile, target, kPixels - 1>(tiles);
}
template <template <int, int> class Tile, const TileTarget& target>
constexpr CompiledTiles compiled_tiles() {
  CompiledTiles tiles;
  add_tiles<Tile, target>(tiles);
  return tiles;
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_ARM64_TILES_H_
