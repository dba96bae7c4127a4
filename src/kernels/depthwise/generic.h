// Depthwise position by position over any Simd: all epilogues, any channel multiplier. Internal linkage only. Part of
// kernels/.
#ifndef OCTAVO_KERNELS_DEPTHWISE_GENERIC_H_
#define OCTAVO_KERNELS_DEPTHWISE_GENERIC_H_

#include "kernels/depthwise/rows.h"
#include "kernels/epilogue/generic.h"
#include "kernels/simd/scalar.h"

namespace octavo {
namespace {

// Channels [first, channels), one by one.
template <class X>
void accumulate_channels(const DepthwisePosition& p, std::int64_t first) {
  for (std::int64_t c = first; c < p.channels; ++c) {
    std::int32_t sum = p.bias[c];
    const std::int64_t ic = p.channel_multiplier == 1 ? c : c / p.channel_multiplier;
    for (std::int64_t pair = 0; pair < p.pairs; ++pair) {
      const std::int16_t* w = p.weights + (pair * p.channels + c) * 2;
      const X left = reinterpret_cast<const X*>(p.taps[2 * pair])[ic];
      const X right = reinterpret_cast<const X*>(p.taps[2 * pair + 1])[ic];
      sum += static_cast<std::int32_t>(left) * w[0] + static_cast<std::int32_t>(right) * w[1];
    }
    p.acc[c] = sum;
  }
}

// kWide: accumulates the first channels in vectors and returns how many.
template <std::int64_t (*kWide)(const DepthwisePosition&)>
void accumulate_position(const DepthwisePosition& position) {
  const std::int64_t done = position.channel_multiplier == 1 ? kWide(position) : 0;
  return position.x_is_signed ? accumulate_channels<std::int8_t>(position, done)
                              : accumulate_channels<std::uint8_t>(position, done);
}

template <class S, std::int64_t (*kWide)(const DepthwisePosition&)>
constexpr DepthwiseFunctions depthwise_functions() {
  return {.accumulate = &accumulate_position<kWide>, .finish = &finish_channels<S>};
}

}  // namespace
}  // namespace octavo

#endif  // OCTAVO_KERNELS_DEPTHWISE_GENERIC_H_
