// Pairs of taps by widening multiply-adds, 32, 16 and 8 channels at a time: exact for any weights. Internal linkage
// only. Part of kernels/.
#ifndef OCTAVO_KERNELS_DEPTHWISE_PAIRS_NEON_H_
#define OCTAVO_KERNELS_DEPTHWISE_PAIRS_NEON_H_

#include <arm_neon.h>

#include "kernels/depthwise/rows.h"

namespace octavo {
namespace {

template <bool kSigned>
int16x8_t widen_bytes(const std::uint8_t* x) {
  const uint8x8_t bytes = vld1_u8(x);
  return kSigned ? vmovl_s8(vreinterpret_s8_u8(bytes)) : vreinterpretq_s16_u16(vmovl_u8(bytes));
}

// acc[2 * i], acc[2 * i + 1]: channels 8 * i ... 8 * i + 7 from `first` on.
template <bool kSigned, int kEights>
void accumulate_eights(const DepthwisePosition& p, std::int64_t first) {
  int32x4_t acc[2 * kEights];
  for (int i = 0; i < 2 * kEights; ++i) acc[i] = vld1q_s32(p.bias + first + 4 * i);
  for (std::int64_t pair = 0; pair < p.pairs; ++pair) {
    const std::uint8_t* x0 = p.taps[2 * pair] + first;
    const std::uint8_t* x1 = p.taps[2 * pair + 1] + first;
    const std::int16_t* w = p.weights + (pair * p.channels + first) * 2;
    for (int i = 0; i < kEights; ++i) {
      const int16x8_t left = widen_bytes<kSigned>(x0 + 8 * i), right = widen_bytes<kSigned>(x1 + 8 * i);
      const int16x8x2_t weights = vld2q_s16(w + 16 * i);  // of the left tap, and of the right
      acc[2 * i] = vmlal_s16(acc[2 * i], vget_low_s16(left), vget_low_s16(weights.val[0]));
      acc[2 * i + 1] = vmlal_high_s16(acc[2 * i + 1], left, weights.val[0]);
      acc[2 * i] = vmlal_s16(acc[2 * i], vget_low_s16(right), vget_low_s16(weights.val[1]));
      acc[2 * i + 1] = vmlal_high_s16(acc[2 * i + 1], right, weights.val[1]);
    }
  }
  for (int i = 0; i < 2 * kEights; ++i) vst1q_s32(p.acc + first + 4 * i, acc[i]);
}

template <bool kSigned>
std::int64_t accumulate_blocks(const DepthwisePosition& p) {
  std::int64_t c = 0;
  for (; c + 32 <= p.channels; c += 32) accumulate_eights<kSigned, 4>(p, c);
  for (; c + 16 <= p.channels; c += 16) accumulate_eights<kSigned, 2>(p, c);
  for (; c + 8 <= p.channels; c += 8) accumulate_eights<kSigned, 1>(p, c);
  return c;
}

std::int64_t accumulate_pairs(const DepthwisePosition& p) {
  return p.x_is_signed ? accumulate_blocks<true>(p) : accumulate_blocks<false>(p);
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_DEPTHWISE_PAIRS_NEON_H_
