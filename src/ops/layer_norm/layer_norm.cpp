// layer_norm: shape rule and reference. Part of ops/.
#include "ops/layer_norm/layer_norm.h"

#include <cmath>

#include "base/partial_sums.h"
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

// f32: see layer_norm.h.
void layer_norm_f32(const LayerNormAttrs& norm, InputViews inputs, const TensorView& output) {
  const Shape normalized = normalized_shape(inputs[0].shape, norm.axis);
  const std::int64_t n = normalized.elements(), rows = output.shape.elements() / n;
  const auto factor_at = [&](std::size_t input, std::int64_t i) {
    return inputs[input].as<float>()[broadcast_source(inputs[input].shape, normalized, i)];
  };
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* x = inputs[0].as<float>() + row * n;
    const double total = partial_sum<double>(n, [&](std::int64_t i) { return static_cast<double>(x[i]); });
    const auto mean = static_cast<float>(total / static_cast<double>(n));
    const double squares = partial_sum<double>(n, [&](std::int64_t i) {
      const double centred = x[i] - mean;
      return centred * centred;
    });
    const auto factor =
        static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(n) + static_cast<double>(norm.epsilon)));
    for (std::int64_t i = 0; i < n; ++i) {
      const float normal = (x[i] - mean) * factor, scale = factor_at(1, i);
      output.as<float>()[row * n + i] = has_view(inputs, 2) ? std::fma(normal, scale, factor_at(2, i)) : normal * scale;
    }
  }
}

void reference_layer_norm(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  if (outputs[0].shape.elements() == 0) return;
  const auto& norm = attrs.as<LayerNormAttrs>();
  const ConstTensorView& x = inputs[0];
  if (x.dtype == DType::f32) return layer_norm_f32(norm, inputs, outputs[0]);
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

NodeRole role_of_layer_norm(const Attrs& attrs, InputFacts inputs) {
  const Fact& x = *inputs[0];
  if (attrs.as<LayerNormAttrs>().axis != x.shape.rank() - 1)
    return stays_floating("no integer form of layer_norm over more than the last axis");
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr && !is_f32_constant(*inputs[i]))
      return stays_floating("no integer form of layer_norm without constant scale and bias");
  }
  return {Role::kernel, {}};
}

}  // namespace

const OpSpec kLayerNorm = {
    .name = "layer_norm",
    .summary = "y = (x - mean) / sqrt(variance + epsilon) * scale + bias over axes [axis, rank); sums in f64",
    .inputs = {"x", "scale", "bias?"},
    .infer = infer_layer_norm,
    .reference = reference_layer_norm,
    .decode_attrs = decode_attrs_as<LayerNormAttrs>,
    .for_one_image = same_for_one_image_along_axis<LayerNormAttrs>,
    .reordered = reordered_layer_norm,
    .role = role_of_layer_norm,
    .read_from = "ONNX LayerNormalization; ATen layer_norm",
    .integer_form = "quantized_layer_norm",
};

template Attrs::Attrs(LayerNormAttrs);

}  // namespace octavo
