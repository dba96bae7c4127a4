// quantized_layer_norm: shape rule and reference. Part of ops/.
#include "ops/quantized_layer_norm/quantized_layer_norm.h"

#include "graph/attrs_of.h"
#include "graph/open_shape.h"
#include "ops/check.h"
#include "ops/integers.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_quantized_layer_norm(const Attrs& attrs, InputFacts inputs) {
  const auto& norm = attrs.as<QuantizedLayerNormAttrs>();
  const Fact& x = *inputs[0];
  if (auto problem = first_of({check_dtype("x", x, {DType::u8, DType::s8, DType::s16}), check_rank("x", x, 1, 64),
                               check_finite("epsilon", norm.epsilon)}))
    return *problem;
  const IntegerRange range = range_of(x.dtype);
  const Dim length = x.shape[x.shape.rank() - 1];
  if (auto problem = first_of({check_range("x_zero_point", norm.x_zero_point, range.lowest, range.highest),
                               check_range("length of a line", length, 0, kLongestNormLine)}))
    return *problem;
  if (norm.epsilon < 0.0f) return shape_error("epsilon", std::to_string(norm.epsilon), "0 or more");
  const auto type =
      infer_epilogue(norm.epilogue, EpilogueInput::real, operands_from(inputs, kLayerNormOperands), x.shape);
  if (!type) return type.errors();
  return one_output(*type, x.shape.to_vector());
}

void reference_quantized_layer_norm(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& norm = attrs.as<QuantizedLayerNormAttrs>();
  const ConstTensorView& x = inputs[0];
  const EpilogueReference epilogue(norm.epilogue, operands_from(inputs, kLayerNormOperands), outputs[0]);
  const std::int64_t length = x.shape[x.shape.rank() - 1];
  const std::int64_t count = x.shape.elements();
  const auto difference = [&](std::int64_t i) {
    const std::int32_t stored =
        x.dtype == DType::s16 ? std::int32_t{x.as<std::int16_t>()[i]} : load_8bit(x.data, x.dtype, i);
    return stored - norm.x_zero_point;
  };
  for (std::int64_t first = 0; first < count; first += length) {
    std::int64_t sum = 0, squares = 0;
    for (std::int64_t i = first; i < first + length; ++i) {
      sum += difference(i);
      squares += std::int64_t{difference(i)} * difference(i);
    }
    const LineNorm line = LineNorm::of(norm.is_centred, norm.epsilon, sum, squares, length);
    for (std::int64_t i = first; i < first + length; ++i)
      epilogue.store_real(i, (static_cast<float>(difference(i)) - line.mean) * line.inverse);
  }
}

}  // namespace

const OpSpec kQuantizedLayerNorm = {
    .name = "quantized_layer_norm",
    .summary =
        "y = epilogue((x - mean) / sqrt(variance + epsilon)) along the last axis, mean and variance of exact integer "
        "sums",
    .inputs = {"x", "epilogue*"},
    .infer = infer_quantized_layer_norm,
    .reference = reference_quantized_layer_norm,
    .decode_attrs = decode_attrs_as<QuantizedLayerNormAttrs>,
    .for_one_image = same_for_one_image_along_last_axis,
    .is_integer = true,
    .epilogue = &kEndsInEpilogue<QuantizedLayerNormAttrs, kLayerNormOperands>,
    .relabelled = relabelled_x<QuantizedLayerNormAttrs>,
};

template Attrs::Attrs(QuantizedLayerNormAttrs);

}  // namespace octavo
