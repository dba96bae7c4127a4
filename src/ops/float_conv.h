// The convolution sum in f64 that conv and fused_conv share. Part of ops/.
#ifndef OCTAVO_OPS_FLOAT_CONV_H_
#define OCTAVO_OPS_FLOAT_CONV_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "ops/image.h"

namespace octavo {

// All elements as f64.
std::vector<double> to_doubles(const ConstTensorView& tensor);

// sum over taps and channels of x * w for one output element, channel by channel: x points at the group's first channel
// of the image, w at the output channel's kernel.
double sum_taps(const std::vector<Tap>& taps, const double* x, const double* w, const Image& image,
                const Image& kernel);

// sum over taps and channels of x * w at every output position, in f64, channel by channel in order of the taps.
// Calls `store(element of y, oc, sum)`.
struct FloatConv {
  const ConvShapes& conv;
  const ConstTensorView& x;
  const ConstTensorView& w;
  const Shape& y;
};
void convolve(const FloatConv& args, const std::function<void(std::int64_t, std::int64_t, double)>& store);

}  // namespace octavo

#endif  // OCTAVO_OPS_FLOAT_CONV_H_
