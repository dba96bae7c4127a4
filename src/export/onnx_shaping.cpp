// ONNX writers: operators whose sizes may follow the batch. Part of export/.
#include <algorithm>
#include <cmath>

#include "export/onnx_operators.h"
#include "ops/expand/expand.h"
#include "ops/pad/pad.h"
#include "ops/reshape/reshape.h"
#include "ops/resize/resize.h"
#include "ops/slice/slice.h"

namespace octavo::onnx_export {
namespace {

bool is_same(std::int64_t a, std::int64_t b) { return a == b; }

// Opset 17 reads a 0 as "the input's size" unless told otherwise.
void allow_zeros(onnx::NodeProto& node, const Integers& dims) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) set_attribute(node, "allowzero", std::int64_t{1});
}

// Whether the axis is taken as it is, at either batch.
bool is_whole(const SliceAttrs& attrs, const Shape& x, std::size_t axis) {
  return attrs.starts[axis] == 0 && attrs.steps[axis] == 1 && attrs.sizes[axis] == x[static_cast<int>(axis)];
}

// Where the last element lies, one step on; before the first element that is a large negative number, which Python's
// slices need.
std::int64_t slice_end(std::int64_t start, std::int64_t step, std::int64_t size) {
  const std::int64_t end = start + step * size;
  return end < 0 ? -kMaxElements : end;
}

// By f32 arithmetic as a reader does it.
bool sizes_follow_scales(const ResizeAttrs& attrs, const Shape& x) {
  for (std::size_t i = 0; i < attrs.sizes.size(); ++i) {
    const float size = std::floor(static_cast<float>(x[static_cast<int>(i)]) * attrs.scales[i]);
    if (static_cast<std::int64_t>(size) != attrs.sizes[i]) return false;
  }
  return true;
}

}  // namespace

void write_reshape(NodeExport& node) {
  Integers dims = fixed(node.attrs<ReshapeAttrs>().shape);
  const Integers other = fixed(node.other_attrs<ReshapeAttrs>().shape);
  if (dims.size() != other.size()) return node.out.give_up_symbols();
  const auto differing = std::mismatch(dims.begin(), dims.end(), other.begin(), is_same);
  if (differing.first != dims.end()) {
    const bool is_only = std::equal(differing.first + 1, dims.end(), differing.second + 1, is_same);
    if (!is_only || std::find(dims.begin(), dims.end(), 0) != dims.end()) return node.out.give_up_symbols();
    *differing.first = -1;
  }
  allow_zeros(node.emit("Reshape", {node.input(0), node.out.integers(node.name("shape"), dims)}), dims);
}

void write_expand(NodeExport& node) {
  Integers dims = fixed(node.attrs<ExpandAttrs>().shape);
  const Integers other = fixed(node.other_attrs<ExpandAttrs>().shape);
  const Shape& x = node.fact(0).shape;
  const Shape& other_x = node.out.other_shape(node.node.inputs[0]);
  if (dims.size() != other.size()) return node.out.give_up_symbols();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == other[i]) continue;
    // A size of 1 leaves the input's own.
    const int axis = static_cast<int>(i) - (static_cast<int>(dims.size()) - x.rank());
    if (axis < 0 || x[axis] != dims[i] || other_x[axis] != other[i]) return node.out.give_up_symbols();
    dims[i] = 1;
  }
  node.emit("Expand", {node.input(0), node.out.integers(node.name("shape"), dims)});
}

void write_slice(NodeExport& node) {
  const auto& attrs = node.attrs<SliceAttrs>();
  const auto& other = node.other_attrs<SliceAttrs>();
  const Shape& x = node.fact(0).shape;
  const Shape& other_x = node.out.other_shape(node.node.inputs[0]);
  Integers starts, ends, axes, steps;
  for (std::size_t i = 0; i < attrs.starts.size(); ++i) {
    if (is_whole(attrs, x, i) && is_whole(other, other_x, i)) continue;
    if (attrs.starts[i] != other.starts[i] || attrs.steps[i] != other.steps[i] || attrs.sizes[i] != other.sizes[i])
      return node.out.give_up_symbols();
    starts.push_back(attrs.starts[i]);
    ends.push_back(attrs.sizes[i] == 0 ? attrs.starts[i].fixed()
                                       : slice_end(attrs.starts[i], attrs.steps[i], attrs.sizes[i]));
    axes.push_back(static_cast<std::int64_t>(i));
    steps.push_back(attrs.sizes[i] == 0 ? 1 : attrs.steps[i]);
  }
  const auto list = [&](std::string_view suffix, const Integers& values) {
    return node.out.integers(node.name(suffix), values);
  };
  node.emit("Slice",
            {node.input(0), list("starts", starts), list("ends", ends), list("axes", axes), list("steps", steps)});
}

void write_pad(NodeExport& node) {
  const auto& attrs = node.attrs<PadAttrs>();
  if (attrs.mode == PadMode::wrap) return node.refuse("mode wrap", "constant, reflect or edge, which opset 17 has");
  Integers pads = fixed(attrs.begin);
  pads.insert(pads.end(), attrs.end.begin(), attrs.end.end());
  set_attribute(node.emit("Pad", {node.input(0), node.out.integers(node.name("pads"), pads), node.input(1)}), "mode",
                octavo::name_of(attrs.mode));
}

void write_resize(NodeExport& node) {
  const auto& attrs = node.attrs<ResizeAttrs>();
  const auto& other = node.other_attrs<ResizeAttrs>();
  if (attrs.antialias) return node.refuse("antialiasing", "none, which is all that opset 17 has");
  if (attrs.coordinates == ResizeCoordinates::half_pixel_symmetric)
    return node.refuse("half_pixel_symmetric", "coordinates that opset 17 has");
  const bool takes_scales = sizes_follow_scales(attrs, node.fact(0).shape);
  if (!takes_scales && attrs.sizes != other.sizes) return node.out.give_up_symbols();
  if (attrs.scales != other.scales) return node.out.give_up_symbols();
  const auto floats = [&](std::string_view suffix, const std::vector<float>& values) {
    return node.out.constant(node.name(suffix),
                             Tensor::of<float>(Shape{static_cast<std::int64_t>(values.size())}, values));
  };
  const std::string roi = attrs.roi.empty() ? "" : floats("roi", attrs.roi);
  const std::string scales = takes_scales ? floats("scales", attrs.scales) : "";
  const std::string sizes = takes_scales ? "" : node.out.integers(node.name("sizes"), fixed(attrs.sizes));
  onnx::NodeProto& made = node.emit("Resize", {node.input(0), roi, scales, sizes});
  set_attribute(made, "mode", octavo::name_of(attrs.mode));
  set_attribute(made, "coordinate_transformation_mode", octavo::name_of(attrs.coordinates));
  set_attribute(made, "nearest_mode", octavo::name_of(attrs.nearest));
  set_attribute(made, "cubic_coeff_a", attrs.cubic_coefficient);
  set_attribute(made, "exclude_outside", std::int64_t{attrs.exclude_outside});
  set_attribute(made, "extrapolation_value", attrs.extrapolation_value);
}

}  // namespace octavo::onnx_export
