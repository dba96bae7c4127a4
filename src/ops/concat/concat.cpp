// concat: tensors one after the other along an axis. Part of ops/.
#include "ops/concat/concat.h"

#include <cstring>

#include "base/sizes.h"
#include "graph/attrs_of.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

// Extents of y that are expressions become numbers where those of x are.
bool joins(OpenShape& y, const OpenShape& x, int axis) {
  if (y.rank() != x.rank()) return false;
  for (int i = 0; i < y.rank(); ++i) {
    if (i == axis) continue;
    if (!must_equal(x[i], y[i])) return false;
    if (x[i].is_number()) y[i] = x[i];
  }
  return true;
}

Result<std::vector<Fact>> infer_concat(const Attrs& attrs, InputFacts inputs) {
  if (inputs.empty() || inputs[0] == nullptr) return shape_error("", "no inputs", "at least one");
  const Fact& first = *inputs[0];
  const auto axis = normalize_axis(attrs.as<ConcatAttrs>().axis, first.shape.rank());
  if (!axis)
    return shape_error("", "axis " + std::to_string(attrs.as<ConcatAttrs>().axis),
                       "an axis of " + first.shape.to_string());
  Fact y{.dtype = first.dtype, .shape = first.shape};
  y.shape[*axis] = 0;
  for (const Fact* x : inputs) {
    if (x == nullptr) return shape_error("", "an input that is left out", "a tensor");
    if (x->dtype != first.dtype || !joins(y.shape, x->shape, *axis)) {
      return shape_error(
          "", std::string(name_of(x->dtype)) + " " + x->shape.to_string(),
          std::string(name_of(first.dtype)) + " " + first.shape.to_string() + " off axis " + std::to_string(*axis));
    }
    y.shape[*axis] += x->shape[*axis];
    if (y.shape[*axis] > kMaxElements) return shape_error("", "an axis of more than 2^33", "less");
  }
  return std::vector<Fact>{std::move(y)};
}

void reference_concat(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const TensorView& y = outputs[0];
  const int axis = *normalize_axis(attrs.as<ConcatAttrs>().axis, y.shape.rank());
  const std::int64_t rows = y.shape.elements(0, axis);
  const std::size_t row_bytes = static_cast<std::size_t>(y.shape.elements(axis, y.shape.rank())) * size_of(y.dtype);
  std::size_t at = 0;
  for (const ConstTensorView& x : inputs) {
    const std::size_t part = static_cast<std::size_t>(x.shape.elements(axis, x.shape.rank())) * size_of(x.dtype);
    for (std::int64_t row = 0; row < rows && part != 0; ++row) {
      const auto r = static_cast<std::size_t>(row);
      std::memcpy(y.data + r * row_bytes + at, x.data + r * part, part);
    }
    at += part;
  }
}

}  // namespace

const OpSpec kConcat{
    .name = "concat",
    .summary = "the inputs one after the other along an axis",
    .inputs = {"xs*"},
    .infer = infer_concat,
    .reference = reference_concat,
    .decode_attrs = decode_attrs_as<ConcatAttrs>,
    .for_one_image = same_for_one_image_along_axis<ConcatAttrs>,
    .elements = elements_are<Elements::joined>,
    .folds_at_import = true,
    .is_identity = identity_by_type,
    .reordered = reordered_along_axis<ConcatAttrs>,
    .role = role_is<Role::moving>,
    .read_from = "ONNX Concat; TFLite CONCATENATION; ATen cat",
    .integer_form = "itself",
};

template Attrs::Attrs(ConcatAttrs);

}  // namespace octavo
