// gather_nd: shape rule and reference. Part of ops/.
#include "ops/gather_nd/gather_nd.h"

#include <algorithm>
#include <cstring>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/empty_axis.h"
#include "ops/movement.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_gather_nd(const Attrs& attrs, InputFacts inputs) {
  const Fact &x = *inputs[0], &indices = *inputs[1];
  const std::int64_t batch_dims = attrs.as<GatherNdAttrs>().batch_dims;
  if (auto problem = check_dtype("indices", indices, {DType::s32, DType::s64})) return *problem;
  if (indices.shape.rank() == 0) return shape_error("indices", "a scalar", "a list of indices at least");
  const int last = indices.shape.rank() - 1;
  if (auto problem = check_range("batch_dims", batch_dims, 0, std::min(last, x.shape.rank()))) return *problem;
  const Dim depth = indices.shape[last];
  if (!depth.is_number()) return shape_error("indices", indices.shape.to_string(), "a known size of the last axis");
  if (auto problem = check_range("indices", depth, 0, x.shape.rank() - batch_dims)) return *problem;
  for (int i = 0; i < batch_dims; ++i) {
    if (indices.shape[i] != x.shape[i])
      return shape_error("indices", indices.shape.to_string(), "leading axes of " + x.shape.to_string());
  }
  std::vector<Dim> dims(indices.shape.begin(), indices.shape.begin() + last);
  dims.insert(dims.end(), x.shape.begin() + batch_dims + depth.example(), x.shape.end());
  const auto first = static_cast<int>(batch_dims);
  for (int i = first; i < first + depth.example(); ++i) {
    if (picks_from_nothing(x.shape[i], indices.shape))
      return shape_error("", "an empty axis in " + x.shape.to_string(), "elements to pick");
  }
  const auto checked = one_output(x.dtype, dims);
  return checked ? std::vector<Fact>{moved_fact(x, OpenShape(std::move(dims)))} : checked;
}

void reference_gather_nd(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const ConstTensorView& x = inputs[0];
  const Shape& shape = inputs[1].shape;
  if (outputs[0].bytes() == 0) return;
  const auto first = static_cast<int>(attrs.as<GatherNdAttrs>().batch_dims);
  const auto depth = static_cast<int>(shape[shape.rank() - 1]);
  const std::int64_t picks = shape.elements(first, shape.rank() - 1);  // of each batch
  const std::size_t row = static_cast<std::size_t>(x.shape.elements(first + depth, x.shape.rank())) * size_of(x.dtype);
  const std::vector<std::int64_t> indices = to_int64s(inputs[1]);
  for (std::int64_t i = 0; i < shape.elements(0, shape.rank() - 1); ++i) {
    std::int64_t from = i / picks;
    for (int k = 0; k < depth; ++k) {
      const std::int64_t dim = x.shape[first + k];
      // From the end first in a form that cannot overflow, then into the axis.
      const std::int64_t clamped = std::clamp(indices[static_cast<std::size_t>(i * depth + k)], -dim, dim - 1);
      from = from * dim + (clamped < 0 ? clamped + dim : clamped);
    }
    std::memcpy(outputs[0].data + static_cast<std::size_t>(i) * row, x.data + static_cast<std::size_t>(from) * row,
                row);
  }
}

NodeRole role_of_gather_nd(const Attrs&, InputFacts inputs) {
  const bool is_fixed = !inputs[0]->is_constant() && inputs[1]->is_constant();
  return is_fixed ? NodeRole{Role::moving, {}} : stays_floating("lookup by computed indices");
}

}  // namespace

const OpSpec kGatherNd{
    .name = "gather_nd",
    .summary = "y[b, i] = x[b, indices[b, i, 0], ..., indices[b, i, q - 1]], b over leading axes that both have",
    .inputs = {"x", "indices"},
    .infer = infer_gather_nd,
    .reference = reference_gather_nd,
    .decode_attrs = decode_attrs_as<GatherNdAttrs>,
    .elements = elements_are<Elements::moved>,
    .folds_at_import = true,
    .role = role_of_gather_nd,
    .read_from = "ONNX GatherND; TFLite GATHER_ND; ATen index",
    .integer_form = "itself",
};

template Attrs::Attrs(GatherNdAttrs);

}  // namespace octavo
