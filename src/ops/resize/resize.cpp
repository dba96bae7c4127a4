// resize: shape rule and reference. Part of ops/.
#include "ops/resize/resize.h"

#include <cmath>
#include <cstring>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/resize/taps.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Problem check_lists(const ResizeAttrs& resize, const Fact& x) {
  const auto rank = static_cast<std::size_t>(x.shape.rank());
  if (resize.sizes.size() != rank)
    return shape_error("sizes", std::to_string(resize.sizes.size()) + " entries", std::to_string(rank));
  if (resize.scales.size() != rank)
    return shape_error("scales", std::to_string(resize.scales.size()) + " entries", std::to_string(rank));
  const bool needs_roi = resize.coordinates == ResizeCoordinates::tf_crop_and_resize;
  if (resize.roi.size() != (needs_roi ? 2 * rank : 0))
    return shape_error("roi", std::to_string(resize.roi.size()) + " entries", std::to_string(needs_roi ? 2 * rank : 0));
  return std::nullopt;
}

// A scale that belongs to the sizes, so that the number of taps stays proportional to the image.
Problem check_antialias(const ResizeAttrs& resize, const Fact& x) {
  if (!resize.antialias) return std::nullopt;
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (resize.scales[i] == 0.0f) continue;
    const double expected = static_cast<double>(resize.scales[i]) * static_cast<double>(x.shape[axis]);
    if (std::fabs(expected - static_cast<double>(resize.sizes[i])) > 1.0) {
      return shape_error("sizes", std::to_string(resize.sizes[i]) + " (axis " + std::to_string(axis) + ")",
                         "scale * size, " + std::to_string(expected) + ", when antialiased");
    }
  }
  return std::nullopt;
}

Result<std::vector<Fact>> infer_resize(const Attrs& attrs, InputFacts inputs) {
  const auto& resize = attrs.as<ResizeAttrs>();
  const Fact& x = *inputs[0];
  if (resize.mode != ResizeMode::nearest) {
    if (auto problem = check_dtype("x", x, {DType::f32, DType::f16, DType::bf16, DType::f64, DType::u8, DType::s8}))
      return *problem;
  }
  if (auto problem = check_lists(resize, x)) return *problem;
  for (std::size_t i = 0; i < resize.sizes.size(); ++i) {
    const Dim& from = x.shape[static_cast<int>(i)];
    const bool is_kept = !from.is_number() && is_same(from, resize.sizes[i]);
    const bool is_none = !is_kept && from == 0, has_scale = resize.scales[i] != 0.0f;
    const std::int64_t lowest = is_kept || is_none || has_scale ? 0 : 1, highest = is_none ? 0 : kMaxElements;
    if (auto problem = first_of({check_range("sizes", resize.sizes[i], lowest, highest),
                                 has_scale ? check_scale("scales", resize.scales[i]) : Problem()}))
      return *problem;
  }
  for (float value : resize.roi) {
    if (auto problem = check_finite("roi", value)) return *problem;
  }
  if (auto problem =
          first_of({check_finite("cubic_coefficient", resize.cubic_coefficient), check_antialias(resize, x)}))
    return *problem;
  return one_output(x.dtype, resize.sizes, x.quant);
}

// Calls `visit(element of y, index on each axis)` in row-major order.
template <class Visit>
void for_each_position(const Shape& y, const Visit& visit) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(y.rank()), 0);
  const std::int64_t count = y.elements();
  for (std::int64_t element = 0; element < count; ++element) {
    visit(element, index);
    for (int axis = y.rank() - 1; axis >= 0; --axis) {
      auto& at = index[static_cast<std::size_t>(axis)];
      if (++at < y[axis]) break;
      at = 0;
    }
  }
}

// What linear interpolation walks through: taps in row-major order, the product of their weights from the innermost
// axis outwards.
struct LinearSum {
  const ConstTensorView& x;
  const std::vector<AxisTaps>& axes;
  const std::vector<std::int64_t>& index;
  std::vector<float> weights;  // of the axes walked so far that have two taps
  float sum = 0.0f;

  void add(std::size_t axis, std::int64_t element) {
    if (axis == axes.size()) {
      float weight = 1.0f;
      for (std::size_t i = weights.size(); i-- > 0;) weight *= weights[i];
      sum += weight * static_cast<float>(element_as_double(x, element));
      return;
    }
    const auto taps = axes[axis].at(index[axis]);
    for (const ResizeTap& tap : taps) {
      if (taps.size() > 1) weights.push_back(static_cast<float>(tap.weight));
      add(axis + 1, element * x.shape[static_cast<int>(axis)] + tap.index);
      if (taps.size() > 1) weights.pop_back();
    }
  }
};

// Integers are truncated, as ONNX Runtime does where a Resize reads 8-bit values themselves.
double linear(const ConstTensorView& x, const std::vector<AxisTaps>& axes, const std::vector<std::int64_t>& index) {
  LinearSum sum{.x = x, .axes = axes, .index = index};
  sum.add(0, 0);
  return is_float(x.dtype) ? sum.sum : std::trunc(sum.sum);
}

// The weighted sum of x over the taps of axes [axis, rank).
double interpolate(const ConstTensorView& x, const std::vector<AxisTaps>& axes, const std::vector<std::int64_t>& index,
                   std::size_t axis, std::int64_t element) {
  if (axis == axes.size()) return element_as_double(x, element);
  const AxisTaps& taps = axes[axis];
  double sum = 0.0;
  for (const ResizeTap& tap : taps.at(index[axis])) {
    sum += tap.weight * interpolate(x, axes, index, axis + 1, element * x.shape[static_cast<int>(axis)] + tap.index);
  }
  return sum;
}

void reference_resize(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  if (outputs[0].shape.elements() == 0) return;
  const auto& resize = attrs.as<ResizeAttrs>();
  const ConstTensorView& x = inputs[0];
  std::vector<AxisTaps> axes;
  for (int axis = 0; axis < x.shape.rank(); ++axis) axes.push_back(AxisTaps::of(resize, x.shape[axis], axis));
  const std::size_t size = size_of(x.dtype);
  const bool is_in_f32 = is_plain_linear(resize) && x.dtype != DType::f64;
  for_each_position(outputs[0].shape, [&](std::int64_t element, const std::vector<std::int64_t>& index) {
    bool is_outside = false;
    std::int64_t source = 0;  // of nearest
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      is_outside = is_outside || axes[axis].is_outside(index[axis]);
      source = source * x.shape[static_cast<int>(axis)] + axes[axis].at(index[axis]).front().index;
    }
    if (is_outside) store_double(outputs[0], element, resize.extrapolation_value);
    else if (resize.mode == ResizeMode::nearest)
      std::memcpy(outputs[0].data + static_cast<std::size_t>(element) * size,
                  x.data + static_cast<std::size_t>(source) * size, size);
    else if (is_in_f32) store_double(outputs[0], element, linear(x, axes, index));
    else store_double(outputs[0], element, interpolate(x, axes, index, 0, 0));
  });
}

// Along an axis that keeps its size with the factor 1 every way of interpolation takes the value itself, but for those
// of a region.
std::optional<Attrs> one_image_of_resize(const Attrs& attrs, InputFacts inputs) {
  ResizeAttrs resize = attrs.as<ResizeAttrs>();
  if (!is_same(resize.sizes[0], inputs[0]->shape[0]) || resize.scales[0] != 1.0f || !resize.roi.empty())
    return std::nullopt;
  resize.sizes[0] = 1;
  return resize;
}

Elements elements_of_resize(const Attrs& attrs) {
  const auto& resize = attrs.as<ResizeAttrs>();
  const bool picks = resize.mode == ResizeMode::nearest && resize.coordinates != ResizeCoordinates::tf_crop_and_resize;
  return picks ? Elements::selected : Elements::computed;
}

// Whether only height and width of [N, H, W, C] change.
bool is_channels_last(const std::vector<Dim>& from, const std::vector<Dim>& to) {
  return from.size() == 4 && is_same(to[0], from[0]) && is_same(to[3], from[3]);
}

// Images that have their channels last as the file orders them keep that order: only then there is an integer form.
std::optional<Reordered> reordered_resize(const Attrs& attrs, InputFacts inputs, const Axes& axes) {
  auto changed = attrs.as<ResizeAttrs>();
  const std::vector<Dim> from = inputs[0]->shape.to_vector();
  const std::vector<Dim> sizes = in_stored_order(changed.sizes, axes);
  if (is_channels_last(from, changed.sizes) && !is_channels_last(in_stored_order(from, axes), sizes))
    return std::nullopt;
  changed.sizes = sizes;
  changed.scales = in_stored_order(changed.scales, axes);
  if (!changed.roi.empty()) {
    const auto middle = changed.roi.begin() + static_cast<std::ptrdiff_t>(axes.size());
    auto starts = in_stored_order(std::vector<float>(changed.roi.begin(), middle), axes);
    const auto ends = in_stored_order(std::vector<float>(middle, changed.roi.end()), axes);
    starts.insert(starts.end(), ends.begin(), ends.end());
    changed.roi = std::move(starts);
  }
  return Reordered{changed, axes};
}

NodeRole role_of_resize(const Attrs& attrs, InputFacts) {
  const auto& resize = attrs.as<ResizeAttrs>();
  const bool stays_inside = resize.coordinates != ResizeCoordinates::tf_crop_and_resize && !resize.antialias;
  if (resize.mode != ResizeMode::cubic && stays_inside) return {Role::moving, {}};
  return stays_floating("no integer form of this resize");
}

}  // namespace

const OpSpec kResize = {
    .name = "resize",
    .summary =
        "y = x interpolated at the output's positions (ONNX Resize 19: nearest, linear, cubic); coordinates and linear "
        "in f32, cubic in f64",
    .inputs = {"x"},
    .infer = infer_resize,
    .reference = reference_resize,
    .decode_attrs = decode_attrs_as<ResizeAttrs>,
    .for_one_image = one_image_of_resize,
    .elements = elements_of_resize,
    .reordered = reordered_resize,
    .role = role_of_resize,
    .read_from = "ONNX Resize; TFLite RESIZE_BILINEAR; ATen upsample_bilinear2d",
    .integer_form = "itself where it picks the nearest; integer_resize",
};

template Attrs::Attrs(ResizeAttrs);

}  // namespace octavo
