// reshape: the same elements under another shape. Part of ops/.
#include "ops/reshape/reshape.h"

#include <cstring>

#include "graph/attrs_of.h"
#include "ops/movement.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_reshape(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  const OpenShape shape(attrs.as<ReshapeAttrs>().shape);
  const auto count = checked_elements(shape.dims());
  if (!count || *count != x.shape.elements()) {
    return shape_error("", "shape " + shape.to_string(), "as many elements as " + x.shape.to_string());
  }
  return std::vector<Fact>{moved_fact(x, shape)};
}

void reference_reshape(const Attrs&, InputViews inputs, OutputViews outputs) {
  if (inputs[0].bytes() != 0) std::memcpy(outputs[0].data, inputs[0].data, inputs[0].bytes());
}

std::optional<Attrs> one_image_of_reshape(const Attrs& attrs, InputFacts inputs) {
  ReshapeAttrs reshape = attrs.as<ReshapeAttrs>();
  if (reshape.shape.empty() || reshape.shape[0] != inputs[0]->shape[0]) return std::nullopt;
  reshape.shape[0] = 1;
  return reshape;
}

}  // namespace

const OpSpec kReshape{
    .name = "reshape",
    .summary = "the same elements, in the same order, under another shape",
    .inputs = {"x"},
    .infer = infer_reshape,
    .reference = reference_reshape,
    .decode_attrs = decode_attrs_as<ReshapeAttrs>,
    .for_one_image = one_image_of_reshape,
    .elements = elements_are<Elements::moved>,
    .is_view = true,
    .folds_at_import = true,
    .is_identity = identity_by_type,
    .role = role_is<Role::moving>,
    .read_from = "ONNX Reshape; TFLite RESHAPE; ATen view",
    .integer_form = "itself",
};

template Attrs::Attrs(ReshapeAttrs);

}  // namespace octavo
