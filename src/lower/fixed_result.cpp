// Sums that become 8-bit values in fixed point. Part of lower/.
#include "lower/fixed_result.h"

#include "ops/fixed_requantize/fixed_requantize.h"

namespace octavo {

ValueId fixed_result(Patch& patch, const Node& node, ValueId sums, const Quantized& end,
                     const std::vector<FixedMultiplier>& factors) {
  const Shape shape{static_cast<std::int64_t>(factors.size())};
  Tensor multipliers(DType::s32, shape), shifts(DType::s32, shape);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    multipliers.as<std::int32_t>()[i] = factors[i].multiplier;
    shifts.as<std::int32_t>()[i] = factors[i].shift;
  }
  const FixedRequantizeAttrs attrs{end.type.dtype, end.profile, end.type.zero_point, end.lowest, end.highest};
  const std::vector<ValueId> inputs = {sums, patch.constant(node.name + "/multipliers", std::move(multipliers)),
                                       patch.constant(node.name + "/shifts", std::move(shifts))};
  const ValueId y = patch.add(kFixedRequantize, attrs, inputs, node.name + "/requantized", node.origin);
  patch.set_quant(y, end.type.params());
  return y;
}

}  // namespace octavo
