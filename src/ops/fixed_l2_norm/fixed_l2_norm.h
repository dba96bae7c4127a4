// fixed_l2_norm: quantized values over the length of their line, in fixed point; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_FIXED_L2_NORM_FIXED_L2_NORM_H_
#define OCTAVO_OPS_FIXED_L2_NORM_FIXED_L2_NORM_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/fixed_point.h"
#include "graph/op.h"

namespace octavo {

struct FixedL2NormAttrs {
  FixedNormForm form = FixedNormForm::in_factor;
  DType to = DType::u8;
  Profile profile = Profile::tflite_double;
  std::int32_t x_zero_point = 0;
  std::int32_t zero_point = 128;
  std::int32_t lowest = 0;
  std::int32_t highest = 255;

  bool operator==(const FixedL2NormAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"form", &FixedL2NormAttrs::form}, Field{"to", &FixedL2NormAttrs::to},
                      Field{"profile", &FixedL2NormAttrs::profile},
                      Field{"x_zero_point", &FixedL2NormAttrs::x_zero_point},
                      Field{"zero_point", &FixedL2NormAttrs::zero_point}, Field{"lowest", &FixedL2NormAttrs::lowest},
                      Field{"highest", &FixedL2NormAttrs::highest});
  }
};

// Along the last axis, in units of 1/128: y = clamp(fixed_normalized(fixed_inverse_sqrt(s32 sum of squares of x -
// x_zero_point), x - x_zero_point) + zero_point) of base/fixed_point.h. inputs: x u8 or s8.
extern const OpSpec kFixedL2Norm;

}  // namespace octavo

#endif  // OCTAVO_OPS_FIXED_L2_NORM_FIXED_L2_NORM_H_
