// conv: convolution (cross-correlation) of any spatial rank. Part of ops/.
#ifndef OCTAVO_OPS_CONV_CONV_H_
#define OCTAVO_OPS_CONV_CONV_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"
#include "ops/window.h"

namespace octavo {

struct ConvAttrs {
  Window window;
  std::int64_t groups = 1;
  Layout layout = Layout::channels_first;

  bool operator==(const ConvAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"window", &ConvAttrs::window}, Field{"groups", &ConvAttrs::groups},
                      Field{"layout", &ConvAttrs::layout});
  }
};

// y[n,oc,o] = bias[oc] + sum over taps k and channels ic of x[n, group(oc), ic, o*stride + k*dilation - pad] *
// w[oc,ic,k]. inputs: x, w, bias?. channels_first: x [N,C,spatial], w [OC, C/groups, kernel]; channels_last: x
// [N,spatial,C], w [OC, kernel, C/groups]. f32, f16 or f64: summed in f64 and rounded once. Outside the image x counts
// as 0.
extern const OpSpec kConv;

}  // namespace octavo

#endif  // OCTAVO_OPS_CONV_CONV_H_
