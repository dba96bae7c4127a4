// fixed_requantize: shape rule and reference. Part of ops/.
#include "ops/fixed_requantize/fixed_requantize.h"

#include <algorithm>
#include <cmath>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/integers.h"
#include "ops/one_image.h"

namespace octavo {
namespace {

// Multipliers of one type or the other, one or as many as x has channels.
Problem check_multipliers(const Fact& x, const Fact& multipliers, const Fact* shifts) {
  const bool is_real = multipliers.dtype == DType::f64;
  if (auto problem = check_dtype("multipliers", multipliers, {DType::s32, DType::f64})) return problem;
  if ((shifts == nullptr) != is_real)
    return shape_error("shifts", is_real ? "some" : "none", is_real ? "none beside f64 multipliers" : "them");
  if (shifts != nullptr) {
    if (auto problem =
            first_of({check_dtype("shifts", *shifts, {DType::s32}), check_shape("shifts", *shifts, multipliers.shape)}))
      return problem;
  }
  const Shape one{1};
  return check_shape("multipliers", multipliers, multipliers.shape == one ? one : Shape{x.shape[x.shape.rank() - 1]});
}

Result<std::vector<Fact>> infer_fixed_requantize(const Attrs& attrs, InputFacts inputs) {
  const auto& op = attrs.as<FixedRequantizeAttrs>();
  const Fact& x = *inputs[0];
  const Fact* table = fact_at(inputs, 3);
  if (auto problem = first_of(
          {check_dtype("x", x, {DType::s32}), check_rank("x", x, 1, 64), check_fixed_profile(op.profile),
           check_clamp({.to = op.to, .zero_point = op.zero_point, .lowest = op.lowest, .highest = op.highest})})) {
    return *problem;
  }
  if (auto problem = check_multipliers(x, *inputs[1], fact_at(inputs, 2))) return *problem;
  if (table != nullptr) {
    if (auto problem = check_table(*table, {DType::u8, DType::s8})) return *problem;
  }
  return one_output(table != nullptr ? table->dtype : op.to, x.shape.to_vector());
}

// Multipliers may come from a run: shifts are bounded.
FixedMultiplier factor_at(InputViews inputs, std::int64_t channel) {
  const std::int32_t shift = inputs[2].as<std::int32_t>()[channel];
  return {inputs[1].as<std::int32_t>()[channel],
          std::clamp(shift, FixedMultiplier::kLowestShift, FixedMultiplier::kHighestShift)};
}

// Rows of `channels` values; `result` gives that of a value and its index in the row.
template <class Result>
void for_rows(InputViews inputs, OutputViews outputs, std::int64_t channels, const Result& result) {
  const auto* x = inputs[0].as<std::int32_t>();
  const std::int64_t rows = channels == 0 ? 0 : inputs[0].shape.elements() / channels;
  const std::byte* table = has_view(inputs, 3) ? inputs[3].data : nullptr;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int32_t q = result(x[row * channels + c], c);
      if (table != nullptr) outputs[0].data[row * channels + c] = table[q & 0xff];
      else store_8bit(outputs[0].data, row * channels + c, q);
    }
  }
}

std::int32_t real_result(const FixedRequantizeAttrs& op, std::int32_t x, double multiplier) {
  const double lowest = op.lowest - op.zero_point, highest = op.highest - op.zero_point;
  const double product = static_cast<double>(x) * multiplier;
  const double raised = product > lowest ? product : lowest;
  return static_cast<std::int32_t>(std::round(raised < highest ? raised : highest)) + op.zero_point;
}

void reference_fixed_requantize(const Attrs& attrs, InputViews inputs, OutputViews outputs) {
  const auto op = attrs.as<FixedRequantizeAttrs>();
  const Shape& shape = inputs[0].shape;
  const std::int64_t channels = shape[shape.rank() - 1];
  const std::int64_t step = inputs[1].shape.elements() == 1 ? 0 : 1;
  if (inputs[1].dtype == DType::f64) {
    const auto* multipliers = inputs[1].as<double>();
    return for_rows(inputs, outputs, channels,
                    [&](std::int32_t x, std::int64_t c) { return real_result(op, x, multipliers[c * step]); });
  }
  for_rows(inputs, outputs, channels, [&](std::int32_t x, std::int64_t c) {
    return FixedResult{factor_at(inputs, c * step), op.zero_point, op.lowest, op.highest}.apply(op.profile, x);
  });
}

}  // namespace

const OpSpec kFixedRequantize = {
    .name = "fixed_requantize",
    .summary =
        "y = table[clamp(x * multiplier * 2^(shift - 31), or x * f64 multiplier, rounded as the profile says, + "
        "zero_point)], per tensor or on the "
        "last axis",
    .inputs = {"x", "multipliers", "shifts?", "table?"},
    .infer = infer_fixed_requantize,
    .reference = reference_fixed_requantize,
    .decode_attrs = decode_attrs_as<FixedRequantizeAttrs>,
    .for_one_image = same_for_one_image,
    .is_integer = true,
};

template Attrs::Attrs(FixedRequantizeAttrs);

}  // namespace octavo
