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
extern const CompiledTiles kTilesI8mm;

namespace {

// Walks over K as TileArgs has it: sums.add_run(x, pixel_bytes, dwords) for each run, x the first pixel's. There is at
// least one: a loop that may not begin has the sums stored before it.
template <class Sums>
inline __attribute__((always_inline)) void multiply_runs(const TileArgs& args, Sums& sums) {
  const TileConfig& c = *args.config;
  sums.w = reinterpret_cast<const std::int8_t*>(args.weights);
  std::int64_t row = 0;
  do {
    const std::uint8_t* x = args.rows[row] + args.x_offset;
    std::int32_t tap = 0;
    do {
      sums.add_run(x, c.pixel_bytes, c.run_dwords);
      x += c.tap_bytes;
    } while (++tap < c.taps);
  } while (++row < args.row_count);
}

// Tile<pixels, vectors>::run of all that have so many sums.
template <template <int, int> class Tile, int kMostSums, int kPixels = CompiledTiles::kMostPixels,
          int kVectors = CompiledTiles::kMostVectors>
constexpr void add_tiles(CompiledTiles& tiles) {
  if constexpr (kPixels * kVectors <= kMostSums)
    tiles.functions[kPixels - 1][kVectors - 1] = &Tile<kPixels, kVectors>::run;
  if constexpr (kVectors > 1) add_tiles<Tile, kMostSums, kPixels, kVectors - 1>(tiles);
  else if constexpr (kPixels > 1) add_tiles<Tile, kMostSums, kPixels - 1>(tiles);
}
template <template <int, int> class Tile, const TileTarget& target>
constexpr CompiledTiles compiled_tiles() {
  CompiledTiles tiles;
  add_tiles<Tile, target.max_accumulators>(tiles);
  return tiles;
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_ARM64_TILES_H_
