// Sums that become 8-bit values in fixed point. Part of lower/.
#ifndef OCTAVO_LOWER_FIXED_RESULT_H_
#define OCTAVO_LOWER_FIXED_RESULT_H_

#include <vector>

#include "base/fixed_point.h"
#include "graph/patch.h"
#include "lower/quantized_value.h"

namespace octavo {

// The operands of a FixedScale.
std::vector<ValueId> fixed_factors(Patch& patch, const Node& node, const std::vector<FixedMultiplier>& factors);

// What becomes of sums at the end.
Epilogue fixed_epilogue(const Quantized& end);

// That of the s32 wire: one factor, or one per index of its last axis.
ValueId fixed_result(Patch& patch, const Node& node, ValueId sums, const Quantized& end,
                     const std::vector<FixedMultiplier>& factors);

}  // namespace octavo

#endif  // OCTAVO_LOWER_FIXED_RESULT_H_
