// Sums that become 8-bit values in fixed point. Part of lower/.
#include "lower/fixed_result.h"

#include "ops/quantized_elementwise/quantized_elementwise.h"

namespace octavo {

std::vector<ValueId> fixed_factors(Patch& patch, const Node& node, const std::vector<FixedMultiplier>& factors) {
  const Shape shape{static_cast<std::int64_t>(factors.size())};
  Tensor multipliers(DType::s32, shape), shifts(DType::s32, shape);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    multipliers.as<std::int32_t>()[i] = factors[i].multiplier;
    shifts.as<std::int32_t>()[i] = factors[i].shift;
  }
  return {patch.constant(node.name + "/multipliers", std::move(multipliers)),
          patch.constant(node.name + "/shifts", std::move(shifts))};
}

Epilogue fixed_epilogue(const Quantized& end) { return {{FixedScale{end.profile}, end.rounding()}, end.type.dtype}; }

ValueId fixed_result(Patch& patch, const Node& node, ValueId sums, const Quantized& end,
                     const std::vector<FixedMultiplier>& factors) {
  std::vector<ValueId> inputs = fixed_factors(patch, node, factors);
  inputs.insert(inputs.begin(), sums);
  const ValueId y = patch.add(kQuantizedElementwise, QuantizedElementwiseAttrs{fixed_epilogue(end)}, std::move(inputs),
                              node.name + "/requantized", node.origin);
  patch.set_quant(y, end.type.params());
  return y;
}

}  // namespace octavo
