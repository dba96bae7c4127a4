// The contract of eltwise/: what the functions compiled for each instruction set compute. Part of kernels/.
#ifndef OCTAVO_KERNELS_ELTWISE_ROWS_H_
#define OCTAVO_KERNELS_ELTWISE_ROWS_H_

#include <cstdint>

#include "kernels/epilogue/rows.h"

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

// The same places for f32, one operation per element.
struct F32Rows {
  const float* a = nullptr;
  const float* b = nullptr;
  float* y = nullptr;
  std::int64_t rows = 0, n = 0;
  std::int64_t a_row_stride = 0, b_row_stride = 0;
  int a_step = 1, b_step = 1;
};

// Functions of one f32 that need no elementary function: y = f32(f(f64(x))), as evaluate_unary says; alpha and beta are
// its attributes.
struct F32Line {
  const float* x = nullptr;
  float* y = nullptr;
  std::int64_t n = 0;
  double alpha = 0.0, beta = 0.0;
};
using F32Function = void (*)(const F32Line&);

struct EltwiseFunctions {
  void (*pairs)(const PairRows&);
  void (*sums)(const RowEpilogue&, const std::int32_t* sums, std::int64_t rows, std::int64_t n, void* y);
  void (*add)(const F32Rows&);
  void (*sub)(const F32Rows&);
  void (*mul)(const F32Rows&);
  void (*div)(const F32Rows&);
  void (*min)(const F32Rows&);
  void (*max)(const F32Rows&);
  void (*prelu)(const F32Rows&);
  F32Function relu, clip, leaky_relu, hard_sigmoid, hard_swish, abs, neg, sqrt, reciprocal;
};

extern const EltwiseFunctions kEltwiseScalar;
extern const EltwiseFunctions kEltwiseAvx2;
extern const EltwiseFunctions kEltwiseAvx512;

}  // namespace octavo

#endif  // OCTAVO_KERNELS_ELTWISE_ROWS_H_
