// Convolution tiles by sdot. Part of kernels/conv/.
#include "kernels/conv/arm64_epilogue.h"
#include "kernels/conv/arm64_tiles.h"

namespace octavo {
namespace {

// acc[p][v] += x[p] (4 bytes, in all lanes) * w[v] (4 channels). w [dword][vector][lane][4].
//   registers: pixels * vectors sums, 16 bytes of x of each pixel, w as it comes: 6 * 4 + 6 + 2
template <int kPixels, int kVectors>
struct DotTile {
  int32x4_t acc[kPixels][kVectors];
  const std::int8_t* w;

  static void run(const TileArgs* args) {
    DotTile tile;
    for (auto& pixel : tile.acc) {
      for (int32x4_t& sum : pixel) sum = vdupq_n_s32(0);
    }
    multiply_runs(*args, tile);
    std::int32_t sums[kPixels][kVectors][4];
    for (int p = 0; p < kPixels; ++p) {
      for (int v = 0; v < kVectors; ++v) vst1q_s32(sums[p][v], tile.acc[p][v]);
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
      add_dword<0>(bytes);
      add_dword<1>(bytes);
      add_dword<2>(bytes);
      add_dword<3>(bytes);
    }
    for (std::int32_t one = dwords % 4; one > 0; --one) {
      int8x16_t bytes[kPixels];
      for (int p = 0; p < kPixels; ++p, pixel[p - 1] += 4) {
        const auto dword = vld1q_lane_u32(reinterpret_cast<const std::uint32_t*>(pixel[p]), vdupq_n_u32(0), 0);
        bytes[p] = vreinterpretq_s8_u8(veorq_u8(vreinterpretq_u8_u32(dword), flips));
      }
      add_dword<0>(bytes);
    }
  }

 private:
  template <int kDword>
  inline __attribute__((always_inline)) void add_dword(const int8x16_t (&bytes)[kPixels]) {
    for (int v = 0; v < kVectors; ++v, w += 16) {
      const int8x16_t weights = vld1q_s8(w);
      for (int p = 0; p < kPixels; ++p) acc[p][v] = vdotq_laneq_s32(acc[p][v], weights, bytes[p], kDword);
    }
  }
};

}  // namespace

constexpr CompiledTiles kTilesDotprod = compiled_tiles<DotTile, kTileDotprod>();

}  // namespace octavo
