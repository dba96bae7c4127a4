// scatter_elements: shape rule and reference. Part of ops/.
#include "ops/scatter_elements/scatter_elements.h"

#include <cstring>

#include "graph/attrs_of.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_scatter_elements(const Attrs& attrs, InputFacts inputs) {
  const auto& scatter = attrs.as<ScatterElementsAttrs>();
  const Fact &x = *inputs[0], &indices = *inputs[1], &updates = *inputs[2];
  if (auto problem = check_scatter(scatter.kind, x, indices, updates)) return *problem;
  const int rank = x.shape.rank();
  if (auto problem = check_range("axis", scatter.axis, 0, std::int64_t{rank} - 1)) return *problem;
  if (auto problem = check_rank("indices", indices, rank, rank)) return *problem;
  if (auto problem = check_shape("updates", updates, indices.shape)) return *problem;
  for (int i = 0; i < rank; ++i) {
    if (i != scatter.axis && indices.shape[i] > x.shape[i])
      return shape_error("indices", indices.shape.to_string(),
                         "at most " + to_string(x.shape[i]) + " on axis " + std::to_string(i));
  }
  return one_output(x.dtype, x.shape.to_vector());
}

void reference_scatter_elements(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& scatter = attrs.as<ScatterElementsAttrs>();
  const ConstTensorView &x = inputs[0], &updates = inputs[2];
  if (x.bytes() == 0) return;
  std::memcpy(outputs[0].data, x.data, x.bytes());
  const ScatterIndices indices{inputs[1].data, inputs[1].dtype == DType::s64};
  const ScatterRow join = scatter_row(scatter.kind, x.dtype);
  const auto bytes = static_cast<std::int64_t>(size_of(x.dtype));
  for (std::int64_t element = 0; element < updates.shape.elements(); ++element) {
    const std::int64_t index = indices.at(element, x.shape[static_cast<int>(scatter.axis)]);
    std::int64_t rest = element, stride = 1, to = 0;
    for (int i = x.shape.rank(); i-- > 0;) {
      to += (i == scatter.axis ? index : rest % updates.shape[i]) * stride;
      rest /= updates.shape[i];
      stride *= x.shape[i];
    }
    if (index >= 0) join(outputs[0].data + to * bytes, updates.data + element * bytes, 1);
  }
}

}  // namespace

const OpSpec kScatterElements{
    .name = "scatter_elements",
    .summary =
        "y = x, then y[i, indices[i, j, k], k] = kind(that, updates[i, j, k]), for axis 1; kind assign, add, "
        "mul, max or min",
    .inputs = {"x", "indices", "updates"},
    .infer = infer_scatter_elements,
    .reference = reference_scatter_elements,
    .decode_attrs = decode_attrs_as<ScatterElementsAttrs>,
    .folds_at_import = true,
    .read_from = "ONNX ScatterElements; ATen scatter",
};

template Attrs::Attrs(ScatterElementsAttrs);

}  // namespace octavo
