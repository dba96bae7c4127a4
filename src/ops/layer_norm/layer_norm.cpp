// layer_norm: shape rule and reference. Part of ops/.
#include "ops/layer_norm/layer_norm.h"

#include <cmath>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

OpenShape normalized_shape(const OpenShape& x, std::int64_t axis) {
  return OpenShape(x.dims().subspan(static_cast<std::size_t>(axis)));
}

Problem check_factor(std::string_view what, const Fact& factor, const Fact& x, const OpenShape& normalized) {
  if (auto problem = check_same_dtype(what, factor, x.dtype)) return problem;
  const auto joined = broadcast(factor.shape, normalized);
  if (joined && *joined == normalized) return std::nullopt;
  return shape_error(std::string(what), "shape " + factor.shape.to_string(),
                     "one that broadcasts to " + normalized.to_string());
}

Result<std::vector<Fact>> infer_layer_norm(const Attrs& attrs, InputFacts inputs) {
  const auto& norm = attrs.as<LayerNormAttrs>();
  const Fact& x = *inputs[0];
  if (auto problem = check_dtype("x", x, {DType::f32, DType::f16, DType::bf16, DType::f64})) return *problem;
  if (auto problem = check_range("axis", norm.axis, 0, std::int64_t{x.shape.rank()} - 1)) return *problem;
  const OpenShape normalized = normalized_shape(x.shape, norm.axis);
  if (auto problem =
          first_of({check_factor("scale", *inputs[1], x, normalized), check_finite("epsilon", norm.epsilon)}))
    return *problem;
  if (const Fact* bias = fact_at(inputs, 2)) {
    if (auto problem = check_factor("bias", *bias, x, normalized)) return *problem;
  }
  return one_output(x.dtype, x.shape.to_vector());
}

// Element of a tensor that broadcasts to `whole`, met by element `index` of the whole.
std::int64_t broadcast_source(const Shape& shape, const Shape& whole, std::int64_t index) {
  std::int64_t result = 0;
  std::int64_t stride = 1;
  for (int back = 1; back <= shape.rank(); ++back) {
    const std::int64_t size = whole[whole.rank() - back];
    const std::int64_t own = shape[shape.rank() - back];
    result += (own == 1 ? 0 : index % size) * stride;
    index /= size;
    stride *= own;
  }
  return result;
}

void reference_layer_norm(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  if (outputs[0].shape.elements() == 0) return;
  const auto& norm = attrs.as<LayerNormAttrs>();
  const ConstTensorView& x = inputs[0];
  const Shape normalized = normalized_shape(x.shape, norm.axis);
  const std::int64_t inner = normalized.elements();
  const std::int64_t rows = x.shape.elements(0, static_cast<int>(norm.axis));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = row * inner;
    double sum = 0.0;
    for (std::int64_t i = 0; i < inner; ++i) sum += element_as_double(x, first + i);
    const double mean = sum / static_cast<double>(inner);
    double squares = 0.0;
    for (std::int64_t i = 0; i < inner; ++i) {
      const double centred = element_as_double(x, first + i) - mean;
      squares += centred * centred;
    }
    const double deviation = std::sqrt(squares / static_cast<double>(inner) + static_cast<double>(norm.epsilon));
    for (std::int64_t i = 0; i < inner; ++i) {
      double y = (element_as_double(x, first + i) - mean) / deviation;
      y *= element_as_double(inputs[1], broadcast_source(inputs[1].shape, normalized, i));
      if (has_view(inputs, 2)) y += element_as_double(inputs[2], broadcast_source(inputs[2].shape, normalized, i));
      store_double(outputs[0], first + i, y);
    }
  }
}

// The normalised axes are the last ones; an order that leaves them in place is carried.
std::optional<Reordered> reordered_layer_norm(const Attrs& attrs, InputFacts, const Axes& axes) {
  for (auto axis = static_cast<std::size_t>(attrs.as<LayerNormAttrs>().axis); axis < axes.size(); ++axis) {
    if (axes[axis] != static_cast<std::int64_t>(axis)) return std::nullopt;
  }
  return Reordered{attrs, axes};
}

}  // namespace

const OpSpec kLayerNorm = {
    .name = "layer_norm",
    .summary = "y = (x - mean) / sqrt(variance + epsilon) * scale + bias over axes [axis, rank); in f64, rounded once",
    .inputs = {"x", "scale", "bias?"},
    .infer = infer_layer_norm,
    .reference = reference_layer_norm,
    .decode_attrs = decode_attrs_as<LayerNormAttrs>,
    .for_one_image = same_for_one_image_along_axis<LayerNormAttrs>,
    .reordered = reordered_layer_norm,
    .read_from = "ONNX LayerNormalization; ATen layer_norm",
};

template Attrs::Attrs(LayerNormAttrs);

}  // namespace octavo
