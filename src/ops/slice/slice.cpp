// slice: every step-th element from a start, along each axis. Part of ops/.
#include "ops/slice/slice.h"

#include <algorithm>

#include "graph/attrs_of.h"
#include "ops/movement.h"
#include "ops/traits.h"

namespace octavo {
namespace {

// Whether start, start + step, ... (size of them) all lie in [0, dim). Cannot overflow for any attributes.
bool is_inside(const Dim& start, std::int64_t step, const Dim& size, const Dim& dim) {
  if (step == 0 || size < 0 || start < 0) return false;
  if (step == 1 && !(size.is_number() && start.is_number() && dim.is_number())) return start + size <= dim;
  if (size == 0) return start <= dim;
  if (size > dim || start >= dim) return false;
  if (size == 1) return true;
  if (step > dim || step < 0 - dim) return false;
  const Dim room = step > 0 ? (dim - 1 - start) / step : start / -step;
  return size - 1 <= room;
}

Result<std::vector<Fact>> infer_slice_slice(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  const auto& slice = attrs.as<SliceAttrs>();
  const auto rank = static_cast<std::size_t>(x.shape.rank());
  if (slice.starts.size() != rank || slice.steps.size() != rank || slice.sizes.size() != rank) {
    return shape_error("", attrs.to_string(), "one start, step and size per axis of " + x.shape.to_string());
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (is_inside(slice.starts[i], slice.steps[i], slice.sizes[i], x.shape[static_cast<int>(i)])) continue;
    return shape_error("", attrs.to_string(), "elements inside " + x.shape.to_string());
  }
  return std::vector<Fact>{moved_fact(x, OpenShape(slice.sizes))};
}

void slice_reference_slice(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& slice = attrs.as<SliceAttrs>();
  if (outputs[0].shape.elements() == 0) return;
  std::vector<std::int64_t> strides = inputs[0].shape.strides();
  std::int64_t base = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    base += slice.starts[i] * strides[i];
    // The step of an axis with one element is never taken and may be any number.
    strides[i] = slice.sizes[i] > 1 ? strides[i] * slice.steps[i] : 0;
  }
  copy_strided(inputs[0], outputs[0], strides, base);
}

std::optional<Attrs> one_image_of_slice(const Attrs& attrs, InputFacts inputs) {
  SliceAttrs slice = attrs.as<SliceAttrs>();
  if (slice.starts[0] != 0 || slice.steps[0] != 1 || slice.sizes[0] != inputs[0]->shape[0]) return std::nullopt;
  slice.sizes[0] = 1;
  return slice;
}

bool is_whole(const Attrs& attrs, InputFacts) {
  const auto& slice = attrs.as<SliceAttrs>();
  const auto is_zero = [](std::int64_t start) { return start == 0; };
  const auto is_one = [](std::int64_t step) { return step == 1; };
  return std::all_of(slice.starts.begin(), slice.starts.end(), is_zero) &&
         std::all_of(slice.steps.begin(), slice.steps.end(), is_one);
}

std::optional<Reordered> reordered_slice(const Attrs& attrs, InputFacts, const Axes& axes) {
  auto changed = attrs.as<SliceAttrs>();
  for (auto* list : {&changed.starts, &changed.sizes}) *list = in_stored_order(*list, axes);
  changed.steps = in_stored_order(changed.steps, axes);
  return Reordered{changed, axes};
}

}  // namespace

const OpSpec kSlice{
    .name = "slice",
    .summary = "y[i] = x[starts + i * steps]",
    .inputs = {"x"},
    .infer = infer_slice_slice,
    .reference = slice_reference_slice,
    .decode_attrs = decode_attrs_as<SliceAttrs>,
    .for_one_image = one_image_of_slice,
    .elements = elements_are<Elements::moved>,
    .folds_at_import = true,
    .is_identity = is_whole,
    .reordered = reordered_slice,
    .role = role_is<Role::moving>,
    .read_from = "ONNX Slice; TFLite STRIDED_SLICE; ATen slice",
    .integer_form = "itself",
};

template Attrs::Attrs(SliceAttrs);

}  // namespace octavo
