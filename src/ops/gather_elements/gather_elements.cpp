// gather_elements: shape rule and reference. Part of ops/.
#include "ops/gather_elements/gather_elements.h"

#include <algorithm>
#include <cstring>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/empty_axis.h"
#include "ops/movement.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_gather_elements(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  const Fact& indices = *inputs[1];
  if (auto problem = check_dtype("indices", indices, {DType::s32, DType::s64})) return *problem;
  const std::int64_t asked = attrs.as<GatherElementsAttrs>().axis;
  const auto axis = normalize_axis(asked, x.shape.rank());
  if (!axis) return shape_error("", "axis " + std::to_string(asked), "an axis of " + x.shape.to_string());
  if (indices.shape.rank() != x.shape.rank())
    return shape_error("indices", indices.shape.to_string(), "the rank of x, " + x.shape.to_string());
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (i != *axis && indices.shape[i] > x.shape[i])
      return shape_error("indices", indices.shape.to_string(),
                         "at most " + to_string(x.shape[i]) + " on axis " + std::to_string(i));
  }
  const Dim dim = x.shape[*axis];
  if (picks_from_nothing(dim, indices.shape))
    return shape_error("", "an empty axis in " + x.shape.to_string(), "elements to pick");
  if (indices.is_constant()) {
    for (const std::int64_t index : to_int64s(indices.constant->view())) {
      if (index < 0 - dim || index >= dim)
        return shape_error("", "index " + std::to_string(index), "one of an axis of " + to_string(dim));
    }
  }
  return std::vector<Fact>{moved_fact(x, indices.shape)};
}

void reference_gather_elements(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const ConstTensorView& x = inputs[0];
  const Shape& shape = outputs[0].shape;
  const int axis = *normalize_axis(attrs.as<GatherElementsAttrs>().axis, x.shape.rank());
  const std::int64_t dim = x.shape[axis];
  const std::size_t bytes = size_of(x.dtype);
  const std::vector<std::int64_t> indices = to_int64s(inputs[1]);
  for (std::size_t element = 0; element < indices.size(); ++element) {
    // From the end first in a form that cannot overflow, then into the axis.
    const std::int64_t clamped = std::clamp<std::int64_t>(indices[element], -dim, dim - 1);
    std::int64_t rest = static_cast<std::int64_t>(element), stride = 1, from = 0;
    for (int i = x.shape.rank(); i-- > 0;) {
      const std::int64_t at = i == axis ? (clamped < 0 ? clamped + dim : clamped) : rest % shape[i];
      from += at * stride;
      rest /= shape[i];
      stride *= x.shape[i];
    }
    std::memcpy(outputs[0].data + element * bytes, x.data + static_cast<std::size_t>(from) * bytes, bytes);
  }
}

NodeRole role_of_gather_elements(const Attrs&, InputFacts inputs) {
  const bool is_fixed = !inputs[0]->is_constant() && inputs[1]->is_constant();
  return is_fixed ? NodeRole{Role::moving, {}} : stays_floating("lookup by computed indices");
}

}  // namespace

const OpSpec kGatherElements{
    .name = "gather_elements",
    .summary = "y[i, j, k] = x[i, indices[i, j, k], k], for axis 1",
    .inputs = {"x", "indices"},
    .infer = infer_gather_elements,
    .reference = reference_gather_elements,
    .decode_attrs = decode_attrs_as<GatherElementsAttrs>,
    .elements = elements_are<Elements::moved>,
    .folds_at_import = true,
    .role = role_of_gather_elements,
    .read_from = "ONNX GatherElements",
    .integer_form = "itself",
};

template Attrs::Attrs(GatherElementsAttrs);

}  // namespace octavo
