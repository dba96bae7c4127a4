// Which convolutions are matrix products of few rows. Part of onednn/.
#ifndef OCTAVO_ONEDNN_DENSE_H_
#define OCTAVO_ONEDNN_DENSE_H_

#include "kernels/call.h"

namespace octavo {

// With so few pixels a cut into rows leaves threads without work, and reading the weights is what takes the time: cut
// by columns instead.
inline constexpr std::int64_t kMostDensePixels = 16;
// A fused_conv of 1x1, stride 1, no padding, one group and no residual, of at most so many pixels.
bool is_dense_conv(const CallView& call);

}  // namespace octavo

#endif  // OCTAVO_ONEDNN_DENSE_H_
