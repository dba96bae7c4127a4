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
    const std::int32_t* const start = start_of(*args);
    unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
      const int32x4_t first = vld1q_s32(start + 4 * v);
      unrolled<kPixels>([&](auto p) __attribute__((always_inline)) { tile.acc[p][v] = first; });
    });
    multiply_runs(*args, tile);
    std::int32_t sums[kPixels][kVectors][4];
    unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
      unrolled<kVectors>([&](auto v) __attribute__((always_inline)) { vst1q_s32(sums[p][v], tile.acc[p][v]); });
    });
    finish_tile(*args, sums[0][0]);
  }

  inline __attribute__((always_inline)) void add_run(const std::uint8_t* x, std::int64_t pixel_bytes,
                                                     std::int32_t dwords) {
    const std::uint8_t* pixel[kPixels];
    unrolled<kPixels>([&](auto p) __attribute__((always_inline)) { pixel[p] = x + p * pixel_bytes; });
    const uint8x16_t flips = vdupq_n_u8(0x80);
    for (std::int32_t four = dwords / 4; four > 0; --four) {
      int8x16_t bytes[kPixels];
      unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
        bytes[p] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(pixel[p]), flips));
        pixel[p] += 16;
      });
      unrolled<4>([&](auto dword) __attribute__((always_inline)) { add_dword<dword>(bytes); });
    }
    if (dwords % 4 == 0) return;
    int8x16_t bytes[kPixels];
    unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
      const uint8x8_t two = veor_u8(vld1_u8(pixel[p]), vget_low_u8(flips));
      bytes[p] = vreinterpretq_s8_u8(vcombine_u8(two, vdup_n_u8(0)));
    });
    unrolled<2>([&](auto dword) __attribute__((always_inline)) { add_dword<dword>(bytes); });
  }

 private:
  // Two vectors of w at a time: one instruction loads them.
  template <int kDword>
  inline __attribute__((always_inline)) void add_dword(const int8x16_t (&bytes)[kPixels]) {
    constexpr int kTogether = kVectors % 2 == 0 ? 2 : 1;
    unrolled<kVectors / kTogether>([&](auto pair) __attribute__((always_inline)) {
      int8x16_t weights[kTogether];
      unrolled<kTogether>([&](auto k) __attribute__((always_inline)) { weights[k] = vld1q_s8(w + 16 * k); });
      w += 16 * kTogether;
      unrolled<kTogether>([&](auto k) __attribute__((always_inline)) {
        unrolled<kPixels>([&](auto p) __attribute__((always_inline)) {
          int32x4_t& sum = acc[p][kTogether * pair + k];
          sum = vdotq_laneq_s32(sum, weights[k], bytes[p], kDword);
        });
      });
    });
  }
};

}  // namespace

constexpr CompiledTiles kTilesDotprod = compiled_tiles<DotTile, kTileDotprod>();

}  // namespace octavo
