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
  const std::uint8_t* w;

  static void run(const TileArgs* args) {
    BytesTile tile;
    const TileRuns runs(*args);
    const auto* const weights = reinterpret_cast<const std::uint8_t*>(args->weights);
    const std::int64_t block_bytes = args->config->block_bytes;
    for (std::int64_t block = 0, blocks = args->repeats; block < blocks; ++block) {
      unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
        unrolled<kChannels>([&](auto c) __attribute__((always_inline)) { tile.acc[p][c] = vdupq_n_s32(0); });
      });
      multiply_runs(runs, weights + block * block_bytes, tile);
      int32x4_t sums[kPixels][kVectors];
      const std::int32_t* const start = start_of<kVectors>(*args, block);
      unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
        const int32x4_t first = vld1q_s32(start + 4 * v);
        unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
          const int32x4_t* const parts = tile.acc[p] + 4 * v;
          const int32x4_t sum = vpaddq_s32(vpaddq_s32(parts[0], parts[1]), vpaddq_s32(parts[2], parts[3]));
          sums[p][v] = vaddq_s32(sum, first);
        });
      });
      finish_sums(*args, block, kPixels, sums);
    }
  }

  inline __attribute__((always_inline)) void add_run(const std::uint8_t* x, const TileRuns& runs) {
    const std::uint8_t* pixel[kPixels];
    unrolled<kPixels>([&](auto p) __attribute__((always_inline)) { pixel[p] = x + p * runs.pixel_bytes; });
    const uint8x16_t flips = vdupq_n_u8(0x80);
    std::int64_t k = 0;
    for (; k + 16 <= runs.run_bytes; k += 16) {
      int8x16_t bytes[kPixels];
      unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
        bytes[p] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(pixel[p] + k), flips));
      });
      unrolled<kChannels>([&](auto c) __attribute__((always_inline)) {
        const int8x16_t weights = vreinterpretq_s8_u8(vld1q_u8(w));
        w += 16;
        add_sixteen(c, bytes, weights);
      });
    }
    if (k == runs.run_bytes) return;
    int8x8_t bytes[kPixels];
    unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
      bytes[p] = vreinterpret_s8_u8(veor_u8(vld1_u8(pixel[p] + k), vget_low_u8(flips)));
    });
    unrolled<kChannels>([&](auto c) __attribute__((always_inline)) {
      const int8x8_t weights = vreinterpret_s8_u8(vld1_u8(w));
      w += 8;
      unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
        acc[p][c] = vpadalq_s16(acc[p][c], vmull_s8(bytes[p], weights));
      });
    });
  }

 private:
  // One kind of instruction for all pixels, then the next: cores that execute in order wait for a product where it is
  // used at once.
  template <class Channel>
  inline __attribute__((always_inline)) void add_sixteen(Channel c, const int8x16_t (&x)[kPixels], int8x16_t weights) {
    int16x8_t products[kPixels];
    unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
      products[p] = vmull_s8(vget_low_s8(x[p]), vget_low_s8(weights));
    });
    unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
      if constexpr (kProducts == Products::two) {
        products[p] = vmlal_high_s8(products[p], x[p], weights);  // (-128)^2 twice is 2^15; weights are above -128
      } else {
        acc[p][c] = vpadalq_s16(acc[p][c], products[p]);
        products[p] = vmull_high_s8(x[p], weights);
      }
    });
    unrolled<kPixels>([&](auto p) __attribute__((always_inline)) { acc[p][c] = vpadalq_s16(acc[p][c], products[p]); });
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
