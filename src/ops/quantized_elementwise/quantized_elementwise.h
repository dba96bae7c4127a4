// quantized_elementwise: what becomes of stored values, or of sums, element by element; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_QUANTIZED_ELEMENTWISE_QUANTIZED_ELEMENTWISE_H_
#define OCTAVO_OPS_QUANTIZED_ELEMENTWISE_QUANTIZED_ELEMENTWISE_H_

#include <tuple>

#include "graph/op.h"
#include "ops/epilogue.h"

namespace octavo {

struct QuantizedElementwiseAttrs {
  Epilogue epilogue;

  bool operator==(const QuantizedElementwiseAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"epilogue", &QuantizedElementwiseAttrs::epilogue}); }
};

// y = epilogue(x): x u8 or s8, which the epilogue takes as a stored value (an addition, a product, ...), or s16 or s32,
// which it takes as a sum (a requantization). x and stored operands broadcast as in numpy. inputs: x, then the operands
// of the epilogue.
inline constexpr std::size_t kElementwiseOperands = 1;
extern const OpSpec kQuantizedElementwise;

}  // namespace octavo

#endif  // OCTAVO_OPS_QUANTIZED_ELEMENTWISE_QUANTIZED_ELEMENTWISE_H_
