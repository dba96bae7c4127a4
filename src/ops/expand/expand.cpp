// expand: repeats a tensor along axes of length 1. Part of ops/.
#include "ops/expand/expand.h"

#include "graph/attrs_of.h"
#include "ops/movement.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_expand(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  OpenShape shape(attrs.as<ExpandAttrs>().shape);
  const auto joined = checked_elements(shape.dims()) ? broadcast(x.shape, shape) : std::nullopt;
  if (!joined || *joined != shape)
    return shape_error("", "shape " + shape.to_string(), "one that " + x.shape.to_string() + " broadcasts to");
  return std::vector<Fact>{moved_fact(x, std::move(shape))};
}

void reference_expand(const Attrs&, InputViews inputs, OutputViews outputs) {
  copy_strided(inputs[0], outputs[0], broadcast_strides(inputs[0].shape, outputs[0].shape), 0);
}

std::optional<Reordered> reordered_expand(const Attrs& attrs, InputFacts, const Axes& axes) {
  const auto& shape = attrs.as<ExpandAttrs>().shape;
  if (shape.size() != axes.size()) return std::nullopt;
  return Reordered{ExpandAttrs{in_stored_order(shape, axes)}, axes};
}

}  // namespace

const OpSpec kExpand{
    .name = "expand",
    .summary = "x broadcast to a larger shape",
    .inputs = {"x"},
    .infer = infer_expand,
    .reference = reference_expand,
    .decode_attrs = decode_attrs_as<ExpandAttrs>,
    .elements = elements_are<Elements::moved>,
    .folds_at_import = true,
    .is_identity = identity_by_type,
    .reordered = reordered_expand,
    .role = role_is<Role::moving>,
    .read_from = "ONNX Expand; ATen expand",
    .integer_form = "itself",
};

template Attrs::Attrs(ExpandAttrs);

}  // namespace octavo
