// transpose: permutes the axes. Part of ops/.
#include "ops/transpose/transpose.h"

#include <algorithm>

#include "graph/attrs_of.h"
#include "ops/movement.h"
#include "ops/traits.h"

namespace octavo {
namespace {

bool is_permutation_of(const std::vector<std::int64_t>& perm, int rank) {
  if (perm.size() != static_cast<std::size_t>(rank)) return false;
  std::vector<bool> is_seen(perm.size(), false);
  for (std::int64_t axis : perm) {
    if (axis < 0 || axis >= rank || is_seen[static_cast<std::size_t>(axis)]) return false;
    is_seen[static_cast<std::size_t>(axis)] = true;
  }
  return true;
}

Result<std::vector<Fact>> infer_transpose(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  const auto& perm = attrs.as<TransposeAttrs>().perm;
  if (!is_permutation_of(perm, x.shape.rank()))
    return shape_error("", "perm " + print(perm), "a permutation of the axes of " + x.shape.to_string());
  std::vector<Dim> dims;
  for (std::int64_t axis : perm) dims.push_back(x.shape[static_cast<int>(axis)]);
  return std::vector<Fact>{moved_fact(x, OpenShape(std::move(dims)))};
}

void reference_transpose(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const std::vector<std::int64_t> strides = inputs[0].shape.strides();
  std::vector<std::int64_t> permuted;
  for (std::int64_t axis : attrs.as<TransposeAttrs>().perm) permuted.push_back(strides[static_cast<std::size_t>(axis)]);
  copy_strided(inputs[0], outputs[0], permuted, 0);
}

std::optional<Attrs> one_image_of_transpose(const Attrs& attrs, InputFacts) {
  if (attrs.as<TransposeAttrs>().perm[0] != 0) return std::nullopt;
  return attrs;
}

bool keeps_order(const Attrs& attrs, InputFacts) {
  const auto& perm = attrs.as<TransposeAttrs>().perm;
  return std::is_sorted(perm.begin(), perm.end());
}

}  // namespace

const OpSpec kTranspose{
    .name = "transpose",
    .summary = "axis i of y is axis perm[i] of x",
    .inputs = {"x"},
    .infer = infer_transpose,
    .reference = reference_transpose,
    .decode_attrs = decode_attrs_as<TransposeAttrs>,
    .for_one_image = one_image_of_transpose,
    .elements = elements_are<Elements::moved>,
    .folds_at_import = true,
    .is_identity = keeps_order,
    .role = role_is<Role::moving>,
    .read_from = "ONNX Transpose; TFLite TRANSPOSE; ATen permute",
    .integer_form = "itself",
};

template Attrs::Attrs(TransposeAttrs);

}  // namespace octavo
