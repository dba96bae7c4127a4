// ATen readers: convolutions, pools and upsampling. Part of import/.
#include <cmath>

#include "base/fields.h"
#include "import/pt2/operators.h"
#include "import/rare_verbs.h"
#include "ops/grid_sample/grid_sample.h"

namespace octavo::pt2_import {
namespace {

// `padding` on either side of each axis.
Numbers read_pads(NodeReader& in, int rank) {
  Numbers pads = in.per_axis("padding", rank);
  const Integers begin = pads;
  pads.values.insert(pads.values.end(), begin.begin(), begin.end());
  return pads;
}

ValueId read_conv_transpose(NodeReader& in) {
  ConvTransposeArgs args{.x = in.value("input"), .bias = in.optional("bias")};
  const ValueId w = in.value("weight");
  in.ignore("transposed");
  in.require_rank(args.x, 3, kMaxRank);
  const int rank = in.rank(args.x) - 2;
  args.window = {
      .strides = in.per_axis("stride", rank), .dilations = in.per_axis("dilation", rank), .pads = read_pads(in, rank)};
  args.output_padding = in.per_axis("output_padding", rank);
  const Number groups = in.integer("groups", 1);
  args.groups = groups;
  args.w = output_channels_first(in, w, groups);
  return conv_transpose(in, args);
}

ValueId read_conv(NodeReader& in) {
  if (in.flag("transposed")) return read_conv_transpose(in);
  ConvArgs args{.x = in.value("input"), .w = in.value("weight"), .bias = in.optional("bias")};
  in.ignore("output_padding");
  in.require_rank(args.x, 3, kMaxRank);
  const int rank = in.rank(args.x) - 2;
  args.window.strides = in.per_axis("stride", rank);
  args.window.dilations = in.per_axis("dilation", rank);
  if (!in.is_text("padding")) {
    args.window.pads = read_pads(in, rank);
  } else if (const std::string name = in.text("padding", "valid"); name == "same" || name == "valid") {
    args.window.padding = name == "same" ? Padding::same_upper : Padding::valid;
  } else {
    in.fail("argument 'padding'", "'" + name + "'", "'same' or 'valid'");
  }
  args.groups = in.integer("groups", 1);
  return conv(in, args);
}

// kernel_size, stride (empty: the kernel), padding and ceil_mode.
PoolArgs read_pool(NodeReader& in, int rank) {
  PoolArgs args{.x = in.value("self")};
  in.require_rank(args.x, rank + 2, rank + 2);
  args.window.kernel = in.per_axis("kernel_size", rank);
  args.window.strides = in.per_axis("stride", rank);
  if (args.window.strides.empty()) args.window.strides = args.window.kernel;
  args.window.pads = read_pads(in, rank);
  args.rounding = in.flag("ceil_mode") ? Rounding::ceil : Rounding::floor;
  return args;
}

template <int rank>
ValueId read_average_pool(NodeReader& in) {
  PoolArgs args = read_pool(in, rank);
  args.counts_pad = in.flag("count_include_pad", true);
  if (in.has("divisor_override")) in.unsupported("argument 'divisor_override'", "a number", "none");
  return average_pool(in, args);
}

template <int rank>
ValueId read_max_pool(NodeReader& in) {
  PoolArgs args = read_pool(in, rank);
  args.window.dilations = in.per_axis("dilation", rank);
  return max_pool(in, args);
}

// Over the last axes. Sizes that divide are windows side by side; one output is a mean, as many as inputs nothing at
// all.
template <int kAxes>
ValueId read_adaptive_average_pool(NodeReader& in) {
  const ValueId x = in.value("self");
  const Numbers sizes = in.per_axis("output_size", kAxes);
  in.require_rank(x, kAxes + 2, kAxes + 2);
  if (in.failed()) return {};
  const auto all = [&](auto&& holds) {
    for (std::size_t i = 0; i < kAxes; ++i) {
      if (!holds(sizes[i], in.shape(x)[static_cast<int>(i) + 2])) return false;
    }
    return true;
  };
  if (sizes.size() == kAxes && all([](const Dim& to, const Dim&) { return is_one(to); }))
    return global_pool(in, x, ReduceKind::mean, Layout::channels_first);
  if (sizes.size() != kAxes ||
      !all([](const Dim& to, const Dim& from) { return to >= 1 && from != 0 && from % to == 0; }))
    return in.unsupported(sizes.place, print(sizes.values) + " of an image of " + in.shape(x).to_string(),
                          "sizes that divide the image's");
  if (all([](const Dim& to, const Dim& from) { return to == from; })) return x;
  Integers kernel;
  for (std::size_t i = 0; i < kAxes; ++i) kernel.push_back(in.shape(x)[static_cast<int>(i) + 2] / sizes[i]);
  return average_pool(in, {.x = x, .window = {.kernel = kernel, .strides = kernel}});
}

// In f64, as PyTorch computes it.
Dim scaled_exactly(const Dim& size, double scale) {
  if (!size.is_number()) return scaled(size, {scale, DType::f64});
  const double wanted = std::floor(static_cast<double>(size.example()) * scale);
  return wanted >= 1.0 && wanted <= static_cast<double>(kMaxElements) ? static_cast<std::int64_t>(wanted) : 0;
}

template <ResizeMode mode>
ValueId read_upsample(NodeReader& in) {
  ResizeArgs args{.x = in.value(in.has("input") ? "input" : "self"), .axes = {2, 3}};
  const bool aligns = mode == ResizeMode::linear && in.flag("align_corners");
  args.attrs.mode = mode;
  args.attrs.nearest = NearestRounding::floor;
  args.attrs.coordinates = mode == ResizeMode::nearest ? ResizeCoordinates::asymmetric
                           : aligns                    ? ResizeCoordinates::align_corners
                                                       : ResizeCoordinates::half_pixel;
  args.sizes = in.integers("output_size");
  // A list of both, or one argument each; zeros where they are not given.
  const std::vector<double> scales = in.has("scale_factors")
                                         ? in.numbers("scale_factors")
                                         : std::vector<double>{in.number("scales_h", 0.0), in.number("scales_w", 0.0)};
  in.ignore("scale_factors");
  in.require_rank(args.x, 4, 4);
  if (in.failed()) return {};
  if ((args.sizes.size() != 2 && !args.sizes.empty()) || scales.size() != 2)
    return in.fail(args.sizes.place, print(args.sizes.values), "2 sizes, or 2 scales");
  const Extents given = std::exchange(args.sizes.values, {});
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim size = in.shape(args.x)[static_cast<int>(i) + 2];
    const Dim wanted = given.empty() ? scaled_exactly(size, scales[i]) : given[i];
    if (size < 1 || wanted < 1 || wanted > kMaxElements)
      return in.fail(args.sizes.place, print(given), "sizes above 0 for an image that is not empty");
    args.sizes.values.push_back(wanted);
    // A scale that is given is used as it is, else that of the sizes.
    args.scales.push_back(scales[i] > 0.0 ? static_cast<float>(scales[i]) : ratio(wanted, size));
  }
  return resize(in, args);
}

// The value that the argument numbers.
template <class Value, std::size_t n>
Value numbered(NodeReader& in, std::string_view name, const Value (&values)[n]) {
  const Number number = in.integer(name);
  if (number.value >= 0 && number.value < static_cast<std::int64_t>(n)) return values[number.value];
  in.fail(number.place, std::to_string(number.value), "0 to " + std::to_string(n - 1));
  return values[0];
}

// nn.Fold.
ValueId read_col2im(NodeReader& in) {
  constexpr int kAxes = 2;
  Col2ImArgs args{.x = in.value("self"),
                  .image = in.integers("output_size"),
                  .block = in.per_axis("kernel_size", kAxes),
                  .strides = in.per_axis("stride", kAxes),
                  .dilations = in.per_axis("dilation", kAxes),
                  .pads = read_pads(in, kAxes)};
  return col2im(in, args);
}

ValueId read_grid_sample(NodeReader& in) {
  constexpr SampleMode kModes[] = {SampleMode::linear, SampleMode::nearest, SampleMode::cubic};
  constexpr SamplePadding kPaddings[] = {SamplePadding::zeros, SamplePadding::border, SamplePadding::reflection};
  const ValueId x = in.value("input"), grid = in.value("grid");
  const GridSampleAttrs attrs{
      .mode = numbered(in, "interpolation_mode", kModes),
      .padding = numbered(in, "padding_mode", kPaddings),
      .coordinates = in.flag("align_corners") ? GridCoordinates::middles : GridCoordinates::edges};
  return in.add(kGridSample, attrs, {x, grid});
}

// [n, g·c, ...] -> [n, g, c, ...] -> [n, c, g, ...] -> [n, c·g, ...]
ValueId read_channel_shuffle(NodeReader& in) {
  const ValueId x = in.value("self");
  const Number groups = in.integer("groups");
  in.require_rank(x, 3, kMaxRank - 1);
  if (in.failed()) return {};
  const Extents dims = in.shape(x).to_vector();
  if (groups < 1 || dims[1] % groups.value != 0)
    return in.fail(groups.place, std::to_string(groups.value), "a divisor of " + to_string(dims[1]));
  Extents apart = dims;
  apart[1] = groups.value;
  apart.insert(apart.begin() + 2, dims[1] / groups.value);
  return in.reshape(swap_axes(in, in.reshape(x, apart, "apart"), 1, 2, "turned"), dims);
}

constexpr Operator kImagesTable[] = {
    {"aten._adaptive_avg_pool2d", "default", kFresh, read_adaptive_average_pool<2>},
    {"aten._adaptive_avg_pool3d", "default", kFresh, read_adaptive_average_pool<3>},
    {"aten.adaptive_avg_pool1d", "default", kFresh, read_adaptive_average_pool<1>},
    {"aten.adaptive_avg_pool2d", "default", kFresh, read_adaptive_average_pool<2>},
    {"aten.adaptive_avg_pool3d", "default", kFresh, read_adaptive_average_pool<3>},
    {"aten.avg_pool1d", "default", kFresh, read_average_pool<1>},
    {"aten.avg_pool2d", "default", kFresh, read_average_pool<2>},
    {"aten.avg_pool3d", "default", kFresh, read_average_pool<3>},
    {"aten.channel_shuffle", "default", kFresh, read_channel_shuffle},
    {"aten.col2im", "default", kFresh, read_col2im},
    {"aten.conv1d", "default padding", kFresh, read_conv},
    {"aten.conv2d", "default padding", kFresh, read_conv},
    {"aten.conv3d", "default padding", kFresh, read_conv},
    {"aten.conv_transpose1d", "default", kFresh, read_conv_transpose},
    {"aten.conv_transpose2d", "input", kFresh, read_conv_transpose},
    {"aten.conv_transpose3d", "input", kFresh, read_conv_transpose},
    {"aten.convolution", "default", kFresh, read_conv},
    {"aten.grid_sampler", "default", kFresh, read_grid_sample},
    {"aten.grid_sampler_2d", "default", kFresh, read_grid_sample},
    {"aten.grid_sampler_3d", "default", kFresh, read_grid_sample},
    {"aten.max_pool1d", "default", kFresh, read_max_pool<1>},
    {"aten.max_pool2d", "default", kFresh, read_max_pool<2>},
    {"aten.max_pool2d_with_indices", "default", kFresh, read_max_pool<2>},
    {"aten.max_pool3d", "default", kFresh, read_max_pool<3>},
    {"aten.max_pool3d_with_indices", "default", kFresh, read_max_pool<3>},
    {"aten.upsample_bilinear2d", "default vec", kFresh, read_upsample<ResizeMode::linear>},
    {"aten.upsample_nearest2d", "default vec", kFresh, read_upsample<ResizeMode::nearest>},
};

}  // namespace

const std::span<const Operator> kImages = kImagesTable;

}  // namespace octavo::pt2_import
