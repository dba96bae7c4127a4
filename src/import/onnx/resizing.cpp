// ONNX readers: Resize of all versions, and Upsample. Part of import/.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/fields.h"
#include "import/onnx/operators.h"
#include "ops/list.h"

namespace octavo::onnx_import {
namespace {

// The value of an enum whose names are ONNX's own.
template <class Enum>
Enum read_enum(NodeReader& in, std::string_view attribute, Enum fallback) {
  const std::string name = in.attributes.text(attribute, std::string(octavo::name_of(fallback)));
  for (int i = 0; i < count_of(Enum{}); ++i) {
    if (octavo::name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  in.unsupported("attribute '" + std::string(attribute) + "'", "'" + name + "'",
                 "a mode that Octavo has, like '" + std::string(octavo::name_of(fallback)) + "'");
  return fallback;
}

bool is_usable(float scale) { return std::isfinite(scale) && scale > 0.0f && scale < 1e9f; }

// Sizes from scales, by f32 arithmetic as ONNX Runtime does it: 0.7f * 10 is 7.
void set_scales(NodeReader& in, ResizeAttrs& attrs, const Shape& shape, const std::vector<std::int64_t>& axes,
                const std::vector<float>& scales) {
  if (scales.size() != axes.size())
    return in.fail("scales", std::to_string(scales.size()) + " numbers", std::to_string(axes.size()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!is_usable(scales[i])) return in.fail("scales", print(scales[i]), "a finite number above 0");
    const auto axis = static_cast<std::size_t>(axes[i]);
    attrs.scales[axis] = scales[i];
    attrs.sizes[axis] =
        static_cast<std::int64_t>(std::floor(static_cast<float>(shape[static_cast<int>(axis)]) * scales[i]));
  }
}

// Scales from sizes. A policy other than stretch takes one scale for all axes.
void set_sizes(NodeReader& in, ResizeAttrs& attrs, const Shape& shape, const std::vector<std::int64_t>& axes,
               const std::vector<std::int64_t>& sizes) {
  const std::string policy = in.opset() >= 18 ? in.attributes.text("keep_aspect_ratio_policy", "stretch") : "stretch";
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
    return in.fail("attribute 'keep_aspect_ratio_policy'", "'" + policy + "'", "stretch, not_larger or not_smaller");
  }
  if (sizes.size() != axes.size())
    return in.fail("input 'sizes'", print(sizes), std::to_string(axes.size()) + " numbers");
  std::vector<double> scales;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t dim = shape[static_cast<int>(axes[i])];
    if (dim < 1 || sizes[i] < 1 || sizes[i] > kMaxElements)
      return in.fail("input 'sizes'", print(sizes), "numbers above 0 for axes that are not empty");
    scales.push_back(static_cast<double>(sizes[i]) / static_cast<double>(dim));
  }
  if (scales.empty()) return;
  const double common = policy == "not_larger" ? *std::min_element(scales.begin(), scales.end())
                                               : *std::max_element(scales.begin(), scales.end());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const double scale = policy == "stretch" ? scales[i] : common;
    attrs.scales[axis] = static_cast<float>(scale);
    attrs.sizes[axis] =
        policy == "stretch"
            ? sizes[i]
            : static_cast<std::int64_t>(std::floor(scale * static_cast<double>(shape[static_cast<int>(axis)]) + 0.5));
  }
}

// tf_crop_and_resize: starts, then ends, in parts of each axis.
void set_roi(NodeReader& in, ResizeAttrs& attrs, std::size_t rank, const std::vector<std::int64_t>& axes) {
  const std::vector<float> given = in.constant_floats(1, "roi");
  if (in.failed()) return;
  if (given.size() != 2 * axes.size())
    return in.fail("input 'roi'", std::to_string(given.size()) + " numbers", std::to_string(2 * axes.size()));
  attrs.roi.assign(rank, 0.0f);
  attrs.roi.resize(2 * rank, 1.0f);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    attrs.roi[static_cast<std::size_t>(axes[i])] = given[i];
    attrs.roi[rank + static_cast<std::size_t>(axes[i])] = given[axes.size() + i];
  }
}

ResizeAttrs unchanged(const Shape& shape) {
  ResizeAttrs attrs;
  attrs.sizes = shape.to_vector();
  attrs.scales.assign(attrs.sizes.size(), 1.0f);
  return attrs;
}

std::vector<std::int64_t> all_axes(const Shape& shape) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

bool has_elements(NodeReader& in, int index) { return in.has(index) && in.shape(in.value(index)).elements() > 0; }

// Upsample and Resize 10: positions are divided by the scale, the neighbour below is taken.
void read_simple(NodeReader& in, ValueId x, const std::vector<float>& scales) {
  ResizeAttrs attrs = unchanged(in.shape(x));
  const std::string mode = in.attributes.text("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "bilinear")
    in.fail("attribute 'mode'", "'" + mode + "'", "nearest or linear");
  attrs.mode = mode == "nearest" ? ResizeMode::nearest : ResizeMode::linear;
  attrs.coordinates = ResizeCoordinates::asymmetric;
  attrs.nearest = NearestRounding::floor;
  if (!in.failed()) set_scales(in, attrs, in.shape(x), all_axes(in.shape(x)), scales);
  in.output(0, in.add(kResize, attrs, {x}));
}

}  // namespace

void read_upsample(NodeReader& in) {
  const ValueId x = in.value(0);
  read_simple(in, x, in.opset() < 9 ? in.attributes.numbers("scales") : in.constant_floats(1, "scales"));
}

void read_resize(NodeReader& in) {
  const ValueId x = in.value(0);
  if (in.opset() < 11) return read_simple(in, x, in.constant_floats(1, "scales"));
  ResizeAttrs attrs = unchanged(in.shape(x));
  attrs.mode = read_enum(in, "mode", ResizeMode::nearest);
  attrs.coordinates = read_enum(in, "coordinate_transformation_mode", ResizeCoordinates::half_pixel);
  attrs.nearest = read_enum(in, "nearest_mode", NearestRounding::round_prefer_floor);
  attrs.cubic_coefficient = in.attributes.number("cubic_coeff_a", -0.75f);
  attrs.exclude_outside = in.attributes.flag("exclude_outside", false);
  attrs.extrapolation_value = in.attributes.number("extrapolation_value", 0.0f);
  attrs.antialias = in.opset() >= 18 && in.attributes.flag("antialias", false);
  std::vector<std::int64_t> axes = all_axes(in.shape(x));
  if (in.opset() >= 18 && in.attributes.has("axes"))
    axes = in.axes("attribute 'axes'", in.attributes.integers("axes"), in.rank(x));
  if (in.failed()) return;
  const bool has_scales = has_elements(in, 2), has_sizes = has_elements(in, 3);
  if (has_scales == has_sizes)
    return in.fail("inputs 'scales' and 'sizes'", has_scales ? "both" : "none", "one of them");
  if (has_scales) set_scales(in, attrs, in.shape(x), axes, in.constant_floats(2, "scales"));
  else set_sizes(in, attrs, in.shape(x), axes, in.constant_integers(3, "sizes"));
  if (has_scales) in.attributes.ignore("keep_aspect_ratio_policy");  // only concerns sizes
  if (attrs.coordinates == ResizeCoordinates::tf_crop_and_resize) set_roi(in, attrs, attrs.sizes.size(), axes);
  in.output(0, in.add(kResize, attrs, {x}));
}

}  // namespace octavo::onnx_import
