// fixed_l2_norm: shape rule and reference. Part of ops/.
#include "ops/fixed_l2_norm/fixed_l2_norm.h"

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/integers.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_fixed_l2_norm(const Attrs& attrs, InputFacts inputs) {
  const auto& norm = attrs.as<FixedL2NormAttrs>();
  const Fact& x = *inputs[0];
  if (auto problem = first_of(
          {check_dtype("x", x, {DType::u8, DType::s8}), check_rank("x", x, 1, 64), check_fixed_profile(norm.profile)}))
    return *problem;
  const IntegerRange range = range_of(x.dtype);
  if (auto problem = check_range("x_zero_point", norm.x_zero_point, range.lowest, range.highest)) return *problem;
  const auto type = infer_epilogue(norm.epilogue, EpilogueInput::sum, operands_from(inputs, kL2NormOperands), x.shape);
  if (!type) return type.errors();
  return one_output(*type, x.shape.to_vector());
}

void reference_fixed_l2_norm(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto& norm = attrs.as<FixedL2NormAttrs>();
  const ConstTensorView& x = inputs[0];
  const EpilogueReference epilogue(norm.epilogue, operands_from(inputs, kL2NormOperands), outputs[0]);
  const std::int64_t length = x.shape[x.shape.rank() - 1];
  const std::int64_t count = x.shape.elements();
  const auto difference = [&](std::int64_t i) { return load_8bit(x.data, x.dtype, i) - norm.x_zero_point; };
  for (std::int64_t first = 0; first < count; first += length) {
    std::uint32_t squares = 0;  // wraps where it leaves 32 bits
    for (std::int64_t i = first; i < first + length; ++i)
      squares += static_cast<std::uint32_t>(difference(i) * difference(i));
    const FixedMultiplier inverse = fixed_inverse_sqrt(static_cast<std::int32_t>(squares));
    for (std::int64_t i = first; i < first + length; ++i)
      epilogue.store(i, fixed_normalized(norm.profile, norm.form, inverse, difference(i)));
  }
}

}  // namespace

const OpSpec kFixedL2Norm = {
    .name = "fixed_l2_norm",
    .summary =
        "y = epilogue((x - x_zero_point) / length of its line in units of 1/128), in fixed point (fixed_inverse_sqrt, "
        "fixed_normalized)",
    .inputs = {"x", "epilogue*"},
    .infer = infer_fixed_l2_norm,
    .reference = reference_fixed_l2_norm,
    .decode_attrs = decode_attrs_as<FixedL2NormAttrs>,
    .for_one_image = same_for_one_image_along_last_axis,
    .is_integer = true,
    .epilogue = &kEndsInEpilogue<FixedL2NormAttrs, kL2NormOperands>,
    .relabelled = relabelled_x<FixedL2NormAttrs>,
};

template Attrs::Attrs(FixedL2NormAttrs);

}  // namespace octavo
