// Convolution tiles without dot products: products of bytes are 16 bits wide, and neighbours are added up in 32. Part
// of kernels/conv/.
#include "kernels/conv/arm64_epilogue.h"
#include "kernels/conv/arm64_tiles.h"

namespace octavo {
namespace {

// Whether two products are added up before they are widened: |x| and |w| are at most 128, and both products are 2^14 at
// once only where w is -128.
enum class Products { one, two };

// acc[p][c], four partial sums of pixel p and channel c, += x[p] * w[c], 16 or 8 bytes of K. w [16 bytes of
// K][channel][16], then [channel][8] where they are left.
//   registers: 5 * 4 sums, 5 of x, w and products as they come
template <Products kProducts, int kPixels, int kVectors>
struct BytesTile {
  static constexpr int kChannels = 4 * kVectors;
  int32x4_t acc[kPixels][kChannels];
  const std::int8_t* w;

  static void run(const TileArgs* args) {
    BytesTile tile;
    for (auto& pixel : tile.acc) {
      for (int32x4_t& sum : pixel) sum = vdupq_n_s32(0);
    }
    multiply_runs(*args, tile);
    std::int32_t sums[kPixels][kVectors][4];
    for (int p = 0; p < kPixels; ++p) {
      for (int v = 0; v < kVectors; ++v) {
        const int32x4_t* const parts = tile.acc[p] + 4 * v;
        vst1q_s32(sums[p][v], vpaddq_s32(vpaddq_s32(parts[0], parts[1]), vpaddq_s32(parts[2], parts[3])));
      }
    }
    finish_tile(*args, sums[0][0]);
  }

  inline __attribute__((always_inline)) void add_run(const std::uint8_t* x, std::int64_t pixel_bytes,
                                                     std::int32_t dwords) {
    const std::uint8_t* pixel[kPixels];
    for (int p = 0; p < kPixels; ++p) pixel[p] = x + p * pixel_bytes;
    const uint8x16_t flips = vdupq_n_u8(0x80);
    for (std::int32_t four = dwords / 4; four > 0; --four) {
      int8x16_t bytes[kPixels];
      for (int p = 0; p < kPixels; ++p, pixel[p - 1] += 16)
        bytes[p] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(pixel[p]), flips));
      for (int c = 0; c < kChannels; ++c, w += 16) {
        const int8x16_t weights = vld1q_s8(w);
        for (int p = 0; p < kPixels; ++p) add_sixteen(acc[p][c], bytes[p], weights);
      }
    }
    if (dwords % 4 == 0) return;
    int8x8_t bytes[kPixels];
    for (int p = 0; p < kPixels; ++p) bytes[p] = vreinterpret_s8_u8(veor_u8(vld1_u8(pixel[p]), vget_low_u8(flips)));
    for (int c = 0; c < kChannels; ++c, w += 8) {
      const int8x8_t weights = vld1_s8(w);
      for (int p = 0; p < kPixels; ++p) acc[p][c] = vpadalq_s16(acc[p][c], vmull_s8(bytes[p], weights));
    }
  }

 private:
  static inline __attribute__((always_inline)) void add_sixteen(int32x4_t& sum, int8x16_t x, int8x16_t weights) {
    const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(weights));
    if constexpr (kProducts == Products::two) {
      // (-128)^2 twice is 2^15; weights are above -128.
      sum = vpadalq_s16(sum, vmlal_high_s8(low, x, weights));
    } else {
      sum = vpadalq_s16(vpadalq_s16(sum, low), vmull_high_s8(x, weights));
    }
  }
};

template <int kPixels, int kVectors>
using SingleTile = BytesTile<Products::one, kPixels, kVectors>;
template <int kPixels, int kVectors>
using PairTile = BytesTile<Products::two, kPixels, kVectors>;

}  // namespace

constexpr CompiledTiles kTilesNeonBytes = compiled_tiles<SingleTile, kTileNeonBytes>();
constexpr CompiledTiles kTilesNeonPairs = compiled_tiles<PairTile, kTileNeonPairs>();

}  // namespace octavo
