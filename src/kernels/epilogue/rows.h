// RowEpilogue: an epilogue as vectors of any width compute it, the packed form of EpilogueParts. Plain data, for files
// that are compiled for one instruction set. Part of kernels/epilogue/.
#ifndef OCTAVO_KERNELS_EPILOGUE_ROWS_H_
#define OCTAVO_KERNELS_EPILOGUE_ROWS_H_

#include <cstdint>

namespace octavo {

// Whether and how another tensor is added.
enum class Addition : std::uint8_t { none, before_rounding, real_first, real_second, integer };

// rne(clamp(x, lowest, highest)) + after.
struct RowRound {
  float lowest = 0.0f, highest = 0.0f;
  std::int32_t after = 0;
};

struct RowEpilogue {
  enum class Result : std::uint8_t { s32, f32, bytes };

  Result result = Result::bytes;
  Addition addition = Addition::none;  // in f32
  bool other_is_signed = false;
  const float* multiplier = nullptr;                   // per channel
  const float* rest = nullptr;                         // of the bias, per channel; null: none
  RowRound round, add_round;                           // of the scaled sum, of an addition after that
  float ratio = 0.0f;                                  // before_rounding: f32(other - other_shift) * ratio is added
  float a_ratio = 0.0f, b_ratio = 0.0f, fixed = 0.0f;  // AddReal
  std::int32_t value_shift = 0, other_shift = 0;
  const std::uint8_t* table = nullptr;  // null: none
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_EPILOGUE_ROWS_H_
