// The contract of fixed/: what the functions compiled for each instruction set compute. Part of kernels/.
// FixedMultiplier::apply of base/fixed_point.h is the meaning; `once` is profile tflite-single, `twice` tflite-double.
#ifndef OCTAVO_KERNELS_FIXED_ROWS_H_
#define OCTAVO_KERNELS_FIXED_ROWS_H_

#include <cstdint>

namespace octavo {

// rows x n sums, dense; multipliers and shifts are `step` (0 or 1) apart along n. y = clamp(FixedMultiplier{multiplier,
// shift}.apply(x) + zero_point), shifts clamped to what a FixedMultiplier has; then y = table[y as an unsigned byte]
// where there is a table.
struct FixedSums {
  const std::int32_t* x = nullptr;
  std::uint8_t* y = nullptr;
  std::int64_t rows = 0, n = 0;
  const std::int32_t* multiplier = nullptr;
  const std::int32_t* shift = nullptr;
  int step = 0;
  std::int32_t zero_point = 0, lowest = 0, highest = 255;
  const std::uint8_t* table = nullptr;
};

struct FixedRowFactor {
  std::int32_t multiplier = 0;
  std::int32_t shift = 0;
};

// rows x n results of u8 operands, dense; the elements of an operand are `step` (0 or 1, not both 0) apart, its rows
// `row_stride`. add, sub: y = clamp(y_factor(a_factor((a - a_zero_point) * 2^20) +- b_factor((b - b_zero_point) *
// 2^20)) + zero_point); mul: y = clamp(y_factor((a - a_zero_point) * (b - b_zero_point)) + zero_point).
struct FixedPairs {
  const std::uint8_t* a = nullptr;
  const std::uint8_t* b = nullptr;
  std::uint8_t* y = nullptr;
  std::int64_t rows = 0, n = 0;
  std::int64_t a_row_stride = 0, b_row_stride = 0;
  int a_step = 1, b_step = 1;
  FixedRowFactor a_factor, b_factor, y_factor;
  std::int32_t a_zero_point = 0, b_zero_point = 0;
  std::int32_t zero_point = 0, lowest = 0, highest = 255;
};

struct FixedFunctions {
  void (*sums_twice)(const FixedSums&);
  void (*sums_once)(const FixedSums&);
  void (*add_twice)(const FixedPairs&);
  void (*add_once)(const FixedPairs&);
  void (*sub_twice)(const FixedPairs&);
  void (*sub_once)(const FixedPairs&);
  void (*mul_twice)(const FixedPairs&);
  void (*mul_once)(const FixedPairs&);
};

extern const FixedFunctions kFixedScalar;
extern const FixedFunctions kFixedAvx2;
extern const FixedFunctions kFixedAvx512;

}  // namespace octavo

#endif  // OCTAVO_KERNELS_FIXED_ROWS_H_
