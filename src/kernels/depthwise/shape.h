// DepthwiseShape: the sizes of a quantized_conv with one input channel per group, and what both of its kernels refuse.
// Part of kernels/.
#ifndef OCTAVO_KERNELS_DEPTHWISE_SHAPE_H_
#define OCTAVO_KERNELS_DEPTHWISE_SHAPE_H_

#include "kernels/call.h"
#include "kernels/depthwise/rows.h"
#include "kernels/epilogue/parts.h"

namespace octavo {

struct QuantizedConvAttrs;

struct DepthwiseShape {
  std::int64_t batch, height, width, in_channels, out_height, out_width, channels;
  std::int64_t kernel_height, kernel_width, stride_height, stride_width, dilation_height, dilation_width, pad_top,
      pad_left;

  static DepthwiseShape of(const CallView& call);
  double macs() const {
    return static_cast<double>(batch * out_height * out_width * channels) *
           static_cast<double>(kernel_height * kernel_width);
  }
};

// Not depthwise, or too large a window.
std::string refuse_not_depthwise(const CallView& call);
// At compile time: constants that pack needs, and operands that must not be constants, which it would drop.
std::string refuse_variable_weights(const OpCall& call);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_DEPTHWISE_SHAPE_H_
