// fused_conv: f32 convolution with bias, activation and residual; made by lower/ for sections kept in f32. Part of
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

// Where another value is added. Numbers are part of the artifact format.
enum class ResidualPlace : std::uint8_t { none = 0, before_activation = 1, after_activation = 2 };
constexpr int count_of(ResidualPlace) { return 3; }
constexpr std::string_view name_of(ResidualPlace place) {
  constexpr std::string_view names[] = {"none", "before_activation", "after_activation"};
  return names[static_cast<int>(place)];
}

struct FusedConvAttrs {
  Window window;  // two spatial axes
  std::int64_t groups = 1;
  UnaryAttrs activation;  // identity where none
  ResidualPlace residual = ResidualPlace::none;

  bool operator==(const FusedConvAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"window", &FusedConvAttrs::window}, Field{"groups", &FusedConvAttrs::groups},
                      Field{"activation", &FusedConvAttrs::activation}, Field{"residual", &FusedConvAttrs::residual});
  }
};

// channels_last. inputs: x [N,H,W,C], w [OC,KH,KW,C/groups], bias? [OC], residual?. f32. Each sum is one chain of fused
// multiply-adds in f32: from 0, over the taps in row-major order, those of the padding with x = 0, and over the
// channels of each; then the bias is added (0 where there is none), the residual where it comes first, and the
// activation's f32 function is taken. So what was fused has the bits of single operators.
extern const OpSpec kFusedConv;

}  // namespace octavo

#endif  // OCTAVO_OPS_FUSED_CONV_FUSED_CONV_H_
