// fixed_requantize: sums as 8-bit values by multipliers in fixed point; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_FIXED_REQUANTIZE_FIXED_REQUANTIZE_H_
#define OCTAVO_OPS_FIXED_REQUANTIZE_FIXED_REQUANTIZE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/fixed_point.h"
#include "graph/op.h"

namespace octavo {

struct FixedRequantizeAttrs {
  DType to = DType::u8;
  Profile profile = Profile::tflite_double;
  std::int32_t zero_point = 0;
  std::int32_t lowest = 0;
  std::int32_t highest = 255;

  bool operator==(const FixedRequantizeAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"to", &FixedRequantizeAttrs::to}, Field{"profile", &FixedRequantizeAttrs::profile},
                      Field{"zero_point", &FixedRequantizeAttrs::zero_point},
                      Field{"lowest", &FixedRequantizeAttrs::lowest}, Field{"highest", &FixedRequantizeAttrs::highest});
  }
};

// y = FixedResult::apply(x) of base/fixed_point.h with the multiplier and shift of x's index on the last axis, or the
// only ones; then y = table[y as an unsigned byte] where there is a table. inputs: x s32, multipliers s32 [C] or [1],
// shifts s32 alike, table? [256]. Multipliers f64 without shifts: y = clamp(round(f64(x) * multiplier) + zero_point),
// halves away from 0: FULLY_CONNECTED of LiteRT 2.3's reference kernels.
extern const OpSpec kFixedRequantize;

}  // namespace octavo

#endif  // OCTAVO_OPS_FIXED_REQUANTIZE_FIXED_REQUANTIZE_H_
