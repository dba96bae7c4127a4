// The contract of eltwise/: what the functions compiled for each instruction set compute. Part of kernels/.
#ifndef OCTAVO_KERNELS_ELTWISE_ROWS_H_
#define OCTAVO_KERNELS_ELTWISE_ROWS_H_

#include <cstdint>

namespace octavo {

// rows x n results, dense; the elements of an operand are `step` (0 or 1, not both 0) apart, its rows `row_stride`. y
// may be an operand with equal strides. With a' = a - a_zero_point and b' = b - b_zero_point, add: y = clamp(fma(a',
// a_ratio, fma(b', b_ratio, fixed))), mul: y = clamp(f32(a' * b') * ratio + fixed), both rounded to even, plus shift;
// integer_add: y = clamp(((a * a_multiplier + b * b_multiplier + bias) >> right_shift) + zero_point) with the integer
// bounds. Then y = table[y] where there is a table.
struct QuantizedRows {
  const std::uint8_t* a = nullptr;
  const std::uint8_t* b = nullptr;
  std::uint8_t* y = nullptr;
  std::int64_t rows = 0, n = 0;
  std::int64_t a_row_stride = 0, b_row_stride = 0;
  int a_step = 1, b_step = 1;
  bool a_is_signed = false, b_is_signed = false;
  float a_zero_point = 0.0f, b_zero_point = 0.0f;
  float a_ratio = 0.0f, b_ratio = 0.0f, ratio = 0.0f, fixed = 0.0f;
  float lowest = 0.0f, highest = 0.0f;
  std::int32_t shift = 0;
  std::int32_t a_multiplier = 0, b_multiplier = 0, bias = 0, right_shift = 1, zero_point = 0, integer_lowest = 0,
               integer_highest = 255;
  const std::uint8_t* table = nullptr;
};

// The same for f32, one operation per element.
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
  void (*quantized_add)(const QuantizedRows&);
  void (*quantized_mul)(const QuantizedRows&);
  void (*integer_add)(const QuantizedRows&);
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
