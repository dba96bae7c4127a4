// conv_transpose: transposed convolution of any spatial rank. Part of ops/.
#ifndef OCTAVO_OPS_CONV_TRANSPOSE_CONV_TRANSPOSE_H_
#define OCTAVO_OPS_CONV_TRANSPOSE_CONV_TRANSPOSE_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "graph/op.h"
#include "ops/window.h"

namespace octavo {

struct ConvTransposeAttrs {
  Window window;                    // strides spread the image; padding is cut off the result
  std::vector<Dim> output_padding;  // per spatial axis, not negative: positions at the end that padding does not cut
  std::int64_t groups = 1;
  Layout layout = Layout::channels_first;

  bool operator==(const ConvTransposeAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"window", &ConvTransposeAttrs::window},
                      Field{"output_padding", &ConvTransposeAttrs::output_padding},
                      Field{"groups", &ConvTransposeAttrs::groups}, Field{"layout", &ConvTransposeAttrs::layout});
  }
};

// y[n,oc,o] = bias[oc] + sum over taps k, channels ic and pixels i with i*stride + k*dilation - pad_begin = o of
// x[n, group(oc), ic, i] * w[oc,ic,k]; along each axis y has (size - 1) * stride + (kernel - 1) * dilation + 1 +
// output_padding - pad_begin - pad_end positions. inputs: x, w, bias?. The weights are those of conv, output channels
// first: channels_first: x [N,C,spatial], w [OC, C/groups, kernel]; channels_last: x [N,spatial,C], w [OC, kernel,
// C/groups]. f32, f16 or f64: summed in f64 and rounded once.
extern const OpSpec kConvTranspose;

}  // namespace octavo

#endif  // OCTAVO_OPS_CONV_TRANSPOSE_CONV_TRANSPOSE_H_
