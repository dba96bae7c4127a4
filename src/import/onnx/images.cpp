// ONNX readers: convolutions, pools, resizing and other operators on images. Part of import/.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/fields.h"
#include "import/onnx/operators.h"
#include "ops/conv_integer/conv_integer.h"
#include "ops/lrn/lrn.h"

namespace octavo::onnx_import {
namespace {

// The value of an enum whose names are ONNX's own.
template <class Enum>
Enum read_enum(NodeReader& in, std::string_view attribute, Enum fallback) {
  const std::string name = in.text(attribute, std::string(octavo::name_of(fallback)));
  for (int i = 0; i < count_of(Enum{}); ++i) {
    if (octavo::name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  in.unsupported(quoted("attribute", attribute), "'" + name + "'",
                 "a mode that Octavo has, like '" + std::string(octavo::name_of(fallback)) + "'");
  return fallback;
}

// ---- convolutions ----

ValueId read_conv(NodeReader& in) {
  const ValueId x = in.value(0, "X"), w = in.value(1, "W");
  return conv(in, read_conv_args(in, x, w, in.optional(2)));
}

ValueId read_conv_integer(NodeReader& in) {
  const ValueId x = in.value(0, "X"), w = in.value(1, "W"), x_zero = in.optional(2), w_zero = in.optional(3);
  const ConvArgs args = read_conv_args(in, x, w, {});
  return in.add(kConvInteger, ConvIntegerAttrs{.window = conv_window(in, args), .groups = args.groups},
                {x, w, scalar_if_single(in, x_zero, "x_zero_point"), scalar_if_single(in, w_zero, "w_zero_point")});
}

ValueId read_conv_transpose(NodeReader& in) {
  const ValueId x = in.value(0, "X"), w = in.value(1, "W"), bias = in.optional(2);
  const Number groups = in.integer("group", 1);
  ConvTransposeArgs args{.x = x,
                         .w = in.placed(output_channels_first(in, w, groups), "input 'W'"),
                         .bias = bias,
                         .window = read_window(in),
                         .output_padding = in.integers("output_padding"),
                         .sizes = in.integers("output_shape"),
                         .groups = groups};
  // Batch and channels may stand before the sizes.
  if (in.failed()) return {};
  if (args.sizes.size() > 2 && static_cast<int>(args.sizes.size()) == in.rank(x))
    args.sizes.values.erase(args.sizes.values.begin(), args.sizes.values.begin() + 2);
  return conv_transpose(in, args);
}

// ---- pools ----

Integers all_axes(int rank) {
  Integers axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

ValueId read_average_pool(NodeReader& in) { return average_pool(in, read_pool_args(in, in.value(0, "X"))); }

ValueId read_max_pool(NodeReader& in) {
  const bool is_column_major = in.flag("storage_order");
  const PoolArgs args = read_pool_args(in, in.value(0, "X"));
  if (in.wants(1)) in.output(1, argmax_pool(in, args, is_column_major, "indices"));
  return max_pool(in, args);
}

template <ReduceKind kind>
ValueId read_global_pool(NodeReader& in) {
  return global_pool(in, in.value(0, "X"), kind, Layout::channels_first);
}

// The p of LpPool and GlobalLpPool.
float read_p(NodeReader& in) {
  const Number p = in.integer("p", 2);
  if (p < 1) in.fail(p.place, std::to_string(p.value), "1 or more");
  return static_cast<float>(p.value);
}

ValueId read_lp_pool(NodeReader& in) {
  const ValueId x = in.value(0);
  return lp_pool(in, read_pool_args(in, x), read_p(in));
}

ValueId read_global_lp_pool(NodeReader& in) {
  const ValueId x = in.value(0);
  in.require_rank(x, 3, kMaxRank);
  if (in.failed()) return {};
  const Integers all = all_axes(in.rank(x));
  return lp_norm(in, {.x = x, .axes = Integers(all.begin() + 2, all.end())}, read_p(in));
}

ValueId read_lrn(NodeReader& in) {
  const LrnAttrs attrs{.size = in.integer("size", 0),
                       .alpha = in.number("alpha", 1e-4f),
                       .beta = in.number("beta", 0.75f),
                       .bias = in.number("bias", 1.0f),
                       .axis = 1};
  return in.add(kLrn, attrs, {in.value(0)});
}

// ---- resizing ----

void set_scales(NodeReader& in, ResizeArgs& args, const std::vector<float>& scales) {
  if (scales.size() != args.axes.size())
    in.fail("scales", std::to_string(scales.size()) + " numbers", std::to_string(args.axes.size()));
  for (std::size_t i = 0; i < scales.size() && !in.failed(); ++i) {
    if (!is_scale(scales[i]) || scales[i] >= 1e9f) in.fail("scales", print(scales[i]), "a finite number above 0");
    if (!in.failed())
      args.sizes.values.push_back(scaled(in.shape(args.x)[static_cast<int>(args.axes[i])], {scales[i]}));
  }
  args.scales = scales;
}

// A policy other than stretch takes one scale for all axes.
void set_sizes(NodeReader& in, ResizeArgs& args) {
  args.sizes = in.constant_integers(3, "sizes");
  const std::string policy = in.opset() >= 18 ? in.text("keep_aspect_ratio_policy", "stretch") : "stretch";
  if (policy == "stretch" || in.failed()) return;
  if (policy != "not_larger" && policy != "not_smaller") {
    in.fail("attribute 'keep_aspect_ratio_policy'", "'" + policy + "'", "stretch, not_larger or not_smaller");
    return;
  }
  std::vector<double> scales;
  for (std::size_t i = 0; i < args.axes.size() && args.sizes.size() == args.axes.size(); ++i) {
    const std::int64_t size = in.shape(args.x)[static_cast<int>(args.axes[i])];
    if (size < 1 || args.sizes[i] < 1 || args.sizes[i] > kMaxElements) return;  // the verb says so
    scales.push_back(static_cast<double>(args.sizes[i]) / static_cast<double>(size));
  }
  if (scales.empty()) return;
  const auto [smallest, largest] = std::minmax_element(scales.begin(), scales.end());
  const double scale = policy == "not_larger" ? *smallest : *largest;
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const auto size = static_cast<double>(in.shape(args.x)[static_cast<int>(args.axes[i])]);
    args.sizes.values[i] = static_cast<std::int64_t>(std::floor(scale * size + 0.5));
  }
  args.scales.assign(scales.size(), static_cast<float>(scale));
}

// tf_crop_and_resize: starts, then ends, in parts of each axis.
void set_roi(NodeReader& in, ResizeArgs& args) {
  const std::vector<float> given = in.constant_floats(1, "roi");
  if (!in.failed() && given.size() != 2 * args.axes.size())
    in.fail("input 'roi'", std::to_string(given.size()) + " numbers", std::to_string(2 * args.axes.size()));
  const auto rank = static_cast<std::size_t>(in.rank(args.x));
  args.attrs.roi.assign(rank, 0.0f);
  args.attrs.roi.resize(2 * rank, 1.0f);
  for (std::size_t i = 0; i < args.axes.size() && !in.failed(); ++i) {
    args.attrs.roi[static_cast<std::size_t>(args.axes[i])] = given[i];
    args.attrs.roi[rank + static_cast<std::size_t>(args.axes[i])] = given[args.axes.size() + i];
  }
}

// Upsample and Resize 10: positions are divided by the scale, the neighbour below is taken.
ValueId read_simple_resize(NodeReader& in) {
  ResizeArgs args{.x = in.value(0), .axes = all_axes(in.rank(in.value(0)))};
  const std::vector<float> scales = in.opset() < 9 ? in.numbers("scales") : in.constant_floats(1, "scales");
  const std::string mode = in.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "bilinear")
    in.fail("attribute 'mode'", "'" + mode + "'", "nearest or linear");
  args.attrs.mode = mode == "nearest" ? ResizeMode::nearest : ResizeMode::linear;
  args.attrs.coordinates = ResizeCoordinates::asymmetric;
  args.attrs.nearest = NearestRounding::floor;
  set_scales(in, args, scales);
  return resize(in, args);
}

ValueId read_resize(NodeReader& in) {
  if (in.opset() < 11) return read_simple_resize(in);
  ResizeArgs args{.x = in.value(0)};
  ResizeAttrs& attrs = args.attrs;
  attrs.mode = read_enum(in, "mode", ResizeMode::nearest);
  attrs.coordinates = read_enum(in, "coordinate_transformation_mode", ResizeCoordinates::half_pixel);
  attrs.nearest = read_enum(in, "nearest_mode", NearestRounding::round_prefer_floor);
  attrs.cubic_coefficient = in.number("cubic_coeff_a", -0.75f);
  attrs.exclude_outside = in.flag("exclude_outside");
  attrs.extrapolation_value = in.number("extrapolation_value", 0.0f);
  attrs.antialias = in.opset() >= 18 && in.flag("antialias");
  args.axes =
      in.opset() >= 18 && in.has("axes") ? in.axes(in.integers("axes"), in.rank(args.x)) : all_axes(in.rank(args.x));
  const auto has_elements = [&](int index) { return in.has(index) && in.shape(in.value(index)).elements() > 0; };
  const bool has_scales = has_elements(2), has_sizes = has_elements(3);
  if (in.failed()) return {};
  if (has_scales == has_sizes)
    return in.fail("inputs 'scales' and 'sizes'", has_scales ? "both" : "none", "one of them");
  if (has_scales) in.ignore("keep_aspect_ratio_policy");  // only concerns sizes
  if (has_scales) set_scales(in, args, in.constant_floats(2, "scales"));
  else set_sizes(in, args);
  if (attrs.coordinates == ResizeCoordinates::tf_crop_and_resize) set_roi(in, args);
  return resize(in, args);
}

// With a mode from the opset `since` on.
BlockArgs read_fused_blocks(NodeReader& in, int since) {
  const std::string mode = in.opset() >= since ? in.text("mode", "DCR") : "DCR";
  if (mode != "DCR" && mode != "CRD") in.fail("attribute 'mode'", "'" + mode + "'", "DCR or CRD");
  return {.x = in.value(0), .size = in.integer("blocksize", 0), .is_depth_first = mode == "DCR"};
}
ValueId read_space_to_depth(NodeReader& in) { return space_to_depth(in, read_fused_blocks(in, 28)); }
ValueId read_depth_to_space(NodeReader& in) { return depth_to_space(in, read_fused_blocks(in, 11)); }

constexpr Operator kFusedTable[] = {
    {"AveragePool", 7, 1, 1, read_average_pool},
    {"Conv", 1, 2, 3, read_conv},
    {"ConvInteger", 10, 2, 4, read_conv_integer},
    {"ConvTranspose", 1, 2, 3, read_conv_transpose},
    {"DepthToSpace", 1, 1, 1, read_depth_to_space},
    {"GlobalAveragePool", 1, 1, 1, read_global_pool<ReduceKind::mean>},
    {"GlobalLpPool", 2, 1, 1, read_global_lp_pool},
    {"GlobalMaxPool", 1, 1, 1, read_global_pool<ReduceKind::max>},
    {"LRN", 1, 1, 1, read_lrn},
    {"LpPool", 2, 1, 1, read_lp_pool},
    {"MaxPool", 1, 1, 1, read_max_pool},
    {"Resize", 10, 1, 4, read_resize},
    {"SpaceToDepth", 1, 1, 1, read_space_to_depth},
    {"Upsample", 7, 1, 2, read_simple_resize, 9},
};

}  // namespace

const std::span<const Operator> kImages = kFusedTable;

WindowArgs read_window(NodeReader& in) {
  WindowArgs window{.kernel = in.integers("kernel_shape"),
                    .strides = in.integers("strides"),
                    .dilations = in.integers("dilations"),
                    .pads = in.integers("pads")};
  const std::string mode = in.text("auto_pad", "NOTSET");
  if (mode == "VALID") window.padding = Padding::valid;
  else if (mode == "SAME_UPPER") window.padding = Padding::same_upper;
  else if (mode == "SAME_LOWER") window.padding = Padding::same_lower;
  else if (mode != "NOTSET")
    in.fail("attribute 'auto_pad'", "'" + mode + "'", "NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  return window;
}

ConvArgs read_conv_args(NodeReader& in, ValueId x, ValueId w, ValueId bias) {
  return {.x = x, .w = w, .bias = bias, .window = read_window(in), .groups = in.integer("group", 1)};
}

PoolArgs read_pool_args(NodeReader& in, ValueId x, Layout layout) {
  return {.x = x,
          .window = read_window(in),
          .rounding = in.flag("ceil_mode") ? Rounding::ceil : Rounding::truncate,
          .counts_pad = in.has("count_include_pad") && in.flag("count_include_pad"),
          .layout = layout};
}

}  // namespace octavo::onnx_import
