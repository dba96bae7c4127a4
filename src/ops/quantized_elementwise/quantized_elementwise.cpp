// quantized_elementwise: shape rule and reference. Part of ops/.
#include "ops/quantized_elementwise/quantized_elementwise.h"

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/integers.h"
#include "ops/movement.h"
#include "ops/one_image.h"

namespace octavo {
namespace {

// x and the stored operands together.
Result<OpenShape> broadcast_with_operands(const Epilogue& epilogue, const OpenShape& x, InputFacts operands) {
  OpenShape y = x;
  const std::vector<StageOperand> kinds = epilogue.operands();
  for (std::size_t i = 0; i < std::min(kinds.size(), operands.size()); ++i) {
    const bool is_stored = kinds[i] == StageOperand::stored || kinds[i] == StageOperand::stored_or_s16;
    if (!is_stored || operands[i] == nullptr) continue;
    const OpenShape& other = operands[i]->shape;
    auto both = broadcast(y, other);
    if (!both)
      return shape_error("epilogue", "shape " + other.to_string(), "one that broadcasts with " + y.to_string());
    y = *std::move(both);
  }
  return y;
}

Result<std::vector<Fact>> infer_quantized_elementwise(const Attrs& attrs, InputFacts inputs) {
  const auto& epilogue = attrs.as<QuantizedElementwiseAttrs>().epilogue;
  const Fact& x = *inputs[0];
  if (auto problem = check_dtype("x", x, {DType::u8, DType::s8, DType::s16, DType::s32})) return *problem;
  const InputFacts operands = operands_from(inputs, kElementwiseOperands);
  const auto shape = broadcast_with_operands(epilogue, x.shape, operands);
  if (!shape) return shape.errors();
  if (!checked_elements(shape->dims())) return one_output(epilogue.to, shape->to_vector());
  // s16 is what the first stage takes it for.
  const bool is_pair = !epilogue.stages.empty() && std::holds_alternative<FixedBinary>(epilogue.stages.front());
  const bool is_stored = is_8bit(x.dtype) || (x.dtype == DType::s16 && is_pair);
  const EpilogueInput input = is_stored ? EpilogueInput::stored : EpilogueInput::sum;
  const auto type = infer_epilogue(epilogue, input, operands, *shape);
  if (!type) return type.errors();
  return one_output(*type, shape->to_vector());
}

void reference_quantized_elementwise(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const ConstTensorView& x = inputs[0];
  const Shape& y = outputs[0].shape;
  const EpilogueReference epilogue(attrs.as<QuantizedElementwiseAttrs>().epilogue,
                                   operands_from(inputs, kElementwiseOperands), outputs[0]);
  std::int64_t element = 0;
  for_each_offset(y, broadcast_strides(x.shape, y), 0, [&](std::int64_t offset) {
    epilogue.store(element++, x.dtype == DType::s32   ? x.as<std::int32_t>()[offset]
                              : x.dtype == DType::s16 ? std::int32_t{x.as<std::int16_t>()[offset]}
                                                      : load_8bit(x.data, x.dtype, offset));
  });
}

}  // namespace

const OpSpec kQuantizedElementwise = {
    .name = "quantized_elementwise",
    .summary =
        "y = epilogue(x), x an 8-bit value (an addition, a product, ...) or an s16 or s32 sum, numpy broadcasting",
    .inputs = {"x", "epilogue*"},
    .infer = infer_quantized_elementwise,
    .reference = reference_quantized_elementwise,
    .decode_attrs = decode_attrs_as<QuantizedElementwiseAttrs>,
    .for_one_image = same_for_one_image,
    .is_integer = true,
    .epilogue = &kEndsInEpilogue<QuantizedElementwiseAttrs, kElementwiseOperands>,
};

template Attrs::Attrs(QuantizedElementwiseAttrs);

}  // namespace octavo
