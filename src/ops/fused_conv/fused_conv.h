// fused_conv: f32 convolution with bias, residual and activation; made by lower/ for sections kept in f32. Part of
// ops/.
#ifndef OCTAVO_OPS_FUSED_CONV_FUSED_CONV_H_
#define OCTAVO_OPS_FUSED_CONV_FUSED_CONV_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"
#include "ops/unary/unary.h"
#include "ops/window.h"

namespace octavo {

struct FusedConvAttrs {
  Window window;  // two spatial axes
  std::int64_t groups = 1;
  UnaryAttrs activation;      // identity where none
  bool has_residual = false;  // added before the activation

  bool operator==(const FusedConvAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"window", &FusedConvAttrs::window}, Field{"groups", &FusedConvAttrs::groups},
                      Field{"activation", &FusedConvAttrs::activation},
                      Field{"has_residual", &FusedConvAttrs::has_residual});
  }
};

// channels_last. inputs: x [N,H,W,C], w [OC,KH,KW,C/groups], bias? [OC], residual?. f32.
extern const OpSpec kFusedConv;

}  // namespace octavo

#endif  // OCTAVO_OPS_FUSED_CONV_FUSED_CONV_H_
