// Convolution tiles by usmmla. Part of kernels/conv/.
#include "kernels/conv/arm64_epilogue.h"
#include "kernels/conv/arm64_tiles.h"

namespace octavo {
namespace {

// acc[i][j] (2 x 2) += x (8 bytes of pixels 2i and 2i + 1) * w (8 bytes of channels 2j and 2j + 1).
// w [8 bytes of K][pair of channels][2][8]. Of an odd number of pixels the last one is there twice.
//   registers: 2 * 8 sums, 4 of x, w as it comes. Three pairs of pixels are slower: GCC copies sums then.
template <int kPixelPairs, int kVectors>
struct MmlaTile {
  static constexpr int kPairs = 2 * kVectors;
  int32x4_t acc[kPixelPairs][kPairs];
  const std::uint8_t* w;
  int last;  // pixel

  static void run(const TileArgs* args) {
    MmlaTile tile;
    const int pixels = args->config->pixels;
    tile.last = pixels - 1;
    const TileRuns runs(*args);
    const auto* const weights = reinterpret_cast<const std::uint8_t*>(args->weights);
    const std::int64_t block_bytes = args->config->block_bytes;
    for (std::int64_t block = 0, blocks = args->repeats; block < blocks; ++block) {
      unrolled<kPixelPairs>([&](auto i) __attribute__((always_inline)) {
        unrolled<kPairs>([&](auto j) __attribute__((always_inline)) { tile.acc[i][j] = vdupq_n_s32(0); });
      });
      multiply_runs(runs, weights + block * block_bytes, tile);
      int32x4_t sums[2 * kPixelPairs][kVectors];
      const std::int32_t* const start = start_of<kVectors>(*args, block);
      unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
        const int32x4_t first = vld1q_s32(start + 4 * v);
        unrolled<kPixelPairs>([&](auto i) __attribute__((always_inline)) {
          const int64x2_t left = vreinterpretq_s64_s32(tile.acc[i][2 * v]),
                          right = vreinterpretq_s64_s32(tile.acc[i][2 * v + 1]);
          sums[2 * i][v] = vaddq_s32(vreinterpretq_s32_s64(vzip1q_s64(left, right)), first);
          sums[2 * i + 1][v] = vaddq_s32(vreinterpretq_s32_s64(vzip2q_s64(left, right)), first);
        });
      });
      finish_sums(*args, block, pixels, sums);
    }
  }

  inline __attribute__((always_inline)) void add_run(const std::uint8_t* x, const TileRuns& runs) {
    const std::uint8_t* pixel[2 * kPixelPairs];
    unrolled<2 * kPixelPairs>([&](auto p) __attribute__((always_inline)) {
      pixel[p] = x + (p < 2 * kPixelPairs - 1 ? p : last) * runs.pixel_bytes;
    });
    std::int64_t k = 0;
    for (; k + 16 <= runs.run_bytes; k += 16) {
      uint8x16_t low[kPixelPairs], high[kPixelPairs];
      unrolled<kPixelPairs>([&](auto i) __attribute__((always_inline)) {
        const uint64x2_t even = vreinterpretq_u64_u8(vld1q_u8(pixel[2 * i] + k)),
                         odd = vreinterpretq_u64_u8(vld1q_u8(pixel[2 * i + 1] + k));
        low[i] = vreinterpretq_u8_u64(vzip1q_u64(even, odd));
        high[i] = vreinterpretq_u8_u64(vzip2q_u64(even, odd));
      });
      add_eight(low);
      add_eight(high);
    }
    if (k == runs.run_bytes) return;
    uint8x16_t bytes[kPixelPairs];
    unrolled<kPixelPairs>([&](auto i) __attribute__((always_inline)) {
      bytes[i] = two_pixels(pixel[2 * i] + k, pixel[2 * i + 1] + k);
    });
    add_eight(bytes);
  }

 private:
  static inline __attribute__((always_inline)) uint8x16_t two_pixels(const std::uint8_t* even,
                                                                     const std::uint8_t* odd) {
    const auto first = vcombine_u64(vld1_u64(reinterpret_cast<const std::uint64_t*>(even)), vdup_n_u64(0));
    return vreinterpretq_u8_u64(vld1q_lane_u64(reinterpret_cast<const std::uint64_t*>(odd), first, 1));
  }
  // Two pairs of channels at a time: one instruction loads their weights.
  inline __attribute__((always_inline)) void add_eight(const uint8x16_t (&bytes)[kPixelPairs]) {
    unrolled<kPairs / 2>([&](auto two) __attribute__((always_inline)) {
      const int8x16_t weights[2] = {vreinterpretq_s8_u8(vld1q_u8(w)), vreinterpretq_s8_u8(vld1q_u8(w + 16))};
      w += 32;
      unrolled<2>([&](auto k) __attribute__((always_inline)) {
        unrolled<kPixelPairs>([&](auto i) __attribute__((always_inline)) {
          int32x4_t& sum = acc[i][2 * two + k];
          sum = vusmmlaq_s32(sum, bytes[i], weights[k]);
        });
      });
    });
  }
};

template <int kPixels, int kVectors>
using PixelsTile = MmlaTile<(kPixels + 1) / 2, kVectors>;

}  // namespace

constexpr CompiledTiles kTilesI8mm = compiled_tiles<PixelsTile, kTileI8mm>();

}  // namespace octavo
