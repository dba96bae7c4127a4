// conv_transpose: shape rule and reference. Part of ops/.
#include "ops/conv_transpose/conv_transpose.h"

#include <algorithm>

#include "graph/attrs_of.h"
#include "ops/float_conv.h"
#include "ops/one_image.h"
#include "ops/planar.h"
#include "ops/traits.h"

namespace octavo {
namespace {

// Nothing sensible is larger; keeps every product below in 64 bits.
constexpr std::int64_t kLimit = std::int64_t{1} << 31;

Problem check_output_padding(const ConvTransposeAttrs& conv) {
  if (conv.output_padding.size() != conv.window.kernel.size())
    return shape_error("output_padding", std::to_string(conv.output_padding.size()) + " entries",
                       std::to_string(conv.window.kernel.size()));
  for (const Dim& extra : conv.output_padding) {
    if (auto problem = check_range("output_padding", extra, 0, kLimit)) return problem;
  }
  return std::nullopt;
}

Result<std::vector<Dim>> result_dims(const ConvTransposeAttrs& conv, const OpenShape& x, const OpenShape& w) {
  const ConvShapes shapes{.window = conv.window, .groups = conv.groups, .layout = conv.layout};
  if (auto problem = check_conv(shapes, x, w)) return *problem;
  if (auto problem = check_output_padding(conv)) return *problem;
  ImageExtents image = ImageExtents::of(x, conv.layout);
  for (std::size_t i = 0; i < image.sizes.size(); ++i) {
    const std::string axis = " (spatial axis " + std::to_string(i) + ")";
    if (image.sizes[i] < 1 || image.sizes[i] > kLimit)
      return shape_error("x", to_string(image.sizes[i]) + " positions" + axis, "1 to " + std::to_string(kLimit));
    const Dim whole = (image.sizes[i] - 1) * conv.window.strides[i] + conv.window.extent(static_cast<int>(i)) +
                      conv.output_padding[i];
    const Dim size = whole - conv.window.pad_begin[i] - conv.window.pad_end[i];
    if (size < 1)
      return shape_error("padding", "all of " + to_string(whole) + " positions" + axis, "at least one left");
    image.sizes[i] = size;
  }
  image.channels = w[0];
  return image.dims(conv.layout);
}

Result<std::vector<Fact>> infer_conv_transpose(const Attrs& attrs, InputFacts inputs) {
  const auto& conv = attrs.as<ConvTransposeAttrs>();
  const Fact& x = *inputs[0];
  const Fact& w = *inputs[1];
  const Fact* bias = fact_at(inputs, 2);
  if (auto problem =
          first_of({check_dtype("x", x, {DType::f32, DType::f16, DType::f64}), check_same_dtype("w", w, x.dtype)}))
    return *problem;
  auto dims = result_dims(conv, x.shape, w.shape);
  if (!dims) return std::move(dims).errors();
  if (bias != nullptr) {
    if (auto problem = first_of({check_same_dtype("bias", *bias, x.dtype), check_shape("bias", *bias, {w.shape[0]})}))
      return *problem;
  }
  return one_output(x.dtype, *std::move(dims));
}

// The taps that reach one position of the result, and the pixels that they come from.
class Reached {
 public:
  Reached(const Window& window, const Image& image) : window_(window), image_(image) {}

  const std::vector<Tap>& at(std::span<const std::int64_t> position) {
    taps_.clear();
    add_axis(position, 0, {.is_inside = true});
    return taps_;
  }

 private:
  void add_axis(std::span<const std::int64_t> position, std::size_t axis, Tap tap) {
    if (axis == position.size()) {
      taps_.push_back(tap);
      return;
    }
    const std::int64_t dilation = window_.dilations[axis], stride = window_.strides[axis];
    const std::int64_t at = position[axis] + window_.pad_begin[axis];
    // Only taps that can reach a pixel are walked, so that a huge window over a small image takes no time.
    const std::int64_t last_pixel = (image_.sizes[axis] - 1) * stride;
    const std::int64_t begin = at <= last_pixel ? 0 : (at - last_pixel + dilation - 1) / dilation;
    const std::int64_t end = std::min<std::int64_t>(window_.kernel[axis], at / dilation + 1);
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t spread = at - k * dilation;
      if (spread % stride != 0) continue;
      add_axis(position, axis + 1,
               {.is_inside = true,
                .image = tap.image + spread / stride * image_.strides[axis],
                .kernel = tap.kernel * window_.kernel[axis] + k});
    }
  }

  const Window& window_;
  const Image& image_;
  std::vector<Tap> taps_;
};

std::vector<std::int64_t> position_of(std::int64_t number, std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> position(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0; number /= sizes[axis]) position[axis] = number % sizes[axis];
  return position;
}

void reference_conv_transpose(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& conv = attrs.as<ConvTransposeAttrs>();
  const std::vector<double> x = to_doubles(inputs[0]), w = to_doubles(inputs[1]);
  const Image image = Image::of(inputs[0].shape, conv.layout), kernel = Image::of(inputs[1].shape, conv.layout);
  const Image result = Image::of(outputs[0].shape, conv.layout);
  const bool has_bias = has_view(inputs, 2);
  if (outputs[0].shape.elements() == 0) return;
  Reached reached(conv.window, image);
  for (std::int64_t number = 0; number < result.positions(); ++number) {
    const std::vector<Tap>& taps = reached.at(position_of(number, result.sizes));
    for (std::int64_t n = 0; n < result.batch; ++n) {
      for (std::int64_t oc = 0; oc < result.channels; ++oc) {
        const std::int64_t group = oc / (result.channels / conv.groups);
        const double* xg = x.data() + n * image.batch_stride + group * kernel.channels * image.channel_stride;
        const double sum = sum_taps(taps, xg, w.data() + oc * kernel.batch_stride, image, kernel);
        store_double(outputs[0], n * result.batch_stride + result.offset(number) + oc * result.channel_stride,
                     sum + (has_bias ? element_as_double(inputs[2], oc) : 0.0));
      }
    }
  }
}

// Each position of the result is reached by a share of the taps.
std::int64_t depth_of_reached(const Attrs& attrs, InputFacts inputs) {
  std::int64_t depth = depth_of_weights(attrs, inputs);
  for (const std::int64_t stride : attrs.as<ConvTransposeAttrs>().window.strides) depth /= stride;
  return std::max<std::int64_t>(1, depth);
}

std::optional<Attrs> conv_transpose_channels_last(const Attrs& attrs) {
  const bool is_line = attrs.as<ConvTransposeAttrs>().window.rank() == 1;
  auto changed = image_channels_last<ConvTransposeAttrs>(attrs);
  if (!changed || !is_line) return changed;
  auto image = changed->as<ConvTransposeAttrs>();
  image.output_padding.insert(image.output_padding.begin(), 0);
  return image;
}

NodeRole role_of_conv_transpose(const Attrs& attrs, InputFacts inputs) {
  const auto& conv = attrs.as<ConvTransposeAttrs>();
  return role_of_planar_convolution(conv.window, conv.groups, inputs);
}

}  // namespace

const OpSpec kConvTranspose = {
    .name = "conv_transpose",
    .summary =
        "y[n,oc,o] = bias[oc] + sum over pixels i, taps k and channels ic with i*stride + k*dilation - pad = o of "
        "x[n,ic,i] * w[oc,ic,k]; floats, summed in f64",
    .inputs = {"x", "w", "bias?"},
    .infer = infer_conv_transpose,
    .reference = reference_conv_transpose,
    .decode_attrs = decode_attrs_as<ConvTransposeAttrs>,
    .for_one_image = same_for_one_image,
    .depth = depth_of_reached,
    .channels_last = conv_transpose_channels_last,
    .images = 2,
    .role = role_of_conv_transpose,
    .weight_axis = 0,
    .read_from = "ONNX ConvTranspose; TFLite TRANSPOSE_CONV; ATen conv_transpose2d",
    .integer_form = "quantized_conv of its phases",
};

template Attrs::Attrs(ConvTransposeAttrs);

}  // namespace octavo
