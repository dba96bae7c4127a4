// What follows the sums of a compiled tile: the most frequent form while they are in registers, others by
// TileConfig::finish. Internal linkage only. Part of kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_ARM64_EPILOGUE_H_
#define OCTAVO_KERNELS_CONV_ARM64_EPILOGUE_H_

#include <arm_neon.h>

#include "kernels/conv/arm64_tiles.h"

namespace octavo {
namespace {

// What the sums of a block's channels begin with: the bias, where it is one.
template <int kVectors>
inline __attribute__((always_inline)) const std::int32_t* start_of(const TileArgs& args, std::int64_t block) {
  static constexpr std::int32_t kNone[kTileLanes * kVectors] = {};
  return args.config->run_scales == RunScales::none ? args.bias + block * kTileLanes * kVectors : kNone;
}

// Bytes of four vectors of rounded products.
template <PlainForm kForm>
struct PlainBytes {
  int16x8_t zero_point;
  uint8x16_t lowest, highest, flips;

  explicit PlainBytes(const TileConstants& k)
      : zero_point(vld1q_s16(k.zero_point_words)),
        lowest(vld1q_u8(k.lowest_bytes)),
        highest(vld1q_u8(k.highest_bytes)),
        flips(vld1q_u8(k.flip_bytes)) {}

  inline __attribute__((always_inline)) int16x8_t words(int32x4_t a, int32x4_t b) const {
    if constexpr (kForm == PlainForm::saturated) return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(a), b), zero_point);
    const int16x8_t low = vuzp1q_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b));
    return kForm == PlainForm::words ? vaddq_s16(low, zero_point) : low;
  }
  inline __attribute__((always_inline)) uint8x16_t of(const int32x4_t (&q)[kMostTileVectors]) const {
    uint8x16_t bytes = vqmovun_high_s16(vqmovun_s16(words(q[0], q[1])), words(q[2], q[3]));
    if constexpr (kForm == PlainForm::saturated) bytes = vminq_u8(vmaxq_u8(bytes, lowest), highest);
    return kForm == PlainForm::bare ? bytes : veorq_u8(bytes, flips);
  }
};

// One instruction, which compilers do not make of two. Nothing that is compiled together with it reads y.
inline __attribute__((always_inline)) void store_and_move(std::uint8_t*& y, uint8x16_t bytes, std::int64_t stride) {
  asm volatile("st1 {%1.16b}, [%0], %2" : "+r"(y) : "w"(bytes), "r"(stride));
}

// Bytes of as many channels as a tile can have, scaled, rounded and clamped: 17 to 24 instructions for 16 results. What
// saturates is clamped at the end.
template <PlainForm kForm, int kMost>
inline __attribute__((always_inline)) void finish_plain(const TileArgs& args, std::int64_t block, int pixels,
                                                        int32x4_t (&sums)[kMost][kMostTileVectors]) {
  const auto bytes = PlainBytes<kForm>(*args.constants);
  float32x4_t factor[kMostTileVectors];
  unrolled<kMostTileVectors>([&](auto v) __attribute__((always_inline)) {
    factor[v] = vld1q_f32(args.multiplier + block * kMostTileChannels + v * kTileLanes);
  });
  auto* y = reinterpret_cast<std::uint8_t*>(args.y) + block * kMostTileChannels;
  const std::int64_t stride = args.config->out_channels;
  unrolled<kMost>([&](auto p) __attribute__((always_inline)) {
    if (p >= pixels) return;
    int32x4_t q[kMostTileVectors];
    unrolled<kMostTileVectors>([&](auto v) __attribute__((always_inline)) {
      q[v] = vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sums[p][v]), factor[v]));
    });
    store_and_move(y, bytes.of(q), stride);
  });
}

// The sums of the first `pixels` of a tile, for block number `block`, become results.
template <int kMost, int kVectors>
inline __attribute__((always_inline)) void finish_sums(const TileArgs& args, std::int64_t block, int pixels,
                                                       int32x4_t (&sums)[kMost][kVectors]) {
  if constexpr (kVectors == kMostTileVectors) {
    // Of fewer pixels one form is enough.
    constexpr bool kHasForms = kMost >= 5;
    const PlainForm form = args.config->plain;
    if (kHasForms && form == PlainForm::bare) return finish_plain<PlainForm::bare>(args, block, pixels, sums);
    if (kHasForms && form == PlainForm::words) return finish_plain<PlainForm::words>(args, block, pixels, sums);
    if (form != PlainForm::none) {
      finish_plain<PlainForm::saturated>(args, block, pixels, sums);
      if (args.config->table == TableStep::scalar) look_up_bytes(args, block, pixels);
      return;
    }
  }
  std::int32_t stored[kMost][kVectors][kTileLanes];
  unrolled<kMost>([&](auto p) __attribute__((always_inline)) {
    unrolled<kVectors>([&](auto v) __attribute__((always_inline)) { vst1q_s32(stored[p][v], sums[p][v]); });
  });
  finish_stored(args, block, stored[0][0]);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_ARM64_EPILOGUE_H_
