// Tiles of Winograd's transformed operands, s16 by s16, and of what follows their sums. Part of kernels/conv/.
#include <arm_neon.h>

#include "kernels/conv/arm64_tiles.h"

namespace octavo {
namespace {

// acc[p][v] += x[p] * w of vector v: pairs of K. w [pair][vector][first or second][lane].
//   registers: 4 * 4 sums, 4 of x, w as it comes
template <int kPixels, int kVectors>
struct WordsTile {
  int32x4_t acc[kPixels][kVectors];
  const std::int16_t* w;

  // kVectors vectors at a time: all that a tile has, or one.
  static void run(const TileArgs* args) {
    const TileConfig& config = *args->config;
    const std::int64_t pixel_bytes = config.pixel_bytes, pixels = kPixels * args->repeats;
    const std::uint8_t* const first = args->rows[0];
    auto* const y = reinterpret_cast<std::int32_t*>(args->y);
    const std::byte* ahead = args->prefetch;
    WordsTile tile;
    for (std::int64_t pixel = 0; pixel < pixels; pixel += kPixels) {
      for (std::int32_t i = 0; i < config.ahead_lines; ++i, ahead += 64) __builtin_prefetch(ahead);
      const std::uint8_t* const x = first + pixel * pixel_bytes;
      for (int v = 0; v < config.vectors; v += kVectors) {
        tile.w = reinterpret_cast<const std::int16_t*>(args->weights) + v * kWeights;
        std::int32_t* const to = y + pixel * config.out_channels + v * kTileLanes;
        tile.start(to, config);
        tile.add(x, pixel_bytes, config.run_dwords, config.vectors * kWeights);
        tile.store(to, config.out_channels);
      }
    }
  }

 private:
  static constexpr int kWeights = 2 * kTileLanes;  // of a pair and vector

  inline __attribute__((always_inline)) void start(const std::int32_t* y, const TileConfig& config) {
    const std::int64_t out_channels = config.out_channels;
    if (!config.adds_to_y)
      return each([&](auto p, auto v) __attribute__((always_inline)) { acc[p][v] = vdupq_n_s32(0); });
    each([&](auto p, auto v)
             __attribute__((always_inline)) { acc[p][v] = vld1q_s32(y + p * out_channels + v * kTileLanes); });
  }
  inline __attribute__((always_inline)) void store(std::int32_t* y, std::int64_t out_channels) const {
    each([&](auto p, auto v)
             __attribute__((always_inline)) { vst1q_s32(y + p * out_channels + v * kTileLanes, acc[p][v]); });
  }
  inline __attribute__((always_inline)) void add(const std::uint8_t* x, std::int64_t pixel_bytes, std::int64_t pairs,
                                                 std::int64_t stride) {
    const std::uint8_t* pixel[kPixels];
    unrolled<kPixels>([&](auto p) __attribute__((always_inline)) { pixel[p] = x + p * pixel_bytes; });
    std::int64_t pair = 0;
    for (; pair + 4 <= pairs; pair += 4) {
      int16x8_t words[kPixels];
      unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
        words[p] = vld1q_s16(reinterpret_cast<const std::int16_t*>(pixel[p]) + 2 * pair);
      });
      unrolled<4>([&](auto i) __attribute__((always_inline)) { add_pair<i>(words, stride); });
    }
    for (; pair < pairs; ++pair) {
      int16x8_t words[kPixels];
      unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
        words[p] = vreinterpretq_s16_s32(vld1q_dup_s32(reinterpret_cast<const std::int32_t*>(pixel[p]) + pair));
      });
      add_pair<0>(words, stride);
    }
  }
  template <int kPair>
  inline __attribute__((always_inline)) void add_pair(const int16x8_t (&words)[kPixels], std::int64_t stride) {
    unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
      const int16x8_t weights = vld1q_s16(w + v * kWeights);
      unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
        acc[p][v] = vmlal_laneq_s16(acc[p][v], vget_low_s16(weights), words[p], 2 * kPair);
      });
      unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
        acc[p][v] = vmlal_high_laneq_s16(acc[p][v], weights, words[p], 2 * kPair + 1);
      });
    });
    w += stride;
  }
  template <class F>
  static inline __attribute__((always_inline)) void each(const F& f) {
    unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
      unrolled<kVectors>([&](auto v) __attribute__((always_inline)) { f(p, v); });
    });
  }
};

// What follows sums that lie in memory, for `repeats` tiles: with the bias, by TileConfig::finish.
void finish_sums_of_memory(const TileArgs* args) {
  const TileConfig& config = *args->config;
  const int lanes = config.vectors * kTileLanes;
  const std::int64_t elements = std::int64_t{config.pixels} * config.out_channels;
  TileArgs tile = *args;
  for (std::int64_t i = 0; i < args->repeats; ++i) {
    std::int32_t sums[CompiledTiles::kMostPixels * kMostTileChannels];
    for (int p = 0; p < config.pixels; ++p) {
      for (int lane = 0; lane < lanes; lane += kTileLanes)
        vst1q_s32(sums + p * lanes + lane,
                  vaddq_s32(vld1q_s32(tile.sums + p * lanes + lane), vld1q_s32(tile.bias + lane)));
    }
    finish_stored(tile, 0, sums);
    tile.sums += config.pixels * lanes;
    tile.y += elements * static_cast<std::int64_t>(size_of(config.to));
    if (tile.residual != nullptr) tile.residual += elements * config.residual_bytes();
  }
}

// Groups have as many pixels as sums stay in registers for, or one less, unless there are no more: of few pixels and of
// few vectors one vector at a time will do.
template <int kPixels = CompiledTiles::kMostPixels>
constexpr void add_words_tiles(CompiledTiles& tiles) {
  constexpr int kMost = kPairsNeon.max_accumulators / kMostTileVectors;
  auto& functions = tiles.functions[kPixels - 1];
  for (TileFunction*& function : functions) function = &WordsTile<kPixels, 1>::run;
  if constexpr (kPixels == kMost || kPixels == kMost - 1)
    functions[kMostTileVectors - 1] = &WordsTile<kPixels, kMostTileVectors>::run;
  if constexpr (kPixels > 1) add_words_tiles<kPixels - 1>(tiles);
}
constexpr CompiledTiles words_tiles() {
  CompiledTiles tiles;
  add_words_tiles(tiles);
  return tiles;
}
constexpr CompiledTiles sums_tiles() {
  CompiledTiles tiles;
  for (auto& of_pixels : tiles.functions) {
    for (TileFunction*& function : of_pixels) function = &finish_sums_of_memory;
  }
  return tiles;
}

}  // namespace

constexpr CompiledTiles kTilesNeonWords = words_tiles();
constexpr CompiledTiles kTilesSums = sums_tiles();

}  // namespace octavo
