// expand: repeats a tensor along axes of length 1. Part of ops/.
#include "ops/expand/expand.h"

#include "graph/attrs_of.h"
#include "ops/movement.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_expand(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  Shape shape(attrs.as<ExpandAttrs>().shape);
  const auto joined = checked_elements(shape.dims()) ? broadcast(x.shape, shape) : std::nullopt;
  if (!joined || *joined != shape)
    return shape_error("", "shape " + shape.to_string(), "one that " + x.shape.to_string() + " broadcasts to");
  return std::vector<Fact>{moved_fact(x, std::move(shape))};
}

void reference_expand(const Attrs&, InputViews inputs, OutputViews outputs) {
  copy_strided(inputs[0], outputs[0], broadcast_strides(inputs[0].shape, outputs[0].shape), 0);
}

}  // namespace

const OpSpec kExpand{
    .name = "expand",
    .summary = "x broadcast to a larger shape",
    .inputs = {"x"},
    .infer = infer_expand,
    .reference = reference_expand,
    .decode_attrs = decode_attrs_as<ExpandAttrs>,
};

template Attrs::Attrs(ExpandAttrs);

}  // namespace octavo
