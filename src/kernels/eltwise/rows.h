// The contract of eltwise/: what the functions compiled for each instruction set compute. Part of kernels/.
#ifndef OCTAVO_KERNELS_ELTWISE_ROWS_H_
#define OCTAVO_KERNELS_ELTWISE_ROWS_H_

#include <cstdint>

#include "kernels/epilogue/rows.h"
#include "ops/unary/kind.h"

namespace octavo {

// rows x n results, dense; the elements of an operand are `step` (0 or 1, not both 0) apart, its rows `row_stride`. y
// may be an operand with equal strides. The epilogue is one of two stored values, a the value and b the other.
struct PairRows {
  const std::uint8_t* a = nullptr;
  const std::uint8_t* b = nullptr;
  std::uint8_t* y = nullptr;
  std::int64_t rows = 0, n = 0;
  std::int64_t a_row_stride = 0, b_row_stride = 0;
  int a_step = 1, b_step = 1;
  bool a_is_signed = false, b_is_signed = false;
  RowEpilogue epilogue;
};

// The same places for s16; the epilogue is fixed_add, fixed_sub, fixed_mul or fixed_div.
struct S16Rows {
  const std::int16_t* a = nullptr;
  const std::int16_t* b = nullptr;
  std::int16_t* y = nullptr;
  std::int64_t rows = 0, n = 0;
  std::int64_t a_row_stride = 0, b_row_stride = 0;
  int a_step = 1, b_step = 1;
  RowEpilogue epilogue;
};

inline constexpr int kS16Headroom = 15;  // of sums and differences of s16

// rows x n results of the sums 256 * upper + lower, dense; channels along n. The epilogue is fixed_scale, whose factors
// are WideMultipliers where is_wide says so, or double_scale.
struct JoinedRows {
  const std::int32_t* upper = nullptr;
  const std::int32_t* lower = nullptr;
  std::int16_t* y = nullptr;
  std::int64_t rows = 0, n = 0;
  bool is_wide = false;
  RowEpilogue epilogue;
};

// The same places for f32, one operation per element.
struct F32Rows {
  const float* a = nullptr;
  const float* b = nullptr;
  float* y = nullptr;
  std::int64_t rows = 0, n = 0;
  std::int64_t a_row_stride = 0, b_row_stride = 0;
  int a_step = 1, b_step = 1;
};

// The same places, y = 1 where the comparison holds, else 0.
struct F32Comparison {
  const float* a = nullptr;
  const float* b = nullptr;
  std::uint8_t* y = nullptr;
  std::int64_t rows = 0, n = 0;
  std::int64_t a_row_stride = 0, b_row_stride = 0;
  int a_step = 1, b_step = 1;
};

struct EltwiseFunctions {
  void (*pairs)(const PairRows&);
  void (*sums)(const RowEpilogue&, const std::int32_t* sums, std::int64_t rows, std::int64_t n, void* y);
  void (*s16_pairs)(const S16Rows&);
  void (*joined_sums)(const JoinedRows&);
  void (*add)(const F32Rows&);
  void (*sub)(const F32Rows&);
  void (*mul)(const F32Rows&);
  void (*div)(const F32Rows&);
  void (*min)(const F32Rows&);
  void (*max)(const F32Rows&);
  void (*prelu)(const F32Rows&);
  void (*pow)(const F32Rows&);
  void (*equal)(const F32Comparison&);
  void (*less)(const F32Comparison&);
  void (*less_or_equal)(const F32Comparison&);
  UnaryLines unary;
  // y[i] = 1 where x[i] is NaN, or one of these two, else 0.
  void (*is_nan)(const float* x, std::uint8_t* y, std::int64_t n);
  void (*is_one_of)(const float* x, std::uint8_t* y, std::int64_t n, float a, float b);
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_ELTWISE_ROWS_H_
