// batch_norm: shape rule and reference. Part of ops/.
#include "ops/batch_norm/batch_norm.h"

#include <array>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_batch_norm(const Attrs& attrs, InputFacts inputs) {
  const auto& norm = attrs.as<BatchNormAttrs>();
  const Fact& x = *inputs[0];
  if (auto problem = check_dtype("x", x, {DType::f32, DType::f16, DType::bf16, DType::f64})) return *problem;
  if (auto problem = check_range("axis", norm.axis, 0, std::int64_t{x.shape.rank()} - 1)) return *problem;
  const std::int64_t channels = x.shape[static_cast<int>(norm.axis)];
  constexpr std::array<std::string_view, 5> names = {"x", "scale", "bias", "mean", "var"};
  for (std::size_t i = 1; i < names.size(); ++i) {
    const auto problem = first_of({check_dtype(names[i], *inputs[i], {DType::f32, DType::f16, DType::bf16, DType::f64}),
                                   check_shape(names[i], *inputs[i], {channels})});
    if (problem) return *problem;
  }
  if (auto problem = check_finite("epsilon", norm.epsilon)) return *problem;
  return one_output(x.dtype, x.shape.to_vector());
}

template <class T>
void normalize(const BatchNormAttrs& norm, InputViews inputs, const TensorView& y) {
  const Shape& shape = inputs[0].shape;
  const int axis = static_cast<int>(norm.axis);
  const std::int64_t inner = shape.elements(axis + 1, shape.rank());
  const std::int64_t count = shape.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t c = i / inner % shape[axis];
    const auto input = [&](std::size_t k, std::int64_t at) { return static_cast<T>(element_as_double(inputs[k], at)); };
    const auto channel =
        BatchNormChannel<T>::of(input(1, c), input(2, c), input(3, c), input(4, c), static_cast<T>(norm.epsilon));
    store_double(y, i, static_cast<double>(input(0, i) * channel.factor + channel.shift));
  }
}

void reference_batch_norm(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& norm = attrs.as<BatchNormAttrs>();
  if (inputs[0].dtype == DType::f64) return normalize<double>(norm, inputs, outputs[0]);
  normalize<float>(norm, inputs, outputs[0]);
}

}  // namespace

const OpSpec kBatchNorm = {
    .name = "batch_norm",
    .summary = "y = (x - mean) / sqrt(var + epsilon) * scale + bias, per index of the channel axis",
    .inputs = {"x", "scale", "bias", "mean", "var"},
    .infer = infer_batch_norm,
    .reference = reference_batch_norm,
    .decode_attrs = decode_attrs_as<BatchNormAttrs>,
    .for_one_image = same_for_one_image,
    .reordered = reordered_along_axis<BatchNormAttrs>,
    .read_from = "ONNX BatchNormalization; ATen batch_norm",
    .integer_form = "into the convolution before it, or a conv of its own",
};

template Attrs::Attrs(BatchNormAttrs);

}  // namespace octavo
