// Convolution tiles by usmmla. Part of kernels/conv/.
#include "kernels/conv/arm64_epilogue.h"
#include "kernels/conv/arm64_tiles.h"

namespace octavo {
namespace {

// acc[i][j] (2 x 2) += x (8 bytes of pixels 2i and 2i + 1) * w (8 bytes of channels 2j and 2j + 1).
// w [8 bytes of K][pair of channels][2][8]. Of an odd number of pixels the last one is there twice.
//   registers: 2 * 8 sums, 4 of x, w as it comes. Three pairs of pixels are slower: GCC copies sums then.
template <int kPixels, int kVectors>
struct MmlaTile {
  static constexpr int kPixelPairs = (kPixels + 1) / 2, kPairs = 2 * kVectors;
  int32x4_t acc[kPixelPairs][kPairs];
  const std::int8_t* w;

  static void run(const TileArgs* args) {
    MmlaTile tile;
    for (auto& pixels : tile.acc) {
      for (int32x4_t& sum : pixels) sum = vdupq_n_s32(0);
    }
    multiply_runs(*args, tile);
    std::int32_t sums[2 * kPixelPairs][kVectors][4];
    for (int i = 0; i < kPixelPairs; ++i) {
      for (int v = 0; v < kVectors; ++v) {
        const int64x2_t left = vreinterpretq_s64_s32(tile.acc[i][2 * v]),
                        right = vreinterpretq_s64_s32(tile.acc[i][2 * v + 1]);
        vst1q_s32(sums[2 * i][v], vreinterpretq_s32_s64(vzip1q_s64(left, right)));
        vst1q_s32(sums[2 * i + 1][v], vreinterpretq_s32_s64(vzip2q_s64(left, right)));
      }
    }
    finish_tile(*args, sums[0][0]);
  }

  inline __attribute__((always_inline)) void add_run(const std::uint8_t* x, std::int64_t pixel_bytes,
                                                     std::int32_t dwords) {
    const std::uint8_t* pixel[2 * kPixelPairs];
    for (int p = 0; p < 2 * kPixelPairs; ++p) pixel[p] = x + (p < kPixels ? p : kPixels - 1) * pixel_bytes;
    for (std::int32_t sixteen = dwords / 4; sixteen > 0; --sixteen) {
      uint8x16_t low[kPixelPairs], high[kPixelPairs];
      for (int i = 0; i < kPixelPairs; ++i) {
        const uint64x2_t even = vreinterpretq_u64_u8(vld1q_u8(pixel[2 * i])),
                         odd = vreinterpretq_u64_u8(vld1q_u8(pixel[2 * i + 1]));
        low[i] = vreinterpretq_u8_u64(vzip1q_u64(even, odd));
        high[i] = vreinterpretq_u8_u64(vzip2q_u64(even, odd));
        pixel[2 * i] += 16, pixel[2 * i + 1] += 16;
      }
      add_eight(low);
      add_eight(high);
    }
    if (dwords % 4 == 0) return;
    uint8x16_t bytes[kPixelPairs];
    for (int i = 0; i < kPixelPairs; ++i) bytes[i] = two_pixels(pixel[2 * i], pixel[2 * i + 1]);
    add_eight(bytes);
  }

 private:
  static inline __attribute__((always_inline)) uint8x16_t two_pixels(const std::uint8_t* even,
                                                                     const std::uint8_t* odd) {
    const auto first = vcombine_u64(vld1_u64(reinterpret_cast<const std::uint64_t*>(even)), vdup_n_u64(0));
    return vreinterpretq_u8_u64(vld1q_lane_u64(reinterpret_cast<const std::uint64_t*>(odd), first, 1));
  }
  inline __attribute__((always_inline)) void add_eight(const uint8x16_t (&bytes)[kPixelPairs]) {
    for (int j = 0; j < kPairs; ++j, w += 16) {
      const int8x16_t weights = vld1q_s8(w);
      for (int i = 0; i < kPixelPairs; ++i) acc[i][j] = vusmmlaq_s32(acc[i][j], bytes[i], weights);
    }
  }
};

}  // namespace

constexpr CompiledTiles kTilesI8mm = compiled_tiles<MmlaTile, kTileI8mm>();

}  // namespace octavo
