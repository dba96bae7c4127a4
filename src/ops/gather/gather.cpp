// gather: rows picked by index along an axis. Part of ops/.
#include "ops/gather/gather.h"

#include <algorithm>
#include <cstring>

#include "graph/attrs_of.h"
#include "ops/empty_axis.h"
#include "ops/movement.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_gather(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  const Fact& indices = *inputs[1];
  const auto axis = normalize_axis(attrs.as<GatherAttrs>().axis, x.shape.rank());
  if (!axis)
    return shape_error("", "axis " + std::to_string(attrs.as<GatherAttrs>().axis), "an axis of " + x.shape.to_string());
  if (indices.dtype != DType::s32 && indices.dtype != DType::s64) {
    return shape_error("", std::string(name_of(indices.dtype)) + " indices", "s32 or s64");
  }
  const Dim dim = x.shape[*axis];
  if (picks_from_nothing(dim, indices.shape))
    return shape_error("", "an empty axis in " + x.shape.to_string(), "elements to pick");
  if (indices.is_constant()) {
    for (std::int64_t index : to_int64s(indices.constant->view())) {
      if (index < 0 - dim || index >= dim)
        return shape_error("", "index " + std::to_string(index), "one of an axis of " + to_string(dim));
    }
  }
  std::vector<Dim> dims(x.shape.begin(), x.shape.begin() + *axis);
  dims.insert(dims.end(), indices.shape.begin(), indices.shape.end());
  dims.insert(dims.end(), x.shape.begin() + *axis + 1, x.shape.end());
  return std::vector<Fact>{moved_fact(x, OpenShape(std::move(dims)))};
}

void reference_gather(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const ConstTensorView& x = inputs[0];
  if (outputs[0].bytes() == 0) return;
  const int axis = *normalize_axis(attrs.as<GatherAttrs>().axis, x.shape.rank());
  const std::int64_t dim = x.shape[axis];
  const std::size_t row = static_cast<std::size_t>(x.shape.elements(axis + 1, x.shape.rank())) * size_of(x.dtype);
  const std::vector<std::int64_t> indices = to_int64s(inputs[1]);
  std::byte* to = outputs[0].data;
  for (std::int64_t outer = 0; outer < x.shape.elements(0, axis); ++outer) {
    for (std::int64_t index : indices) {
      // From the end first in a form that cannot overflow, then into the axis.
      const std::int64_t clamped = std::clamp<std::int64_t>(index, -dim, dim - 1);
      const std::int64_t at = clamped < 0 ? clamped + dim : clamped;
      std::memcpy(to, x.data + static_cast<std::size_t>(outer * dim + at) * row, row);
      to += row;
    }
  }
}

std::optional<Reordered> reordered_gather(const Attrs& attrs, InputFacts inputs, const Axes& axes) {
  auto changed = attrs.as<GatherAttrs>();
  const int index_rank = inputs[1]->shape.rank();
  if (index_rank > 1) return std::nullopt;
  const Axes kept = index_rank == 1 ? axes : without_axes(axes, {changed.axis});
  changed.axis = axes[static_cast<std::size_t>(changed.axis)];
  return Reordered{changed, kept};
}

NodeRole role_of_gather(const Attrs&, InputFacts inputs) {
  const bool is_fixed = !inputs[0]->is_constant() && inputs[1]->is_constant();
  return is_fixed ? NodeRole{Role::moving, {}} : stays_floating("lookup by computed indices");
}

}  // namespace

const OpSpec kGather{
    .name = "gather",
    .summary = "y = x[..., indices, ...] along an axis",
    .inputs = {"x", "indices"},
    .infer = infer_gather,
    .reference = reference_gather,
    .decode_attrs = decode_attrs_as<GatherAttrs>,
    .elements = elements_are<Elements::moved>,
    .folds_at_import = true,
    .reordered = reordered_gather,
    .role = role_of_gather,
    .read_from = "ONNX Gather",
    .integer_form = "itself",
};

template Attrs::Attrs(GatherAttrs);

}  // namespace octavo
