// Traits of OpSpec that several operators share. Part of ops/.
#ifndef OCTAVO_OPS_TRAITS_H_
#define OCTAVO_OPS_TRAITS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/op.h"
#include "ops/window.h"

namespace octavo {

template <Elements kind>
Elements elements_are(const Attrs&) {
  return kind;
}

// Of functions of the first `count` inputs' elements, without parameters.
template <int count>
int pointwise_in(const Attrs&, InputFacts) {
  return count;
}
// Of functions of x whose other inputs are scale and zero point: with one constant each.
int pointwise_per_tensor(const Attrs& attrs, InputFacts inputs);

// is_identity of operators that can only keep or change type and shape.
bool identity_by_type(const Attrs& attrs, InputFacts inputs);
// Of windows: kernel, strides 1, no padding.
bool covers_one_element(const Window& window);
template <class WindowAttrs>
bool identity_by_window(const Attrs& attrs, InputFacts) {
  return covers_one_element(attrs.as<WindowAttrs>().window);
}

// ---- s8 stored as u8 ----

// What is added to s8 values that are stored as u8.
inline constexpr std::int32_t kSignShift = 128;

// Of operators with an attribute x_zero_point, of their first input.
template <class ZeroPointAttrs>
Attrs relabelled_x(const Attrs& attrs, const std::vector<bool>& is_relabelled) {
  auto changed = attrs.as<ZeroPointAttrs>();
  if (is_relabelled[0]) changed.x_zero_point += kSignShift;
  return changed;
}

// ---- sums of products ----

// Input 1 is [OC, ...]: as many as an output channel has weights.
std::int64_t depth_of_weights(const Attrs& attrs, InputFacts inputs);
// Input 0 is [..., k].
std::int64_t depth_of_rows(const Attrs& attrs, InputFacts inputs);

// ---- orders of axes ----

// A list with one entry per axis of the file's order, in the stored order.
template <class T>
std::vector<T> in_stored_order(const std::vector<T>& list, const Axes& axes) {
  std::vector<T> stored(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) stored[static_cast<std::size_t>(axes[i])] = list[i];
  return stored;
}
// What is left of `axes` without the file's axes in `dropped`.
Axes without_axes(const Axes& axes, const std::vector<std::int64_t>& dropped);

// Of operators whose attributes name no axes and whose result has the axes of the first input.
std::optional<Reordered> reordered_as_is(const Attrs& attrs, InputFacts inputs, const Axes& axes);
// The same with one attribute `axis` (negative: none).
template <class AxisAttrs>
std::optional<Reordered> reordered_along_axis(const Attrs& attrs, InputFacts, const Axes& axes) {
  auto changed = attrs.as<AxisAttrs>();
  if (changed.axis >= 0) changed.axis = axes[static_cast<std::size_t>(changed.axis)];
  return Reordered{changed, axes};
}
// Of quantize and dequantize: blocks lie along the file's axes.
template <class ScaleAttrs>
std::optional<Reordered> reordered_scales(const Attrs& attrs, InputFacts inputs, const Axes& axes) {
  if (attrs.as<ScaleAttrs>().block != 0) return std::nullopt;
  return reordered_along_axis<ScaleAttrs>(attrs, inputs, axes);
}

// A window over one axis becomes one over two.
Window with_unit_height(Window window);
template <class ImageAttrs>
std::optional<Attrs> image_channels_last(const Attrs& attrs) {
  auto changed = attrs.as<ImageAttrs>();
  if (changed.layout == Layout::channels_last) return std::nullopt;
  changed.layout = Layout::channels_last;
  if (changed.window.rank() == 1) changed.window = with_unit_height(changed.window);
  return changed;
}

// ---- roles in an 8-bit network ----

template <Role role>
NodeRole role_is(const Attrs&, InputFacts) {
  return {role, {}};
}
NodeRole stays_floating(std::string reason);
bool is_f32_constant(const Fact& fact);
// Of convolutions with the inputs x, w, bias?.
NodeRole role_of_convolution(const Window& window, InputFacts inputs);

}  // namespace octavo

#endif  // OCTAVO_OPS_TRAITS_H_
