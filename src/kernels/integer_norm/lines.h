// The contract of integer_norm/: lines of stored values between files that are compiled for one instruction set. Part
// of kernels/.
#ifndef OCTAVO_KERNELS_INTEGER_NORM_LINES_H_
#define OCTAVO_KERNELS_INTEGER_NORM_LINES_H_

#include <cstdint>

#include "kernels/epilogue/rows.h"

namespace octavo {

enum class NormType : std::uint8_t { u8, s8, s16 };

// n up to 32768 values.
struct NormLine {
  NormType x_type = NormType::s16;
  std::int32_t x_zero_point = 0;  // 0 of s16
  std::int64_t n = 0;
};

enum class NormTo : std::uint8_t { bytes, s16, f32 };

// Exact: of d = x - x_zero_point and of d * d.
struct NormSums {
  std::int64_t sum = 0, squares = 0;
};

// y = round(fma((f32(d) - mean) * inverse, factor, shift)), then the table where there is one.
struct NormResult {
  float mean = 0.0f, inverse = 0.0f;
  const float* factor = nullptr;  // n each
  const float* shift = nullptr;
  RowRound round;  // not of f32
  NormTo to = NormTo::bytes;
  const std::uint8_t* table = nullptr;  // of bytes; null: none
};

struct NormFunctions {
  NormSums (*sums)(const NormLine& line, const void* x);
  void (*finish)(const NormLine& line, const NormResult& result, const void* x, void* y);
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_INTEGER_NORM_LINES_H_
