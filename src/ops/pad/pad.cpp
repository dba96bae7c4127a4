// pad: adds elements before and after each axis, or crops. Part of ops/.
#include "ops/pad/pad.h"

#include <algorithm>
#include <cstring>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/movement.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

constexpr std::int64_t kOutside = -1;

// The element of an axis of `dim` elements that stands at position i, which may lie outside.
std::int64_t source_of(PadMode mode, std::int64_t i, std::int64_t dim) {
  if (i >= 0 && i < dim) return i;
  if (mode == PadMode::constant) return kOutside;
  if (mode == PadMode::edge) return i < 0 ? 0 : dim - 1;
  const std::int64_t period = mode == PadMode::wrap ? dim : 2 * (dim - 1);
  if (period == 0) return 0;
  const std::int64_t rest = (i % period + period) % period;
  return rest < dim ? rest : period - rest;
}

Result<std::vector<Fact>> infer_pad(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  const auto& pad = attrs.as<PadAttrs>();
  const auto rank = static_cast<std::size_t>(x.shape.rank());
  if (pad.begin.size() != rank || pad.end.size() != rank) {
    return shape_error("", attrs.to_string(), "one begin and end per axis of " + x.shape.to_string());
  }
  OpenShape shape = x.shape;
  for (std::size_t i = 0; i < rank; ++i) {
    const int axis = static_cast<int>(i);
    const bool is_in_range = pad.begin[i] >= -kMaxElements && pad.begin[i] <= kMaxElements &&
                             pad.end[i] >= -kMaxElements && pad.end[i] <= kMaxElements;
    if (is_in_range) shape[axis] += pad.begin[i] + pad.end[i];
    if (!is_in_range || shape[axis] < 0)
      return shape_error("", attrs.to_string(), "padding that fits " + x.shape.to_string());
    if (pad.mode != PadMode::constant && x.shape[axis] == 0 && shape[axis] != 0) {
      return shape_error("", "an empty axis in " + x.shape.to_string(), "elements to repeat");
    }
  }
  if (inputs.size() > 1 && inputs[1] != nullptr && (inputs[1]->dtype != x.dtype || inputs[1]->shape.elements() != 1)) {
    return shape_error("", std::string(name_of(inputs[1]->dtype)) + " " + inputs[1]->shape.to_string() + " as value",
                       "one element of type " + std::string(name_of(x.dtype)));
  }
  return std::vector<Fact>{moved_fact(x, std::move(shape))};
}

void reference_pad(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& pad = attrs.as<PadAttrs>();
  const ConstTensorView& x = inputs[0];
  const TensorView& y = outputs[0];
  const std::size_t size = size_of(x.dtype);
  const std::vector<std::int64_t> strides = x.shape.strides();
  constexpr std::byte zeros[8] = {};
  const std::byte* value = inputs.size() > 1 && inputs[1].data != nullptr ? inputs[1].data : zeros;
  const std::int64_t count = y.shape.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t offset = 0;
    bool is_outside = false;
    std::int64_t rest = i;
    for (int axis = x.shape.rank() - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      const std::int64_t at = source_of(pad.mode, rest % y.shape[axis] - pad.begin[a], x.shape[axis]);
      rest /= y.shape[axis];
      if (at == kOutside) is_outside = true;
      else offset += at * strides[a];
    }
    const std::byte* from = is_outside ? value : x.data + static_cast<std::size_t>(offset) * size;
    std::memcpy(y.data + static_cast<std::size_t>(i) * size, from, size);
  }
}

std::optional<Attrs> one_image_of_pad(const Attrs& attrs, InputFacts inputs) {
  const auto& pad = attrs.as<PadAttrs>();
  if (pad.begin[0] != 0 || pad.end[0] != 0) return std::nullopt;
  return same_for_one_image(attrs, inputs);
}

Elements elements_of_pad(const Attrs& attrs) {
  return attrs.as<PadAttrs>().mode == PadMode::constant ? Elements::padded : Elements::moved;
}

bool is_empty_pad(const Attrs& attrs, InputFacts) {
  const auto& pad = attrs.as<PadAttrs>();
  const auto is_zero = [](std::int64_t amount) { return amount == 0; };
  return std::all_of(pad.begin.begin(), pad.begin.end(), is_zero) &&
         std::all_of(pad.end.begin(), pad.end.end(), is_zero);
}

std::optional<Reordered> reordered_pad(const Attrs& attrs, InputFacts, const Axes& axes) {
  auto changed = attrs.as<PadAttrs>();
  changed.begin = in_stored_order(changed.begin, axes);
  changed.end = in_stored_order(changed.end, axes);
  return Reordered{changed, axes};
}

NodeRole role_of_pad(const Attrs&, InputFacts inputs) {
  const Fact* value = fact_at(inputs, 1);
  const bool is_zero = value == nullptr || (is_f32_constant(*value) && value->constant->as<float>()[0] == 0.0f);
  return is_zero ? NodeRole{Role::moving, {}} : stays_floating("padding with a value other than 0");
}

}  // namespace

const OpSpec kPad{
    .name = "pad",
    .summary = "x with elements added before and after each axis; negative amounts crop",
    .inputs = {"x", "value?"},
    .infer = infer_pad,
    .reference = reference_pad,
    .decode_attrs = decode_attrs_as<PadAttrs>,
    .for_one_image = one_image_of_pad,
    .elements = elements_of_pad,
    .folds_at_import = true,
    .is_identity = is_empty_pad,
    .reordered = reordered_pad,
    .role = role_of_pad,
    .read_from = "ONNX Pad; TFLite PAD; ATen constant_pad_nd",
    .integer_form = "itself",
};

template Attrs::Attrs(PadAttrs);

}  // namespace octavo
