// The convolution sum in f64. Part of ops/.
#include "ops/float_conv.h"

namespace octavo {

double sum_taps(const std::vector<Tap>& taps, const double* x, const double* w, const Image& image,
                const Image& kernel) {
  double sum = 0.0;
  for (const Tap& tap : taps) {
    const double* xt = x + tap.image;
    const double* wt = w + kernel.offset(tap.kernel);
    for (std::int64_t ic = 0; ic < kernel.channels; ++ic)
      sum += xt[ic * image.channel_stride] * wt[ic * kernel.channel_stride];
  }
  return sum;
}

std::vector<double> to_doubles(const ConstTensorView& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.shape.elements()));
  if (tensor.dtype == DType::f32) {
    const auto floats = tensor.span<float>();
    values.assign(floats.begin(), floats.end());
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = element_as_double(tensor, static_cast<std::int64_t>(i));
  return values;
}

void convolve(const FloatConv& args, const std::function<void(std::int64_t, std::int64_t, double)>& store) {
  const std::vector<double> x = to_doubles(args.x);
  const std::vector<double> w = to_doubles(args.w);
  const Image image = Image::of(args.x.shape, args.conv.layout);
  const Image kernel = Image::of(args.w.shape, args.conv.layout);
  const Image result = Image::of(args.y, args.conv.layout);
  const std::int64_t channels_per_group = result.channels / args.conv.groups;
  TapLister lister(args.conv.window, image, result.sizes, TapLister::Outside::leave_out);
  for (std::int64_t n = 0; n < result.batch; ++n) {
    for (std::int64_t position = 0; position < result.positions(); ++position) {
      const std::vector<Tap>& taps = lister.at(position);
      const std::int64_t y0 = n * result.batch_stride + result.offset(position);
      for (std::int64_t oc = 0; oc < result.channels; ++oc) {
        const std::int64_t first_channel = oc / channels_per_group * kernel.channels;
        const double* xg = x.data() + n * image.batch_stride + first_channel * image.channel_stride;
        store(y0 + oc * result.channel_stride, oc,
              sum_taps(taps, xg, w.data() + oc * kernel.batch_stride, image, kernel));
      }
    }
  }
}

}  // namespace octavo
