// fixed_l2_norm: quantized values over the length of their line, in fixed point; made by lower/. Part of ops/.
#ifndef OCTAVO_OPS_FIXED_L2_NORM_FIXED_L2_NORM_H_
#define OCTAVO_OPS_FIXED_L2_NORM_FIXED_L2_NORM_H_

#include <cstdint>
#include <tuple>

#include "base/fixed_point.h"
#include "graph/op.h"
#include "ops/epilogue.h"

namespace octavo {

struct FixedL2NormAttrs {
  FixedNormForm form = FixedNormForm::in_factor;
  Profile profile = Profile::tflite_double;
  std::int32_t x_zero_point = 0;
  Epilogue epilogue;

  bool operator==(const FixedL2NormAttrs&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"form", &FixedL2NormAttrs::form}, Field{"profile", &FixedL2NormAttrs::profile},
                      Field{"x_zero_point", &FixedL2NormAttrs::x_zero_point},
                      Field{"epilogue", &FixedL2NormAttrs::epilogue});
  }
};

// Along the last axis, in units of 1/128: y = epilogue(fixed_normalized(fixed_inverse_sqrt(s32 sum of squares of x -
// x_zero_point), x - x_zero_point)) of base/fixed_point.h. inputs: x u8 or s8, then the operands of the epilogue.
inline constexpr std::size_t kL2NormOperands = 1;
extern const OpSpec kFixedL2Norm;

}  // namespace octavo

#endif  // OCTAVO_OPS_FIXED_L2_NORM_FIXED_L2_NORM_H_
