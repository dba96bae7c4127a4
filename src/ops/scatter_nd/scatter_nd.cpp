// scatter_nd: shape rule and reference. Part of ops/.
#include "ops/scatter_nd/scatter_nd.h"

#include <cstring>

#include "graph/attrs_of.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_scatter_nd(const Attrs& attrs, InputFacts inputs) {
  const Fact &x = *inputs[0], &indices = *inputs[1], &updates = *inputs[2];
  if (auto problem = check_scatter(attrs.as<ScatterNdAttrs>().kind, x, indices, updates)) return *problem;
  if (indices.shape.rank() == 0) return shape_error("indices", "a scalar", "a list of indices at least");
  const int last = indices.shape.rank() - 1;
  if (auto problem = check_range("indices", indices.shape[last], 0, x.shape.rank())) return *problem;
  if (!indices.shape[last].is_number())
    return shape_error("indices", indices.shape.to_string(), "a known size of the last axis");
  std::vector<Dim> dims(indices.shape.begin(), indices.shape.begin() + last);
  dims.insert(dims.end(), x.shape.begin() + indices.shape[last].example(), x.shape.end());
  if (auto problem = check_shape("updates", updates, OpenShape(std::move(dims)))) return *problem;
  return one_output(x.dtype, x.shape.to_vector());
}

void reference_scatter_nd(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const ConstTensorView &x = inputs[0], &updates = inputs[2];
  if (x.bytes() == 0) return;
  std::memcpy(outputs[0].data, x.data, x.bytes());
  const ScatterIndices indices{inputs[1].data, inputs[1].dtype == DType::s64};
  const ScatterRow join = scatter_row(attrs.as<ScatterNdAttrs>().kind, x.dtype);
  const Shape& shape = inputs[1].shape;
  const auto depth = static_cast<int>(shape[shape.rank() - 1]);
  const std::int64_t row = x.shape.elements(depth, x.shape.rank());
  const std::int64_t row_bytes = row * static_cast<std::int64_t>(size_of(x.dtype));
  for (std::int64_t i = 0; i < shape.elements(0, shape.rank() - 1); ++i) {
    std::int64_t to = 0;
    bool is_inside = true;
    for (int axis = 0; axis < depth; ++axis) {
      const std::int64_t index = indices.at(i * depth + axis, x.shape[axis]);
      is_inside = is_inside && index >= 0;
      to = to * x.shape[axis] + index;
    }
    if (is_inside) join(outputs[0].data + to * row_bytes, updates.data + i * row_bytes, row);
  }
}

}  // namespace

const OpSpec kScatterNd{
    .name = "scatter_nd",
    .summary =
        "y = x, then y[indices[i, 0], ..., indices[i, q - 1]] = kind(that, updates[i]); kind assign, add, mul, "
        "max or min",
    .inputs = {"x", "indices", "updates"},
    .infer = infer_scatter_nd,
    .reference = reference_scatter_nd,
    .decode_attrs = decode_attrs_as<ScatterNdAttrs>,
    .folds_at_import = true,
    .read_from = "ONNX ScatterND; TFLite SCATTER_ND; ATen index_put",
};

template Attrs::Attrs(ScatterNdAttrs);

}  // namespace octavo
