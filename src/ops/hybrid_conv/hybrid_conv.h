// hybrid_conv: convolution of activations that were quantized in the run by integer weights, with a real result. Part
// of ops/.
#ifndef OCTAVO_OPS_HYBRID_CONV_HYBRID_CONV_H_
#define OCTAVO_OPS_HYBRID_CONV_HYBRID_CONV_H_

#include <cstdint>
#include <tuple>

#include "graph/op.h"
#include "ops/epilogue.h"
#include "ops/window.h"

namespace octavo {

struct HybridConvAttrs {
  Window window;  // two spatial axes
  std::int64_t groups = 1;
  Epilogue epilogue;  // real results, from scales of x that are known in the run

  bool operator==(const HybridConvAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"window", &HybridConvAttrs::window}, Field{"groups", &HybridConvAttrs::groups},
                      Field{"epilogue", &HybridConvAttrs::epilogue});
  }

  // Whether a pixel of the result depends on the same pixel of x alone.
  bool is_pointwise() const;
};

// channels_last. y = epilogue(acc), where
//   acc = sum over taps of (x - x_zero_point) * (w + w_offset[oc]), exact in s32; outside the image x counts as
//   x_zero_point.
// x u8 [N,H,W,C]; w s8 [OC,KH,KW,C/groups]; x_zero_point u8: one, or one per image, or, where the window is a single
// pixel, one per pixel, in any shape of so many elements; w_offset s32 [OC]. The epilogue begins with ScaleInRun, whose
// scales of x have the shape of x_zero_point.
enum HybridInput : int {
  kHybridX = 0,
  kHybridW = 1,
  kHybridXZero = 2,
  kHybridOffset = 3,
  kHybridXScale = 4,
  kHybridWScale = 5,
  kHybridBias = 6
};
extern const OpSpec kHybridConv;

}  // namespace octavo

#endif  // OCTAVO_OPS_HYBRID_CONV_HYBRID_CONV_H_
