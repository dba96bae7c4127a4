// RowEpilogue: an epilogue as vectors of any width compute it, the packed form of EpilogueParts and of StepEpilogue.
// Plain data, for files that are compiled for one instruction set. Part of kernels/epilogue/.
#ifndef OCTAVO_KERNELS_EPILOGUE_ROWS_H_
#define OCTAVO_KERNELS_EPILOGUE_ROWS_H_

#include <cstdint>

#include "kernels/simd/fixed_rounding.h"

namespace octavo {

// Whether and how another tensor is added.
enum class Addition : std::uint8_t { none, before_rounding, real_first, real_second, integer };

// rne(clamp(x, lowest, highest)) + after, and the same of integers.
struct RowRound {
  float lowest = 0.0f, highest = 0.0f;
  std::int32_t after = 0;
  std::int32_t lowest_integer = 0, highest_integer = 0;
};

// A FixedMultiplier of base/fixed_point.h.
struct RowFactor {
  std::int32_t multiplier = 0, shift = 0;
};

// What comes before the rounding: the stages of these names in ops/epilogue.h.
enum class Formula : std::uint8_t {
  channels,  // of a convolution: a multiplier for each, rests, additions
  // of a sum (divide: of a real)
  whole,
  affine,
  divide,
  fixed_scale,
  double_scale,
  // of two stored values
  add_real,
  multiply,
  add_integer,
  fixed_add,
  fixed_sub,
  fixed_mul,
  fixed_prelu,
  fixed_squared_difference,
  fixed_div  // by one lane alone
};

struct RowEpilogue {
  enum class Result : std::uint8_t { s32, f32, bytes, words };

  Result result = Result::bytes;
  Formula formula = Formula::channels;
  RowRound round;                                      // the only one, or of the scaled sum before an addition
  std::int32_t value_shift = 0, other_shift = 0;       // what is subtracted from the two of an addition or product
  float a_ratio = 0.0f, b_ratio = 0.0f, fixed = 0.0f;  // AddReal
  const std::uint8_t* table = nullptr;                 // null: none

  // channels
  Addition addition = Addition::none;  // in f32
  bool other_is_signed = false;
  bool other_is_words = false;  // s16; bytes otherwise
  const float* multiplier = nullptr;
  const float* rest = nullptr;  // of the bias; null: none
  RowRound add_round;           // of an addition after the rounding
  float ratio = 0.0f;           // before_rounding: f32(other - other_shift) * ratio is added (fused, behind ScaleInRun)

  // affine, and the product of multiply: x * factor + offset; divide: x / factor + offset
  float factor = 1.0f, offset = 0.0f;

  // fixed_scale and double_scale: factors are `factor_step` (0 or 1) apart along the channels
  const std::int32_t* fixed_multiplier = nullptr;
  const std::int32_t* fixed_shift = nullptr;
  const double* double_multiplier = nullptr;
  int factor_step = 0;

  // fixed point of two; add_integer: ((a * a_factor + b * b_factor + bias) >> right_shift)
  RowFactor a_factor, b_factor, y_factor;
  std::int32_t bias = 0, right_shift = 1;
  FixedRounding fixed_rounding = FixedRounding::twice;  // of all fixed point
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_EPILOGUE_ROWS_H_
