// integer_sum: exact sums of quantized values; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_INTEGER_SUM_INTEGER_SUM_H_
#define OCTAVO_OPS_INTEGER_SUM_INTEGER_SUM_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace octavo {

struct IntegerSumAttrs {
  std::int32_t x_zero_point = 0;

  bool operator==(const IntegerSumAttrs&) const = default;
  static constexpr auto fields() { return std::tuple(Field{"x_zero_point", &IntegerSumAttrs::x_zero_point}); }
};

// y[o, i] = sum over k of x[o, k, i] - x_zero_point, s32; at most 2^22 terms, so that no sum can leave it. inputs: x u8
// or s8 [O, K, I].
extern const OpSpec kIntegerSum;

}  // namespace octavo

#endif  // OCTAVO_OPS_INTEGER_SUM_INTEGER_SUM_H_
